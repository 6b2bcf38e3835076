"""Attacks on totals and means: contributions of single units, and totals that were withheld."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = ()
"""The attacks of this room, as module:class."""
