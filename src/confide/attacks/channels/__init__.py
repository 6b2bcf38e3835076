"""Attacks on what surrounds an answer: time, errors, metadata, accounts, versions of the data."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = (
    "before_after:BeforeAfter",
    "before_after:Leavers",
    "timing:Timing",
    "error_classes:ErrorClasses",
    "metadata:Metadata",
    "many_accounts:ManyAccounts",
)
"""The attacks of this room, as module:class."""
