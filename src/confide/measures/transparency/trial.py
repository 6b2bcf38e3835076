"""A file to be attacked: what the intruder sees and knows, and the truth, which is for scoring alone."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from confide.arrays import Ints
from confide.errors import Mistake
from confide.measures.pairs import Pair, matched, side_by_side, unpaired
from confide.measures.records import FileColumn, FileRecords
from confide.measures.transparency.knowledge import Knowledge
from confide.measures.transparency.scoring import ConfidentialFile
from confide.microdata import Method
from confide.microdata.released import Released, frame_of

__all__ = ["MOST", "FileTrial", "MaskedHow"]

MOST = 1_000
"""So many targets are tried at the most, drawn by chance: a share of them is known to within 1.6 points."""

LEFT_OUT = 4
"""One in so many records is left out to see what the others tell."""


@dataclass(frozen=True)
class MaskedHow:
    """Which columns are keys, which confidential, and how the file was masked, as far as the intruder knows."""

    keys: tuple[str, ...]
    confidential: tuple[str, ...] = ()
    method: Method | None = None
    by: tuple[str, ...] = ()
    identifier: str | None = None
    paired: bool = True
    """Whether released records are those there were: of new records only who was a member can be asked."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns that the method looked at and left as they are."""
        return () if self.method is None else self.method.reads


@dataclass(frozen=True, eq=False)
class FileTrial:
    """What the intruder sees, what they know, and what is true."""

    seen: pa.Table
    known: Knowledge
    truth: ConfidentialFile

    @classmethod
    def of(cls, original: Any, released: Any, how: MaskedHow, *, seed: int) -> "FileTrial":
        """Targets are records drawn by chance, in no order."""
        names = (*how.keys, *how.confidential)
        before, seen = frame_of(original), _seen(released)
        places = matched(original, seen, names, identifier=how.identifier) if how.paired else np.arange(len(before))
        if len(places) < 2:
            raise Mistake("A file of one record need not be attacked: it is plain whose it is.")
        whole = before.table(before.names)
        pairs = whole.take(pa.array(places))
        others = [name for name in _shared(pairs, seen) if name not in (how.identifier, *how.reads)]
        masked = tuple(name for name in others if _changed(pairs, seen, name))
        written = _rewritten(pairs, (side_by_side if how.paired else unpaired)(pairs, seen, names))
        rows = np.random.default_rng(seed).permutation(len(places))[:MOST]
        targets = written.select(how.keys).take(pa.array(rows))
        known = Knowledge(targets, how.confidential, how.method, masked, how.by, places[rows], seed)
        return cls(seen, known, ConfidentialFile(whole, written, seen, rows, places, masked))

    def without_targets(self) -> "FileTrial":
        """A part of the targets, and the file as it would be if their records had never been in it."""
        part = np.arange(min(len(self.truth.rows), max(1, len(self.truth.places) // LEFT_OUT)))
        rows, known = self.truth.rows[part], self.known
        thinner = self._masked_again(np.setdiff1d(np.arange(len(self.truth.places)), rows))
        less = replace(known, targets=known.targets.take(pa.array(part)), places=known.places[part])
        return FileTrial(thinner, less, replace(self.truth, released=thinner, rows=rows))

    def of_members(self, holdout: Any) -> "FileTrial | None":
        """Candidates of whom half are in the file: from the holdout, or by masking half of the file; None if neither can be.

        They are as many on both sides, and whole records of them are known.
        """
        names = (*self.known.keys, *self.known.confidential)
        rng, size = np.random.default_rng(self.known.seed), len(self.truth.places)
        if holdout is not None:
            outside = frame_of(holdout).table(names)
            outside, seen = _rewritten(outside, unpaired(outside, self.seen, names)), self.seen
            inside = self._learnt(np.arange(size))
        elif self.known.method is not None and self.known.masked:
            order = rng.permutation(size)
            half = np.array_split(order, 2)
            inside, outside = (self._learnt(part) for part in half)
            seen = self._masked_again(np.sort(half[0]))
        else:
            return None
        many = min(inside.num_rows, outside.num_rows, MOST)
        drawn = [side.select(names).take(pa.array(rng.permutation(side.num_rows)[:many])) for side in (inside, outside)]
        order, member = rng.permutation(2 * many), np.arange(2 * many) < many
        candidates = pa.concat_tables(drawn, promote_options="permissive").take(pa.array(order))
        known = replace(self.known, targets=candidates, confidential=())
        return FileTrial(seen, known, replace(self.truth, released=seen, member=member[order]))

    def _learnt(self, rows: Ints) -> pa.Table:
        """Those of some records that values can be learnt from: of a population, those who were surveyed."""
        said = None if self.known.method is None else self.known.method.learns_from
        if said is not None:
            chosen = self.truth.whole[said].take(pa.array(self.truth.places[rows])).cast(pa.bool_())
            rows = rows[np.asarray(chosen.fill_null(False), bool)]
        return self.truth.pairs.take(pa.array(rows))

    def _masked_again(self, rows: Ints) -> pa.Table:
        """The file of these records: masked anew if it is known how, because methods mix records; else what was released."""
        method, taken = self.known.method, pa.array(rows)
        if method is None or not self.known.masked or not method.takes:
            return self.seen.take(taken)
        kept = self.truth.whole.take(pa.array(self.truth.places[rows])).select(_shared(self.truth.whole, self.seen))
        masked = method.protect(kept, columns=self.known.masked, by=self.known.by, teaching_seed=self.known.seed + 1)
        return frame_of(masked).table(kept.column_names)


def _seen(given: Any) -> pa.Table:
    """The frame as Arrow with all that it carries: a pandas index, metadata, dictionaries."""
    frame = frame_of(given)
    if frame.kind == "pyarrow":
        plain = given.frame if isinstance(given, Released) else given
        return plain if isinstance(plain, pa.Table) else frame.given
    if frame.kind == "pandas":
        table = frame.table(frame.names)  # a Mistake where a column mixes kinds
        written = pa.Table.from_pandas(frame.given)
        index = [name for name in written.column_names if name not in table.column_names]
        for name in index:
            table = table.append_column(name, written[name])
        return table.replace_schema_metadata(written.schema.metadata)
    return frame.table(frame.names)


def _shared(one: pa.Table, other: pa.Table) -> list[str]:
    return [name for name in other.column_names if name in one.column_names]


def _changed(pairs: pa.Table, released: pa.Table, name: str) -> bool:
    before, after = (FileRecords.of(frame, [name]).columns[name] for frame in (pairs, released))
    if before.kind == after.kind == "numbers":
        return not np.array_equal(before.numbers, after.numbers, equal_nan=True)
    return not np.array_equal(_words(before), _words(after))


def _words(column: FileColumn) -> Any:
    return np.array([*column.labels, ""], object)[column.coded[0]]


def _rewritten(pairs: pa.Table, both: Pair) -> pa.Table:
    """The truth in the words of the released file, as an intruder would recode their own list."""
    for column in both.columns:
        if column.numeric:
            values = pa.array(column.original, mask=np.isnan(column.original))
        elif column.ordered:
            continue
        else:
            labels = pa.array([*(column.labels or ()), None], pa.string())
            values = labels.take(pa.array(column.original % len(labels)))
        pairs = pairs.set_column(pairs.column_names.index(column.name), column.name, values)
    return pairs
