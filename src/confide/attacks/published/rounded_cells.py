"""L6: rounded cells, bounded by how far rounding goes and by totals that were rounded apart."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.attacks.published.attack import TableAttack
from confide.attacks.published.published_table import CellClaims, PublishedTable, cell_bounds

__all__ = ["RoundedCells"]


@dataclass(frozen=True)
class RoundedCells(TableAttack):
    """Undoing rounding: the true table adds up, and no cell is farther from it than rounding goes.

    Knows the base, and whether to the nearest multiple. Where parts and total were rounded apart, what they miss of each
    other says which way each went. A count is claimed if one whole number only is left.
    """

    name: ClassVar = "rounded-cells"
    code: ClassVar = "L6"
    words: ClassVar = "Bounds rounded counts by linear programs: parts and totals must add up."

    def unfit(self, table: PublishedTable) -> str:
        if not table.base:
            return "The table was not rounded."
        return "" if table.whole else "Against rounded counts only."

    def attack(self, table: PublishedTable) -> CellClaims:
        # a multiple of the base away is another multiple's neighbour: a whole number goes at most base - 1, or half the base
        reach = np.floor(table.base / 2) if table.nearest else table.base - 1
        least, most = np.maximum(table.value - reach, table.least), np.minimum(table.value + reach, table.most)
        bounds = cell_bounds(table.relations, least, most, whole=True)
        nothing = np.full(len(table.value), np.nan)
        if bounds is None:
            return CellClaims(nothing, table.value, 0.0, ("No table that adds up was rounded in this way.",))
        low, high = bounds
        left = (
            float(np.mean((high - low)[most > least] / (most - least)[most > least])) if (most > least).any() else 0.0
        )
        note = f"Of the numbers that a cell could have been before rounding, {left:.0%} of the range is left."
        return CellClaims(np.where(low == high, low, np.nan), table.value, 0.0, (note,))
