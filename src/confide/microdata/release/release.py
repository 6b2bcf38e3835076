"""The gate: a masked file is made ready, written, read back and told of in a manifest; or refused."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from confide.data.frame import Frame
from confide.data.release_key import ReleaseKey
from confide.data.replacing import replacing
from confide.data.writing import FRAMES, check_target
from confide.errors import Mistake, nearest
from confide.microdata.release.cleaning import INDEX, cleaned, decimals_of
from confide.microdata.release.manifest import Manifest, hash_of, manifest_path
from confide.microdata.release.reading_back import is_text, read_back, values_of
from confide.microdata.released import Released

__all__ = ["ReleaseGate", "version_paths"]

DONE = (
    "identifiers and index dropped",
    "records in an order drawn at random",
    "dictionaries rebuilt from the values that are there",
    "decimals limited to those of the data",
    "metadata and what is beneath missing values removed",
    "written bytes read back and searched for what was taken out",
)
"""What the gate does to every file, as a manifest tells it."""

TAUGHT = "It was drawn from a teaching seed, which everybody can guess. Draw it from a key."
AS_IS = "It was written as it is, with its records in their order, for measuring. Release it."
SOME = 1000
"""If so many records have equal ones among them, no need to look at all."""


@dataclass(frozen=True)
class ReleaseGate:
    """The gate that a masked file leaves by, which takes out what it betrays beside its values.

    Promise: identifiers and the index are gone; the order of records is drawn from the key; dictionaries list what is
    there; numbers have the decimals of the `original`; there is no metadata. A file with values that masking had to leave
    as they are (strata of one, zones of two) is refused, and so is one drawn from a teaching seed by a key that is none.
    The file is written whole or not at all, and read back first. A manifest beside it says what was done.

    `identifiers` are columns to take out. A column in which every record has a value of its own is taken for one: name it
    there, or, if it may stay, in `keep`.
    """

    original: Any
    _: KW_ONLY
    key: ReleaseKey
    identifiers: Sequence[str] = ()
    keep: Sequence[str] = ()

    def write(self, masked: Any, path: str | Path, *, replace: bool = False) -> tuple[Manifest, ...]:
        """Write a masked file (CSV, Parquet or Arrow) and its manifest; of several versions each one.

        A file that is there already is a Mistake; with `replace` it is replaced, if it was drawn from the same key.
        """
        released = masked if isinstance(masked, Released) else Released((masked,), {})
        paths = version_paths(Path(path), len(released.replicates))
        for one in paths:
            self.check_place(one, replace=replace)
        tables = [self._checked(Frame.of(frame), released) for frame in released.replicates]
        ready = [self._ready(table, number, released) for number, table in enumerate(tables)]
        with ExitStack() as places:  # all versions or none
            return tuple(
                self._put(places, table, one, released, self._gone(table))
                for table, one in zip(ready, paths, strict=True)
            )

    def keep_as_is(self, masked: Released, path: str | Path) -> tuple[Manifest, ...]:
        """Write a masked file as it is, for measuring: its manifest says that it is not for release."""
        paths = version_paths(Path(path), len(masked.replicates))
        with ExitStack() as places:
            tables = [Frame.of(frame).table(Frame.of(frame).names) for frame in masked.replicates]
            return tuple(self._put(places, table, one, masked) for table, one in zip(tables, paths, strict=True))

    def _checked(self, frame: Frame, released: Released) -> pa.Table:
        """The columns that go out; a Mistake if the file may not."""
        for number, step in enumerate(released.steps, 1):
            where = f"Step {number} ({step.method})" if len(released.steps) > 1 else step.method
            if step.unmasked:
                raise Mistake(
                    f"{where} left values as they are: their records stand alone or in twos, in a stratum or a zone.",
                    suggestions=["Use coarser strata or zones, or suppress these records first."],
                )
            if step.taught and not self.key.teaching:
                raise Mistake(f"{where} is not for release.", suggestions=[TAUGHT])
        for name in (*self.identifiers, *self.keep):
            if name not in frame.names and name not in self._before.names:
                raise Mistake(f"No column called {name!r}.", suggestions=nearest(name, map(str, frame.names)))
        names = [name for name in frame.names if name not in self.identifiers and not str(name).startswith(INDEX)]
        table = frame.table(names)
        self._refuse_identifiers(table, {name for step in released.steps for name in step.columns})
        return table

    def _refuse_identifiers(self, table: pa.Table, masked: set[str]) -> None:
        """A Mistake for a column that is as it was and different in each record; the original says so of all records."""
        for name in table.column_names:
            column = self._before.column(name) if name in self._before.names else table[name]
            if name not in masked and name not in self.keep and _identifies(column):
                raise Mistake(
                    f"Column {name!r} has a value of its own for every record, as identifiers have.",
                    suggestions=[f"Take it out with identifiers={[name]!r}; if it may stay, say keep={[name]!r}."],
                )

    def check_place(self, path: Path, *, replace: bool) -> None:
        """A Mistake where a file cannot go: before the work of making it begins."""
        check_target(path, *FRAMES)
        if not path.exists():
            return
        if not replace:
            raise Mistake(f"{str(path)!r} is there already.", suggestions=["Name another file, or say replace=True."])
        if manifest_path(path).exists() and Manifest.read(path).key != self.key.name:
            raise Mistake(
                f"{str(path)!r} was drawn from another key. Who has both could average out what was drawn.",
                suggestions=["Give its key; or, if nobody has it, remove the file first."],
            )

    def _ready(self, table: pa.Table, number: int, released: Released) -> pa.Table:
        # Another plan, version or choice of columns has another order: two files in one order could be laid side by side.
        random = self.key.generator("order", number, table.column_names, *map(repr, released.steps))
        return cleaned(table, random.permutation(table.num_rows), self._decimals(table))

    def _put(
        self,
        places: ExitStack,
        table: pa.Table,
        path: Path,
        released: Released,
        gone: Mapping[str, pa.Array] | None = None,
    ) -> Manifest:
        """Write a table beside its place, into which it goes at the end, and its manifest; read it back if it goes out."""
        kind = path.suffix.lower()
        check_target(path, *FRAMES)
        try:
            partial = places.enter_context(replacing(path))
            FRAMES[kind](table, partial)
            if gone is not None:
                read_back(partial, kind, table, gone)
            manifest = self._manifest(table, path, hash_of(partial), released, through=gone is not None)
            # Places are left in the order opposite to that in which they were entered: the manifest is there first.
            places.enter_context(replacing(manifest_path(path))).write_text(manifest.text(), encoding="utf-8")
        except OSError as error:
            raise Mistake(f"{str(path)!r} cannot be written ({error.strerror}).") from None
        return manifest

    def _manifest(self, table: pa.Table, path: Path, digest: str, released: Released, *, through: bool) -> Manifest:
        taught = self.key.teaching or any(step.taught for step in released.steps)
        notes = (*([TAUGHT] if taught else []), *([] if through else [AS_IS]))
        return Manifest(
            file=path.name, sha256=digest, records=table.num_rows, columns=tuple(table.column_names),
            steps=released.steps, gate=DONE if through else (), key=self.key.name, for_release=not notes, notes=notes,
        )  # fmt: skip

    @cached_property
    def _before(self) -> Frame:
        return Frame.read(self.original) if isinstance(self.original, str | Path) else Frame.of(self.original)

    def _decimals(self, table: pa.Table) -> dict[str, int]:
        floats = [field.name for field in table.schema if pt.is_floating(field.type)]
        known = self._before.table([name for name in floats if name in self._before.names])
        found = {name: decimals_of(known[name]) for name in known.column_names}
        return {name: digits for name, digits in found.items() if digits is not None}

    def _gone(self, table: pa.Table) -> dict[str, pa.Array]:
        """Texts that stood in a column of the original and stand in it no more."""
        gone = {}
        for name in self._before.names:
            column = pa.chunked_array([self._before.column(name)])
            if is_text(column.type) or pt.is_dictionary(column.type):
                before = values_of(column)
                left = name in table.column_names
                gone[name] = before.filter(pc.invert(pc.is_in(before, values_of(table[name])))) if left else before
        return gone


def version_paths(path: Path, versions: int) -> list[Path]:
    """Where each version goes: public-1.csv, public-2.csv and so on, or one file by its own name."""
    if versions == 1:
        return [path]
    return [path.with_stem(f"{path.stem}-{number}") for number in range(1, versions + 1)]


def _identifies(column: pa.ChunkedArray | pa.Array) -> bool:
    """Whether a column of text or whole numbers is known in every record, and different in each."""
    if len(column) < 2 or column.null_count or not (is_text(column.type) or pt.is_integer(column.type)):
        return False
    return all(len(some.unique()) == len(some) for some in (column.slice(0, SOME), column))
