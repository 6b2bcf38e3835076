"""What a family of questions isolates, however it does so."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["NOTHING", "Isolated", "together"]


@dataclass(frozen=True)
class Isolated:
    """`score` is how many small sets are expected to be told, of `sets` looked at; `entries` are the questions behind it.

    `spread` is the standard deviation reached, in units, where there is one; `too_large` says that not all was looked at.
    """

    score: float = 0.0
    sets: int = 0
    entries: tuple[int, ...] = ()
    spread: float | None = None
    too_large: bool = False


NOTHING = Isolated()


def together(parts: Sequence[Isolated]) -> Isolated:
    """What several families isolate, taken as different sets."""
    return Isolated(
        sum(part.score for part in parts),
        sum(part.sets for part in parts),
        tuple(sorted({number for part in parts for number in part.entries})),
        min((part.spread for part in parts if part.spread is not None), default=None),
        any(part.too_large for part in parts),
    )
