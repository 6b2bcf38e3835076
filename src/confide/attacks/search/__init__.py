"""Attacks found by machine: random questions and a learned rule."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = ("evolving:Search",)
"""The attacks of this room, as module:class."""
