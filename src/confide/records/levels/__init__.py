"""Records of several levels: people, and the households that they live in."""
