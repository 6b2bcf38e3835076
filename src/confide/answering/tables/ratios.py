"""The ratio of two totals in each cell: both protected as they are where a table gives them.

Promise: it is what anybody gets who asks for the two totals and divides, before they are rounded; it is withheld where one of them is.
"""

import numpy as np

from confide.answering.shield import Shield
from confide.answering.tables.amounts import Amounts, totals_and_means
from confide.answering.tables.counts import Counts
from confide.model.catalog.dataset import Variable
from confide.model.release import Column

__all__ = ["ratio", "ratio_column"]

MOST_DECIMALS = 6


def ratio(of: tuple[Variable, Counts], over: tuple[Variable, Counts], shield: Shield) -> Amounts:
    """The ratios with their noise and error: both totals' together, as if they were independent."""
    (top, _), (bottom, _) = (totals_and_means(variable, counts, shield) for variable, counts in (of, over))
    marks = np.where((top.marks == "c") | (bottom.marks == "c"), "c", np.where(bottom.values == 0, "z", ""))
    free = marks == ""
    divisor = np.where(free, bottom.values, 1.0)
    values = np.where(free, top.values / divisor, 0.0)
    noise, error = (
        np.hypot(a, values * b) / np.abs(divisor) for a, b in ((top.noise, bottom.noise), (top.error, bottom.error))
    )
    return Amounts(values, np.where(free, noise, 0.0), np.where(free, error, 0.0), marks)


def ratio_column(found: Amounts, of: Variable, over: Variable, shield: Shield) -> Column:
    least = float(np.min(found.error[found.error > 0], initial=1.0))
    decimals = int(np.clip(1 - np.floor(np.log10(least)), 0, MOST_DECIMALS))
    return found.column("ratio", f"Ratio of {of.label} to {over.label}", decimals, shield.policy)
