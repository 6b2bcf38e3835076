"""L11: dictionaries that still list categories which no record has any more."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.types as pt

from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import NameClaims
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["LeftoverCategories"]


@dataclass(frozen=True)
class LeftoverCategories(FileAttack):
    """Suppressed categories in dictionaries: pandas categoricals, Arrow and Parquet dictionaries list what was there once.

    Knows nothing but the file. A category that is listed and that no record has was suppressed or recoded.
    """

    name: ClassVar = "leftover-categories"
    code: ClassVar = "L11"
    words: ClassVar = "Reads the categories that are listed in the file and that no record has."

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        return "" if any(pt.is_dictionary(field.type) for field in released.schema) else "The file lists no categories."

    def attack(self, released: pa.Table, known: Knowledge) -> NameClaims:
        names = [field.name for field in released.schema if pt.is_dictionary(field.type)]
        return NameClaims(tuple((name, label) for name in names for label in _unused(released[name])))


def _unused(column: pa.ChunkedArray) -> list[str]:
    listed = {str(label) for chunk in column.chunks for label in chunk.dictionary.to_pylist() if label is not None}
    used = {str(label) for label in column.unique().cast(column.type.value_type).to_pylist()}
    return sorted(listed - used)
