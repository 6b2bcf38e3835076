"""Reconstruction of records and membership."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = ()
"""The attacks of this room, as module:class."""
