"""L5: suppressed cells, bounded by the cells and totals that are shown."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.attacks.published.attack import TableAttack
from confide.attacks.published.published_table import CellClaims, PublishedTable, cell_bounds

__all__ = ["SuppressedCells"]


@dataclass(frozen=True)
class SuppressedCells(TableAttack):
    """The attacker's problems (Fischetti and Salazar 2001): the least and largest value that fit all that is shown.

    Knows the relations, that values are not negative, and every shown cell. Where the interval is narrow enough for its
    middle to be within 10 percent of any value in it, the middle is claimed.
    """

    name: ClassVar = "suppressed-cells"
    code: ClassVar = "L5"
    words: ClassVar = "Bounds suppressed cells by linear programs over all that is shown."

    within: float = 0.1

    def unfit(self, table: PublishedTable) -> str:
        return "" if table.suppressed.any() else "No cell is suppressed."

    def attack(self, table: PublishedTable) -> CellClaims:
        hidden, nothing = table.suppressed, np.full(len(table.value), np.nan)
        least = np.where(hidden, table.least, table.value)
        bounds = cell_bounds(table.relations, least, np.where(hidden, table.most, table.value), whole=table.whole)
        if bounds is None:
            return CellClaims(nothing, nothing, self.within, ("No table adds up to what is shown.",))
        low, high = bounds
        with np.errstate(invalid="ignore"):
            narrow = hidden & (high - low <= 2 * self.within * np.minimum(np.abs(low), np.abs(high)))
            middle = (low + high) / 2
        exact = int(np.sum(hidden & (low == high)))
        return CellClaims(np.where(narrow, middle, np.nan), nothing, self.within, (f"Cells known exactly: {exact}.",))
