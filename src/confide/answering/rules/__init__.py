"""Rules look at the request, at public metadata and at protected numbers, and at nothing else."""
