"""The gate that masked files leave by: what they betray beside their values is taken out, and what was done is told."""
