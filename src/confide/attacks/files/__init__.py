"""Attacks on a file of records that was released."""
