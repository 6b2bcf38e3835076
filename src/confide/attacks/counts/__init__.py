"""Attacks on counts: trackers, differences, averages, changed cells."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = ("secret_in_universe:SecretInUniverse",)
"""The attacks of this room, as module:class."""
