"""A Parquet file of which one column is read at a time, so that a file larger than memory can be taken in."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["ParquetColumns"]


class ParquetColumns:
    """The columns of a Parquet file, each read when it is asked for; to whoever asks it is a table."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetFile(path, memory_map=True)
        self.column_names: list[str] = self._file.schema_arrow.names
        self.num_columns, self.num_rows = len(self.column_names), int(self._file.metadata.num_rows)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        return self._file.read(columns=[name])[name]
