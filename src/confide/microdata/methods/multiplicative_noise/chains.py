"""Columns that never grow along a chain, a >= b >= c, taken apart into parts that are never negative."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide.arrays import Floats
from confide.errors import Mistake

__all__ = ["Chains"]


@dataclass(frozen=True)
class Chains:
    """Chains of columns, each from the largest to the smallest; `names` are those of all columns of the file.

    A column's part is what it has more than the next smaller one that is known; the smallest known is its own part, and
    so is a column in no chain. Parts that are not negative, put together again, give columns that keep the chains
    (Oganian 2011, formula 27, with the smallest column as the term outside the sum).
    """

    names: tuple[str, ...]
    chains: tuple[tuple[str, ...], ...]

    def parts(self, values: Floats) -> Floats:
        """The parts of columns; of a missing value the part is missing."""
        parts = values.copy()
        for chain in self._places():
            below = np.full(len(values), np.nan)
            for j in reversed(chain):
                steps = ~np.isnan(below)
                parts[steps, j] = values[steps, j] - below[steps]
                below = np.where(np.isnan(values[:, j]), below, values[:, j])
        return parts

    def together(self, parts: Floats) -> Floats:
        """The columns that parts belong to."""
        values = parts.copy()
        for chain in self._places():
            below = np.full(len(values), np.nan)
            for j in reversed(chain):
                steps = ~np.isnan(below)
                values[steps, j] = below[steps] + parts[steps, j]
                below = np.where(np.isnan(values[:, j]), below, values[:, j])
        return values

    def must_hold(self, values: Floats, *, where: str) -> None:
        """A Mistake where a chain does not hold in the file, or could not be kept together with signs; it says where."""
        parts = self.parts(values)
        for chain, places in zip(self.chains, self._places(), strict=True):
            steps = parts[:, places] != values[:, places]
            rows = np.flatnonzero(((parts[:, places] < 0) & steps).any(axis=1))
            if len(rows):
                more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
                shown = ", ".join(str(row + 1) for row in rows[:5])
                raise Mistake(
                    f"{' >= '.join(chain)} does not hold in record {shown}{more}{where and where + ', counted there'}.",
                    suggestions=["Correct the file, or leave out the chain."],
                )
            low = [bool(np.nanmin(values[:, j], initial=0.0) < 0) for j in places]
            if any(low) and not all(low):
                raise Mistake(
                    f"{chain[low.index(False)]!r} is never negative and {chain[low.index(True)]!r} of its chain is{where}: "
                    "noise cannot keep both.",
                    suggestions=["Leave one of them out of the chain."],
                )
            if any(low) and np.isnan(values[:, places]).any():
                raise Mistake(
                    f"The chain {' >= '.join(chain)} has negative values and missing ones{where}.",
                    suggestions=["Fill in the missing ones, or leave out the chain."],
                )

    def _places(self) -> Sequence[list[int]]:
        return [[self.names.index(name) for name in chain] for chain in self.chains]
