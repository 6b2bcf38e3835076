"""Top and bottom coding: the extremes of a number are cut off at a threshold."""

from dataclasses import dataclass
from math import ceil, floor
from typing import Any, ClassVar

import numpy as np
import pyarrow.types as pt

from confide.arrays import Floats
from confide.errors import Mistake
from confide.microdata.method import Method
from confide.microdata.records import Masked, Records
from confide.model.parameter import parameter

__all__ = ["TopBottomCoding"]


@dataclass(frozen=True)
class TopBottomCoding(Method):
    """Top and bottom coding (Domingo-Ferrer 2007): a threshold replaces extreme values, so that nobody stands out by them.

    Promise: no value lies above the top or below the bottom threshold; others do not change. A threshold is given, or
    is the value above (below) which at most the given share of a stratum's known values lie. Missing values stay missing.

    >>> import pyarrow as pa
    >>> TopBottomCoding(top=100).protect(pa.table({"age": [17, 103, 99]}), columns="age").frame["age"].to_pylist()
    [17, 100, 99]
    """

    best_attack: ClassVar = "own-list"

    top: float | None = parameter(None, "Values above this become this.")
    bottom: float | None = parameter(None, "Values below this become this.")
    top_share: float | None = parameter(
        None, "Or: at most this share of the values is cut at the top.", above=0, below=1
    )
    bottom_share: float | None = parameter(None, "Or: at most this share is cut at the bottom.", above=0, below=1)

    def _check(self) -> None:
        if {self.top, self.bottom, self.top_share, self.bottom_share} == {None}:
            raise Mistake("TopBottomCoding: say where to cut, by top, bottom, top_share or bottom_share.")
        if None not in (self.top, self.top_share) or None not in (self.bottom, self.bottom_share):
            raise Mistake("TopBottomCoding: give a threshold or a share, not both, for each end.")
        if self.top is not None and self.bottom is not None and self.bottom >= self.top:
            raise Mistake(f"TopBottomCoding: bottom must be less than top, not {self.bottom:g}.")
        if (self.top_share or 0) + (self.bottom_share or 0) >= 1:
            raise Mistake("TopBottomCoding: top_share and bottom_share must leave something between them.")

    def _mask(self, records: Records) -> Masked:
        columns: dict[str, Any] = {}
        report = {"top": 0, "bottom": 0}
        before = records.numbers()
        for j, name in enumerate(records.columns):
            self._must_fit(name, records)
            low, high = self._thresholds(before[:, j])
            columns[name] = np.clip(before[:, j], low, high)
            report["top"] += int(np.sum(before[:, j] > high))
            report["bottom"] += int(np.sum(before[:, j] < low))
        return Masked(columns, report)

    def _must_fit(self, name: str, records: Records) -> None:
        for end in (self.top, self.bottom):
            if end is not None and end != floor(end) and pt.is_integer(records.array(name).type):
                raise Mistake(f"Column {name!r} holds whole numbers, so a threshold must be whole too, not {end:g}.")

    def _thresholds(self, values: Floats) -> tuple[float, float]:
        ordered = np.sort(values[~np.isnan(values)])
        low, high = (-np.inf if self.bottom is None else self.bottom), (np.inf if self.top is None else self.top)
        if self.top_share is not None and len(ordered):
            high = float(ordered[ceil(len(ordered) * (1 - self.top_share) - 1e-9) - 1])
        if self.bottom_share is not None and len(ordered):
            low = float(ordered[floor(len(ordered) * self.bottom_share + 1e-9)])
        return low, high
