"""L11: what the bytes of a file betray beside its values."""
