"""Universes that leave something out: which cells change, and what follows for one person."""
