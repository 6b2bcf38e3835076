"""Original values that lie in an interval about what was released for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from confide.arrays import Floats
from confide.errors import Mistake
from confide.measures.pairs import Both, paired

__all__ = ["Intervals", "Width", "interval_disclosure"]

Width = Literal["ranks", "deviations"]

PERCENT = tuple(range(1, 11))


@dataclass(frozen=True)
class Intervals:
    """The percentage of values inside: one row a column, one column a width. NaN where no value is known."""

    columns: tuple[str, ...]
    widths: tuple[float, ...]
    inside: Floats

    @property
    def percent(self) -> float:
        """The mean over columns and widths, which is ID of the score."""
        known = self.inside[~np.isnan(self.inside)]
        return float(known.mean()) if len(known) else 0.0


def interval_disclosure(
    original: Any,
    released: Any,
    *,
    columns: str | Sequence[str],
    width: Width = "ranks",
    percent: Sequence[float] = PERCENT,
    identifier: str | None = None,
) -> Intervals:
    """Interval disclosure, ID (Domingo-Ferrer and Torra 2001): how many original values lie in an interval about released ones.

    With ranks, the interval about a released value reaches to the released values that are p percent of the records
    below and above it; with deviations, p percent of the released standard deviation to either side. 100 percent means
    that an intruder who believes the interval is always right. Pairs with a missing value do not count. Reference: the
    survey's ID; Domingo-Ferrer and Torra (2001).

    >>> import pyarrow as pa
    >>> original, released = pa.table({"pay": [1.0, 2.0, 3.0, 4.0]}), pa.table({"pay": [1.0, 3.0, 2.0, 9.0]})
    >>> interval_disclosure(original, released, columns="pay", percent=[1, 25]).inside.tolist()
    [[25.0, 100.0]]
    """
    pair = paired(original, released, columns, identifier=identifier)
    for column in pair.categorical:
        raise Mistake(f"Column {column.name!r} holds categories. Intervals are about numbers.")
    if width not in ("ranks", "deviations"):
        raise Mistake(f"The width of an interval is in 'ranks' or 'deviations', not {width!r}.")
    if not percent or not all(0 < p <= 100 for p in percent):
        raise Mistake("Widths are percentages above 0 and up to 100. Give at least one.")
    inside = _by_rank if width == "ranks" else _by_deviation
    found = [inside(column, column.original[pair.truth], [float(p) for p in percent]) for column in pair.columns]
    return Intervals(tuple(column.name for column in pair.columns), tuple(map(float, percent)), np.array(found))


def _by_rank(column: Both, original: Floats, percent: Sequence[float]) -> list[float]:
    there = ~np.isnan(original) & ~np.isnan(column.released)
    values, known = np.sort(column.released[~np.isnan(column.released)]), original[there]
    if not len(known):
        return [np.nan] * len(percent)
    low = np.searchsorted(values, column.released[there], "left")
    high = np.searchsorted(values, column.released[there], "right") - 1
    found = []
    for p in percent:
        reach = int(p / 100 * len(values))
        least, most = values[np.maximum(low - reach, 0)], values[np.minimum(high + reach, len(values) - 1)]
        found.append(100 * float(np.mean((known >= least) & (known <= most))))
    return found


def _by_deviation(column: Both, original: Floats, percent: Sequence[float]) -> list[float]:
    there = ~np.isnan(original) & ~np.isnan(column.released)
    if not there.any():
        return [np.nan] * len(percent)
    apart, spread = np.abs(original - column.released)[there], float(np.nanstd(column.released))
    return [100 * float(np.mean(apart <= p / 100 * spread)) for p in percent]
