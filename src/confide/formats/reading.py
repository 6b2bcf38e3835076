"""What readers of documents ask of each value; what is not so raises `TypeError` or `ValueError`, a `Mistake` to come."""

import math

__all__ = ["finite", "must", "text"]


def text(written: object) -> str:
    """The value, which is a text."""
    if not isinstance(written, str):
        raise TypeError
    return written


def finite(written: object) -> int | float:
    """The value, which is a finite number."""
    if isinstance(written, bool) or not isinstance(written, int | float):
        raise TypeError
    must(math.isfinite(written))
    return written


def must(condition: bool) -> None:
    """Go on only if it is so."""
    if not condition:
        raise ValueError
