"""Which policy serves best: fields of a policy are varied, each variant is attacked and asked honest questions."""
