"""Parquet files of which one column is read at a time, so that data larger than memory can be taken in."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from confide.errors import Mistake

__all__ = ["ParquetColumns"]


class ParquetColumns:
    """The columns of a Parquet file, or of several with the same columns, one below the other; each column is read when it is
    asked for, by any thread. To whoever asks it is a table.
    """

    def __init__(self, *paths: Path) -> None:
        files = [pa.memory_map(str(path)) for path in paths]
        self._parts = [(file, pq.read_metadata(file)) for file in files]
        schemas = [metadata.schema.to_arrow_schema() for _, metadata in self._parts]
        other = next((path for path, schema in zip(paths, schemas, strict=True) if not schema.equals(schemas[0])), None)
        if other:
            raise Mistake(f"{other.name} has other columns than {paths[0].name}. All files of a folder have the same.")
        self.column_names: list[str] = schemas[0].names
        self.num_columns = len(self.column_names)
        self.num_rows = sum(int(metadata.num_rows) for _, metadata in self._parts)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        # A reader each: two threads that read from one end the process now and then.
        read = [pq.ParquetFile(file, metadata=known).read(columns=[name])[name] for file, known in self._parts]
        return pa.chunked_array([chunk for each in read for chunk in each.chunks], read[0].type)
