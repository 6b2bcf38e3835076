"""Data swapping: records that are alike exchange some of their values."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from confide.errors import Mistake
from confide.microdata.method import Method
from confide.microdata.records import Masked, Records
from confide.microdata.search.exchange import of_households, pairs_in_classes
from confide.microdata.strata import numbered
from confide.model.parameter import parameter

__all__ = ["DataSwapping"]


@dataclass(frozen=True)
class DataSwapping(Method):
    """Data swapping (Dalenius and Reiss 1982): records that agree in other columns exchange values, in pairs.

    Promise: all masked values of a record move together, to a record with the same values in `match`. So every table of
    `match` with the masked columns stays exactly, and every table without masked columns; those of masked columns with
    others do not. Of n records that agree, share x n change places, on average, in pairs drawn at random. Missing values
    move like others. Reference: Domingo-Ferrer (2007).

    >>> import pyarrow as pa
    >>> frame = pa.table({"sex": ["f", "f", "m", "m"], "town": ["a", "b", "c", "d"], "income": [1, 2, 3, 4]})
    >>> DataSwapping(match=["sex"], share=1).protect(frame, columns="income", teaching_seed=1).frame["income"].to_pylist()
    [2, 1, 4, 3]
    """

    best_attack: ClassVar = "matched-sets"
    draws: ClassVar = True
    mixes: ClassVar = True
    takes: ClassVar = frozenset({"numbers", "categories"})
    keeps: ClassVar = frozenset({"rows", "types"})

    share: float = parameter(0.1, "Share of the records that change places.", above=0, high=1)
    match: tuple[str, ...] = parameter((), "Columns in which records that change places agree.")

    @property
    def reads(self) -> tuple[str, ...]:
        return self.match

    def _mask(self, records: Records) -> Masked:
        if both := [name for name in self.match if name in records.columns]:
            raise Mistake(f"DataSwapping: {both[0]!r} is masked, so records cannot match in it.")
        of_households(records, self.match)
        partner = pairs_in_classes(numbered(records.table, self.match), self.share, records.rng())
        source = pa.array(partner)
        moved = {name: records.array(name).take(source) for name in records.columns}
        return Masked(moved, {"swapped": int(np.sum(partner != np.arange(len(partner))))})
