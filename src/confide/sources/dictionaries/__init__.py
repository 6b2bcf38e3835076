"""Codebooks that come beside the data: what they say of variables and codes."""
