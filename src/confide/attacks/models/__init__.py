"""Attacks by way of regressions, correlations and plots."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = ("boxes:Boxes", "logistic_counts:LogisticCounts")
"""The attacks of this room, as module:class."""
