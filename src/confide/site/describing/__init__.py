"""Mending a description that is there: `dataset.toml` changed where a custodian wants it, and nowhere else."""
