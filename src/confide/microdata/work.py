"""One call of `protect`: what was asked is checked, cut into strata, masked, and put together again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.data.frame import Frame
from confide.data.release_key import ReleaseKey
from confide.errors import Mistake
from confide.microdata.records import Columns, Masked, NewRecords, Records, kind_of, numbers, restored
from confide.microdata.released import Released, StepDone
from confide.microdata.strata import first_of_each, must_agree, numbered, split
from confide.microdata.unmasked import unmasked

if TYPE_CHECKING:
    from confide.microdata.method import Method

__all__ = ["Masking"]

Progress = Callable[[float], None]


class StratumPart(NamedTuple):
    """A stratum: the values it is known by, the places of its records (or households), and what became of them."""

    stratum: tuple[Any, ...]
    places: Ints
    masked: Masked
    unmasked: int


@dataclass(frozen=True)
class Masking:
    """What to mask, of which frame, how."""

    method: "Method"
    frame: Frame
    columns: tuple[str, ...]
    by: tuple[str, ...]
    weight: str | None
    household: str | None
    key: ReleaseKey | None

    def __post_init__(self) -> None:
        title, others = type(self.method).__name__, [*self.by, self.weight, self.household]
        if self.method.takes and not self.columns:
            raise Mistake("Name at least one column to mask.")
        if self.columns and not self.method.takes:
            raise Mistake(f"{title} is about whole records. Leave out columns.")
        if self.weight is not None and not self.method.weighs:
            raise Mistake(f"{title} does not use weights. Leave out weight={self.weight!r}.")
        for name in (*self.columns, *self.by):
            if self.columns.count(name) + others.count(name) > 1:
                raise Mistake(
                    f"Column {name!r} is named twice.", suggestions=["Mask it, or use it otherwise: not both."]
                )
        for name in self.columns:
            kind, found = kind_of(name, self.table.schema.field(name).type), self.table.schema.field(name).type
            if kind not in self.method.takes and not pa.types.is_null(found):
                wanted = " or ".join(sorted(self.method.takes))
                raise Mistake(f"Column {name!r} holds {kind} ({found}). {title} masks {wanted}.")

    @cached_property
    def table(self) -> pa.Table:
        """All columns that matter, as Arrow; a column of nothing if none do, because a table without has no length."""
        names = [*self.columns, *self.by, *self.method.reads, self.weight, self.household]
        wanted = [name for name in dict.fromkeys(names) if name is not None]
        return self.frame.table(wanted) if wanted else pa.table({"": pa.nulls(len(self.frame))})

    @cached_property
    def weights(self) -> Floats | None:
        if self.weight is None:
            return None
        weights = numbers(self.weight, self.table[self.weight].combine_chunks())
        if not np.all(weights > 0):
            row = int(np.flatnonzero(~(weights > 0))[0]) + 1
            raise Mistake(f"Weight {self.weight!r} must be positive and known; it is not in record {row}.")
        return weights

    @cached_property
    def households(self) -> tuple[Ints, Ints] | None:
        """The first record of each household, and the number of each record's household; None if there are none."""
        if self.household is None:
            return None
        if self.table[self.household].null_count:
            raise Mistake(f"{self.household!r} is missing in some records, so their household is not known.")
        first, member = first_of_each(numbered(self.table, [self.household]))
        must_agree(self.table, [*self.columns, *self.by], first, member)
        return first, member

    def done(self, progress: Progress) -> Released:
        """The masked frame and the report."""
        if not len(self.frame):
            return Released((self.frame.given,), self.method._combined([]), (self._step(0),))
        parts = self._parts(progress)
        progress(1.0)
        step = self._step(sum(part.unmasked for part in parts))
        if parts[0].masked.drawn:
            return Released(self._new_files(parts), self._report(parts), (step,))
        rows, weights = self._rows(parts), self._new_weights(parts)
        versions = zip(*[(part.masked.columns, *part.masked.replicates) for part in parts], strict=True)
        places = [part.places for part in parts]
        frames = tuple(self._frame({**self._joined(places, version), **weights}, rows) for version in versions)
        return Released(frames, self._report(parts), (step,))

    def _parts(self, progress: Progress) -> list[StratumPart]:
        """Every stratum, masked."""
        table, weights = self.table, self.weights
        if self.households is not None:
            first = self.households[0]
            table, weights = table.take(pa.array(first)), None if weights is None else weights[first]
        parts: list[StratumPart] = []
        done = 0
        for stratum, places in split(table, self.by):
            share = _share(progress, done, len(places), table.num_rows)
            records = Records(
                table.take(pa.array(places)) if self.by else table, self.columns, stratum, self.key,
                None if weights is None else weights[places], share, self._members(places),
            )  # fmt: skip
            masked = self.method._mask(records)
            left = unmasked(records, masked) if self.method.mixes else 0
            parts.append(StratumPart(stratum, places, masked, left))
            done += len(places)
        return parts

    def _members(self, places: Ints) -> tuple[pa.Table, Ints] | None:
        """All records of some households, and the place of each one's household among them."""
        if self.households is None or not self.method.reads:
            return None
        first, member = self.households
        place = np.full(len(first), -1)
        place[places] = np.arange(len(places))
        rows = np.flatnonzero(place[member] >= 0)
        return self.table.take(pa.array(rows)), place[member][rows]

    def _expanded(self, values: Any) -> Any:
        """One value for each record from one for each household."""
        if self.households is None:
            return values
        member = self.households[1]
        return values.take(pa.array(member)) if isinstance(values, pa.Array) else values[member]

    def _rows(self, parts: Sequence[StratumPart]) -> Ints | None:
        """The records that stay, if not all."""
        if all(part.masked.rows is None for part in parts):
            return None
        kept = [part.places if part.masked.rows is None else part.places[part.masked.rows] for part in parts]
        places = np.sort(np.concatenate(kept))
        return places if self.households is None else np.flatnonzero(np.isin(self.households[1], places))

    def _new_weights(self, parts: Sequence[StratumPart]) -> dict[str, pa.Array]:
        if self.weight is None or self.weights is None or all(part.masked.factor is None for part in parts):
            return {}
        factor = np.ones(sum(len(part.places) for part in parts))
        for part in parts:
            if part.masked.factor is not None:
                factor[part.places] = part.masked.factor
        weights = self.weights * self._expanded(factor)
        return {self.weight: restored(self.weight, weights, self._before(self.weight))}

    def _before(self, name: str) -> pa.Array:
        return self.table[name].combine_chunks()

    def _joined(self, places: Sequence[Ints], version: Sequence[Columns]) -> dict[str, pa.Array]:
        """The new columns of the whole file from those of its strata."""
        return {name: self._column(name, places, [columns[name] for columns in version]) for name in version[0]}

    def _column(self, name: str, places: Sequence[Ints], parts: Sequence[Floats | pa.Array]) -> pa.Array:
        before, order = self._before(name), np.concatenate(places)
        if isinstance(parts[0], np.ndarray):
            values = np.empty(len(order))
            values[order] = np.concatenate(parts)
            return restored(name, self._expanded(values), before)
        joined = pa.chunked_array(parts).unify_dictionaries().combine_chunks()
        joined = self._expanded(joined.take(pa.array(np.argsort(order, kind="stable"))))
        return joined.cast(before.type) if "types" in self.method.keeps and joined.type != before.type else joined

    def _frame(self, columns: Mapping[str, pa.Array], rows: Ints | None) -> Any:
        if rows is not None:
            columns = {name: array.take(pa.array(rows)) for name, array in columns.items()}
        return self.frame.replaced(columns, rows)

    def _step(self, left: int) -> StepDone:
        taught = self.method.draws and self.key is not None and self.key.teaching
        parameters = {f.name: getattr(self.method, f.name) for f in fields(self.method)}
        told = {name: value for name, value in parameters.items() if isinstance(value, bool | int | float | str)}
        return StepDone(self.method.word(), self.columns, told, left, taught)

    def _new_files(self, parts: Sequence[StratumPart]) -> tuple[Any, ...]:
        """Versions of the file made of new records, those of one stratum after those of the other."""
        if self.household is not None:
            raise Mistake("New records live in no household. Leave out household, or keep the records that there are.")
        known = {*self.columns, *self.by, *self.method.reads, self.weight}
        if left := [name for name in self.frame.names if name not in known]:
            raise Mistake(
                f"Column {left[0]!r} is neither drawn nor given, so new records have no value of it.",
                suggestions=["Name it too, or leave it out of the file."],
            )
        return tuple(self._new_file([(part.places, one) for part, one in zip(parts, version, strict=True)])
            for version in zip(*[part.masked.drawn for part in parts], strict=True))  # fmt: skip

    def _new_file(self, strata: Sequence[tuple[Ints, NewRecords]]) -> Any:
        rows = np.concatenate([places[new.rows] for places, new in strata])
        columns = {name: self._new_column(name, rows, [new for _, new in strata]) for name in self.columns}
        if self.weight is not None:
            weights = np.concatenate([np.full(len(new.rows), new.weight) for _, new in strata])
            columns[self.weight] = restored(self.weight, weights, self._before(self.weight).take(pa.array(rows)))
        return self.frame.replaced(columns, rows)

    def _new_column(self, name: str, rows: Ints, strata: Sequence[NewRecords]) -> pa.Array:
        parts = [new.columns[name] for new in strata]
        if isinstance(parts[0], np.ndarray):
            return restored(name, np.concatenate(parts), self._before(name).take(pa.array(rows)))
        joined = pa.chunked_array(parts).unify_dictionaries().combine_chunks()
        return joined.cast(self._before(name).type)

    def _report(self, parts: Sequence[StratumPart]) -> dict[str, Any]:
        report = self.method._combined([part.masked.report for part in parts])
        if left := sum(part.unmasked for part in parts):
            report["unmasked"] = left
        if self.by:
            report["strata"] = {part.stratum: dict(part.masked.report) for part in parts}
        return report


def _share(progress: Progress, done: int, size: int, total: int) -> Progress:
    return lambda share: progress((done + share * size) / total)
