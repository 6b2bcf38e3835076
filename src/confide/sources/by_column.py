"""A Parquet file of which one column is read at a time, so that a file larger than memory can be taken in."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["ParquetColumns"]


class ParquetColumns:
    """The columns of a Parquet file, each read when it is asked for, by any thread; to whoever asks it is a table."""

    def __init__(self, path: Path) -> None:
        self._bytes = pa.memory_map(str(path))
        self._metadata = pq.read_metadata(self._bytes)
        self.column_names: list[str] = self._metadata.schema.to_arrow_schema().names
        self.num_columns, self.num_rows = len(self.column_names), int(self._metadata.num_rows)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        # A reader each: two threads that read from one end the process now and then.
        return pq.ParquetFile(self._bytes, metadata=self._metadata).read(columns=[name])[name]
