"""Synthesis: values drawn from models of the file instead of the values themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats, Ints
from confide.data.release_key import ReleaseKey
from confide.errors import Mistake
from confide.microdata.method import Method
from confide.microdata.records import Columns, Masked, NewRecords, Records, kind_of
from confide.microdata.synthesis.models import MODELS, DrawingTask, SynthesisPredictors, SynthesisVariable
from confide.microdata.synthesis.pool import RecordPool
from confide.model.parameter import parameter

__all__ = ["Synthesis"]

MOST = 2000
"""Categories of a column, at most: beyond that it is a name and not a category."""

TAIL = 1.5
"""How far a tail may go on beyond its `least`-th value, in units of that value's distance from the median. Normal and lognormal
numbers of a few thousand records rarely reach it."""


@dataclass(frozen=True)
class Synthesis(Method):
    """Sequential synthesis, by CART (Reiter 2005) or regressions: values drawn from models, column after column.

    Promise: no value of the named columns stays; each is drawn from the distribution that it has, in a model, given the
    columns before it (as drawn) and those `given` (as they are). If all columns are named, the file is fully synthetic,
    else partially. Trees: the value of one of `least` or more records that are alike in those columns, and a number
    that fewer than `least` records have is blurred, the more the farther it is from others. Far out in a tail, beyond
    1.5 times the distance of the `least`-th largest (smallest) from the median, no number is drawn.
    Whether a value is missing is drawn as well. With `proper` each model is fitted to records drawn with replacement, so that
    `combine` gives valid variances.

    With weights, records are drawn for the models in proportion to them, so that what is synthetic is as the population is.
    With `size` the file has so many new records, and what is `given` is that of records drawn at random. With `sampled` the
    file is a population of which only some records were surveyed: models learn from those, and the new records are a
    random sample of the others, as Rubin proposed, so that nobody who answered is in the file.
    References: Domingo-Ferrer (2007), synthetic microdata; Rubin (1993); Reiter (2002), populations; Reiter (2005),
    trees; Raghunathan et al. (2003).

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": list("fm") * 50, "pay": [1000, 2000] * 50})
    >>> drawn = Synthesis(versions=3).protect(people, columns=["sex", "pay"], teaching_seed=1)
    >>> len(drawn.replicates), set(zip(*drawn.frame.to_pydict().values())) == {("f", 1000), ("m", 2000)}
    (3, True)
    """

    best_attack: ClassVar = "membership"
    takes: ClassVar = frozenset({"numbers", "categories"})
    keeps: ClassVar = frozenset({"rows", "types"})
    draws: ClassVar = True
    mixes: ClassVar = True
    weighs: ClassVar = True

    model: str = parameter(
        "trees", "trees: classification and regression trees. regressions: linear and logistic.", among=tuple(MODELS)
    )
    given: tuple[str, ...] = parameter((), "Columns that stay and that the others are drawn by.")
    versions: int = parameter(1, "How many versions of the file to draw.", low=1, high=1000)
    least: int = parameter(5, "Least records in a leaf of a tree.", low=2)
    proper: bool = parameter(True, "Models are uncertain too: each is fitted to records drawn with replacement.")
    size: int | None = parameter(
        None, "How many new records to draw, in each stratum; as many as there are, if not said.", low=1
    )
    sampled: str | None = parameter(
        None, "A column that is true where a record was surveyed; the others are the rest of the population."
    )

    @property
    def reads(self) -> tuple[str, ...]:
        return (*self.given, *(() if self.sampled is None else (self.sampled,)))

    @property
    def makes_new_records(self) -> bool:
        return self.size is not None or self.sampled is not None

    @property
    def learns_from(self) -> str | None:
        return self.sampled

    def _check(self) -> None:
        if self.sampled is not None and not self.given:
            raise Mistake("Synthesis: with sampled, say by given what is known of the whole population.")

    def drawing(self, key: ReleaseKey) -> ReleaseKey:
        """More versions leave the first ones as they were."""
        return Method.drawing(replace(self, versions=1), key)

    def _mask(self, records: Records) -> Masked:
        for name in self.reads:
            if name in records.columns:
                raise Mistake(f"Synthesis: {name!r} is to be drawn, so it cannot be given.")
        pool = RecordPool.of(records, self.sampled)
        if len(pool.surveyed) < self.least:
            raise Mistake(
                f"Synthesis: least is {self.least}, and there are {len(pool.surveyed)} records{records.where}.",
                suggestions=["Take larger strata, or a smaller least."],
            )
        file = {name: self._variable(name, records, pool) for name in (*self.given, *records.columns)}
        if not self.makes_new_records:
            return self._replaced(records, file, pool)
        size = len(pool.surveyed) if self.size is None else self.size
        drawn = []
        for version in range(self.versions):
            rows = pool.new(size, records.rng("new records", str(version)), where=records.where)
            columns = self._version(records, file, pool, rows, version)
            drawn.append(NewRecords(rows, columns, pool.people / size))
            records.progress((version + 1) / self.versions)
        return Masked({}, {"drawn": size}, drawn=tuple(drawn))

    def _replaced(self, records: Records, file: Mapping[str, SynthesisVariable], pool: RecordPool) -> Masked:
        """The records that there are, with other values."""
        versions: list[Columns] = []
        for version in range(self.versions):
            versions.append(self._version(records, file, pool, pool.surveyed, version))
            records.progress((version + 1) / self.versions)
        return Masked(versions[0], replicates=tuple(versions[1:]))

    def _variable(self, name: str, records: Records, pool: RecordPool) -> SynthesisVariable:
        if kind_of(name, records.array(name).type) == "numbers":
            found = SynthesisVariable(records.numbers([name])[:, 0])
        else:
            coded = records.categories(name)
            if len(coded) > MOST:
                raise Mistake(
                    f"Synthesis: column {name!r} has {len(coded):,} categories, too many to model{records.where}.",
                    suggestions=["If it identifies, take it out; else make it coarser."],
                )
            found = SynthesisVariable(np.where(coded.codes < 0, np.nan, coded.codes), len(coded))
        known = int((~np.isnan(found.values[pool.surveyed])).sum())
        if 0 < known < self.least and name in records.columns:
            raise Mistake(
                f"Synthesis: column {name!r} has fewer than {self.least} known values{records.where}.",
                suggestions=["Leave it out, or take larger strata."],
            )
        return found

    def _version(
        self, records: Records, file: Mapping[str, SynthesisVariable], pool: RecordPool, rows: Ints, version: int
    ) -> Columns:
        """All columns, drawn one after the other for these records."""
        drawn = {name: file[name].at(rows) for name in self.given}
        for name in records.columns:
            rng = records.rng(name, str(version))
            old = [file[one].at(pool.surveyed) for one in drawn]
            by = SynthesisPredictors(old, list(drawn.values()), len(rows))
            values = self._drawn(file[name].at(pool.surveyed), by, pool, rng)
            drawn[name] = SynthesisVariable(values, file[name].categories)
        return {name: _column(name, records, drawn[name], rows) for name in records.columns}

    def _drawn(
        self, target: SynthesisVariable, by: SynthesisPredictors, pool: RecordPool, rng: np.random.Generator
    ) -> Floats:
        """One column: first whether a value is missing, or a number that many have; and then the others."""
        draw = MODELS[self.model]
        special, kind, rare = self._special(target)
        rows = pool.fitting(rng, proper=self.proper)
        drawn = np.zeros(by.size, np.int64)
        if len(special):
            kinds = SynthesisVariable(kind[rows].astype(np.float64), len(special) + 1)
            drawn = draw(DrawingTask(kinds, rare[rows], by.at(rows), self.least), rng).astype(np.int64)
        values = np.append(np.nan, special)[drawn]
        rows = rows[kind[rows] == 0] if (kind[rows] == 0).any() else np.flatnonzero(kind == 0)
        if len(rows):
            inner = _inner(target, kind == 0, self.least)
            others = draw(DrawingTask(inner.at(rows), rare[rows], by.at(rows), self.least), rng)
            values = np.where(drawn == 0, others, values)
        return np.where(np.isinf(values), np.nan, values)

    def _special(self, target: SynthesisVariable) -> tuple[Floats, Ints, Bools]:
        """The numbers that one in twenty have or more, and infinity if some are missing; which of them, from 1, each
        record has, or 0; and whether fewer than `least` have its value."""
        filled = np.nan_to_num(target.values, nan=np.inf)
        values, place, count = np.unique(filled, return_inverse=True, return_counts=True)
        often = np.isinf(values)
        if not target.categories:
            often |= count >= max(self.least, len(filled) / 20)
        number = np.where(often, np.cumsum(often), 0)
        return values[often], number[place], count[place] < self.least


def _inner(target: SynthesisVariable, ordinary: Bools, least: int) -> SynthesisVariable:
    """Numbers as models see them: those far out in a tail are drawn in to where it would end, so that nobody is found by it.

    Blurring alone hides nobody who is far from all others: a value a hundred times the next was drawn as it was in 6
    files of 20. To cut at the `least`-th largest itself is too much: intervals no longer cover as often as they say.
    """
    if target.categories:
        return target
    known = np.sort(target.values[ordinary])
    place = min(least, (len(known) + 1) // 2)
    middle, low, high = float(np.median(known)), known[place - 1], known[-place]
    return SynthesisVariable(np.clip(target.values, low - TAIL * (middle - low), high + TAIL * (high - middle)))


def _column(name: str, records: Records, drawn: SynthesisVariable, rows: Ints) -> Floats | pa.Array:
    if not drawn.categories:
        column = records.array(name)
        return drawn.values if kind_of(name, column.type) == "numbers" else column.take(pa.array(rows))
    return records.categories(name).column(np.nan_to_num(drawn.values, nan=-1).astype(np.int64))
