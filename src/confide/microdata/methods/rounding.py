"""Rounding: numbers become multiples of a base."""

from dataclasses import dataclass
from math import floor
from typing import ClassVar

import numpy as np
import pyarrow.types as pt

from confide.errors import Mistake
from confide.microdata.method import Method
from confide.microdata.records import Masked, Records
from confide.model.parameter import parameter

__all__ = ["Rounding"]


@dataclass(frozen=True)
class Rounding(Method):
    """Rounding (Domingo-Ferrer 2007): numbers become multiples of a base, so that no exact amount remains.

    Promise: every value is the multiple of the base next to the true one (a tie goes to the even multiple), so none
    changes by more than half the base. Missing values stay missing.

    >>> import pyarrow as pa
    >>> Rounding(base=100).protect(pa.table({"income": [1049, 1051, None]}), columns="income").frame["income"].to_pylist()
    [1000, 1100, None]
    """

    best_attack: ClassVar = "own-list"

    base: float = parameter(10.0, "Values become multiples of this.", above=0)

    def _mask(self, records: Records) -> Masked:
        for name in records.columns:
            if pt.is_integer(records.array(name).type) and self.base != floor(self.base):
                raise Mistake(f"Column {name!r} holds whole numbers, so its base must be whole too, not {self.base:g}.")
        before = records.numbers()
        after = np.rint(before / self.base) * self.base
        return Masked(
            dict(zip(records.columns, after.T, strict=True)),
            {"changed": int(np.sum(after != before) - np.isnan(before).sum())},
        )
