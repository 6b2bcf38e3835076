"""L4: whoever is alone with their keys is found."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from confide.measures.pairs import unpaired
from confide.measures.risk.classes import class_of
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import Links
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["Uniqueness"]


@dataclass(frozen=True)
class Uniqueness(FileAttack):
    """Uniqueness (Samarati and Sweeney 1998): if one released record only has exactly the target's keys, it is theirs.

    Knows the keys, not the method. It claims nothing of others: few claims, of which most are right where keys were
    left as they are.
    """

    name: ClassVar = "uniqueness"
    code: ClassVar = "L4"
    words: ClassVar = "Looks for exactly the target's keys, and claims the record if there is only one."

    def attack(self, released: pa.Table, known: Knowledge) -> Links:
        columns = unpaired(released, known.targets, known.keys).columns
        values = [np.append(column.original, column.released).astype(np.float64) for column in columns]
        codes = np.column_stack(
            [np.unique(np.nan_to_num(value, nan=-np.inf), return_inverse=True)[1] for value in values]
        )
        number, there = class_of(codes.astype(np.int64)), released.num_rows
        count = np.bincount(number[:there], minlength=int(number.max()) + 1)
        row = np.full(len(count), -1, np.int64)
        row[number[:there]] = np.arange(there)
        return Links(np.where(count == 1, row, -1)[number[there:]])
