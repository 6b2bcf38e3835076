"""L11: columns that were left out and are still named in the metadata of the file."""

import json
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import NameClaims
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["FileMetadata"]


@dataclass(frozen=True)
class FileMetadata(FileAttack):
    """Names in the metadata: pandas writes into Arrow and Parquet files which columns a frame had.

    Knows nothing but the file. What else the metadata has, a note says by its name.
    """

    name: ClassVar = "metadata"
    code: ClassVar = "L11"
    words: ClassVar = "Reads in the metadata of the file the names of columns that are no longer in it."

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        return "" if released.schema.metadata else "The file has no metadata."

    def attack(self, released: pa.Table, known: Knowledge) -> NameClaims:
        metadata = released.schema.metadata or {}
        named = _pandas_columns(metadata.get(b"pandas", b"{}"))
        gone = tuple(("", name) for name in named if name not in released.column_names)
        others = sorted(key.decode(errors="replace") for key in metadata if key != b"pandas")
        return NameClaims(gone, (f"The file has metadata: {', '.join(others)}.",) if others else ())


def _pandas_columns(raw: bytes) -> list[str]:
    """The columns that pandas' own description names; one that cannot be read names none."""
    try:
        columns = json.loads(raw).get("columns", [])
        return [str(column["name"]) for column in columns if column.get("name") is not None]
    except (AttributeError, KeyError, TypeError, ValueError):
        return []
