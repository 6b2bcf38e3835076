"""Pairs of a demand and an insider of whom it is not known yet whether they undo it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from confide.arrays import Bools, Floats, Ints

__all__ = ["OpenPairs"]


@dataclass(frozen=True, eq=False)
class OpenPairs:
    """Demands, by number, and insiders, and the share `need` of the demand that the insider must be kept from.

    The `gain` is the share of it that goes with a unit of what the insider knows, in its swing.
    """

    demand: Ints
    who: Ints
    need: Floats
    gain: Floats

    def __len__(self) -> int:
        return len(self.who)

    @property
    def most(self) -> int:
        """The demand with the most pairs."""
        return int(np.bincount(self.demand).argmax())

    def where(self, kept: Bools | Ints | slice) -> "OpenPairs":
        return OpenPairs(*(column[kept] for column in vars(self).values()))

    def by_demand(self) -> list["OpenPairs"]:
        """The pairs of each demand."""
        mine = self.where(np.argsort(self.demand, kind="stable"))
        ends = np.append(np.flatnonzero(np.diff(mine.demand)) + 1, len(mine))
        return [mine.where(slice(start, end)) for start, end in pairwise([0, *ends.tolist()]) if end > start]

    def parts(self, most: int) -> list["OpenPairs"]:
        """So many of them at most in each."""
        return [self.where(slice(start, start + most)) for start in range(0, len(self), most)]

    @classmethod
    def all_of(cls, parts: Sequence["OpenPairs"]) -> "OpenPairs":
        """The pairs of all parts, one after the other."""
        none = cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
        return cls(*(np.concatenate([getattr(part, name) for part in (none, *parts)]) for name in vars(none)))
