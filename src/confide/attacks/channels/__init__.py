"""Attacks on what surrounds an answer: time, errors, metadata, accounts, versions of the data."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = ()
"""The attacks of this room, as module:class."""
