"""Writing the coded records as Parquet into a folder of their own, whole or not at all; and taking them away.

A folder has parts of records in the order of their units, every unit in one of them, and `meta.json`, what they say of themselves.
Nothing in it is changed once it is written: another vintage is another folder. A small file in the vintage's folder names it.
"""

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from confide.data.private import only_mine
from confide.data.replacing import replacing
from confide.engines import Coded
from confide.errors import Fault, Mistake

__all__ = ["ParquetPointer", "read_pointer", "remove_spark", "write_spark"]

FORMAT = 1
"""The version of the layout; records with another are not read."""

PART = 1 << 18
"""Records of a part, which one task reads, in small files."""

MOST_PARTS = 256
"""Parts of large files: the sums of each come back, so that their number is bounded and not their size."""

INGEST_AGAIN = "Ingest the data again."


@dataclass(frozen=True)
class ParquetPointer:
    """Where the records of a vintage are: the folder, and the mark that its `meta.json` must have."""

    folder: str
    mark: str

    def described(self) -> dict[str, Any]:
        """What the records say of themselves; a Fault unless they are those that were ingested, every part as long as it was."""
        folder = Path(self.folder)
        try:
            found: dict[str, Any] = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
            if found["format"] != FORMAT:
                raise Fault(f"The records were written by another version of Confide. {INGEST_AGAIN}")
            lengths = {name: (folder / name).stat().st_size for name in found["parts"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Fault(
                f"The records cannot be read from the shared folder ({type(error).__name__}).",
                suggestions=["Check that the folder is mounted; if they are gone, ingest the data again."],
            ) from None
        if found["mark"] != self.mark or found["parts"] != lengths:
            raise Fault(
                "The records in the shared folder are not those that were ingested.", suggestions=[INGEST_AGAIN]
            )
        return found


def write_spark(coded: Coded, path: Path, storage: str) -> None:
    """Write the coded records into a new folder of the storage, and at `path` which one it is.

    Promise: the folder appears whole, by being renamed. The file is there first, so that whoever is killed in between
    leaves a name by which the folder can be taken away.
    """
    pointer = ParquetPointer(str(_checked(storage) / f"confide_{secrets.token_hex(8)}"), secrets.token_hex(16))
    with _writing_failures(), only_mine():
        with replacing(path) as partial:
            partial.write_text(json.dumps({"format": FORMAT, **vars(pointer)}) + "\n", encoding="utf-8")
        try:
            _write(coded, pointer)
        except BaseException:
            _remove(pointer)
            path.unlink(missing_ok=True)
            raise


def read_pointer(path: Path) -> ParquetPointer:
    """What the file of a vintage names."""
    try:
        named = json.loads(path.read_text(encoding="utf-8"))
        if named.pop("format") != FORMAT:
            raise Fault(f"The store {path.name} was written by another version of Confide. {INGEST_AGAIN}")
        return ParquetPointer(**named)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Fault(f"The store {path.name} cannot be read ({type(error).__name__}). {INGEST_AGAIN}") from None


def remove_spark(path: Path) -> None:
    """Take the records that a file names away from the storage, and the file."""
    pointer = read_pointer(path)
    if not Path(pointer.folder).parent.is_dir():
        raise Fault("The shared folder is not there.", suggestions=["Check that it is mounted."])
    _remove(pointer)
    path.unlink()


def _checked(storage: str) -> Path:
    hint = 'Name a folder that this machine and every executor see under one path: storage = "/mnt/shared/confide"'
    if not Path(storage).is_absolute():
        raise Mistake("'storage' in dataset.toml must be an absolute path for the engine 'spark'.", suggestions=[hint])
    if not Path(storage).is_dir():
        raise Mistake("'storage' in dataset.toml is no folder that is there.", suggestions=[hint])
    return Path(storage)


def _write(coded: Coded, pointer: ParquetPointer) -> None:
    folder = Path(pointer.folder)
    partial = _partial(pointer)
    partial.mkdir()
    lengths = {name: _write_part(part, partial / name) for name, part in _parts(coded)}
    described = {"facts": coded.facts.as_dict(), "sizes": coded.sizes}
    meta = json.dumps({"format": FORMAT, "mark": pointer.mark, "parts": lengths, **described})
    with (partial / "meta.json").open("w", encoding="utf-8") as file:
        file.write(meta)
        file.flush()
        os.fsync(file.fileno())
    _open_as(folder.parent, partial)
    partial.rename(folder)


def _write_part(part: pa.Table, file: Path) -> int:
    """Write a part and say how long it is. Keys are nearly all different: a dictionary of them would be larger."""
    coded = [name for name in part.column_names if name not in ("unit", "key")]
    with file.open("wb") as written:
        pq.write_table(part, written, use_dictionary=coded, write_page_checksum=True, store_schema=False)
        written.flush()
        os.fsync(written.fileno())
    return file.stat().st_size


def _parts(coded: Coded) -> Iterator[tuple[str, pa.Table]]:
    """The records in the order of their units, at least one part, each of whole units."""
    order = pc.sort_indices(coded.records, sort_keys=[("unit", "ascending"), ("key", "ascending")])
    records = coded.records.select(sorted(coded.records.column_names)).take(order)
    unit = records["unit"].to_numpy()
    wanted = range(max(PART, len(unit) // MOST_PARTS), len(unit), max(PART, len(unit) // MOST_PARTS))
    ends = np.unique([0, *np.searchsorted(unit, unit[list(wanted)]), len(unit)]) if len(unit) else [0, 0]
    schema = pa.schema([(name, _kind(coded, name)) for name in records.column_names])
    for number, (start, end) in enumerate(pairwise(ends)):
        yield f"part-{number:05}.parquet", records.slice(start, end - start).cast(schema)


def _kind(coded: Coded, name: str) -> pa.DataType:
    """Signed, as Spark has no others. Sums of products are made of numbers, so that these are wide."""
    if name == "key":
        return pa.int32()
    if name in coded.facts.classes.values():
        return {1: pa.int16(), 2: pa.int32()}.get(coded.records[name].type.byte_width, pa.int64())
    return pa.int64()


def _open_as(storage: Path, folder: Path) -> None:
    """Let the group read what it may read of the storage: executors are often somebody else. Never others."""
    group = storage.stat().st_mode & 0o050
    for file in folder.iterdir():
        file.chmod(0o600 | group & 0o040)
    folder.chmod(0o700 | group)


def _partial(pointer: ParquetPointer) -> Path:
    return Path(f"{pointer.folder}.partial")


def _remove(pointer: ParquetPointer) -> None:
    for folder in (Path(pointer.folder), _partial(pointer)):
        shutil.rmtree(folder, ignore_errors=True)
    if Path(pointer.folder).exists():
        raise Fault("The records could not be removed from the shared folder.")


@contextmanager
def _writing_failures() -> Iterator[None]:
    try:
        yield
    except (OSError, KeyError, pa.ArrowException) as error:
        raise Fault(
            f"The records could not be written to the shared folder ({type(error).__name__}); the former ones are untouched.",
            suggestions=["Check that it has room and that you may write there, then ingest again."],
        ) from None
