"""L11: an index that says where records stood in the confidential file."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from confide.arrays import Ints
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import PlaceClaims
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["KeptIndex"]

INDEX = "__index_level_0__"
"""What pandas calls an index without a name, where it writes one as a column."""


@dataclass(frozen=True)
class KeptIndex(FileAttack):
    """A pandas index that was kept: rows that were picked or sorted still carry the numbers they had before.

    Knows nothing but the file. The index stands in a column of its own, or as a range in the metadata.
    """

    name: ClassVar = "kept-index"
    code: ClassVar = "L11"
    words: ClassVar = "Reads from a kept index in which row of the confidential file each record stood."

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        return "" if _index(released) is not None else "The file has no index of its own."

    def attack(self, released: pa.Table, known: Knowledge) -> PlaceClaims:
        index = _index(released)
        return PlaceClaims(np.full(released.num_rows, -1, np.int64) if index is None else index)


def _index(released: pa.Table) -> Ints | None:
    """The index, if it says more than the order of the rows."""
    if INDEX in released.column_names and pt.is_integer(released.schema.field(INDEX).type):
        return np.asarray(released[INDEX].fill_null(-1).to_numpy(), np.int64)
    try:
        described = json.loads((released.schema.metadata or {}).get(b"pandas", b"{}"))
        index = described["index_columns"][0]
        start, step = int(index["start"]), int(index["step"])
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return None if (start, step) == (0, 1) else start + step * np.arange(released.num_rows)
