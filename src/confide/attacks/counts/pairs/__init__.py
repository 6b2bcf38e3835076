"""Pairs of universes with and without the bin of the target, compared cell by cell."""
