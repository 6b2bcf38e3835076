"""What the whole protected file would tell somebody who had it, about those who are exposed."""
