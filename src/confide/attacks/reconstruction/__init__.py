"""Attacks that rebuild the records from many answers, or find out who is in them."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = (
    "lp_reconstruction:LinearPrograms",
    "drop_padding:DropPadding",
    "predictable_keys:PredictableKeys",
    "membership:MembershipGuess",
)
"""The attacks of this room, as module:class."""
