"""Attacks on a file by an intruder who knows how it was masked (transparency attacks), and what they are right about."""
