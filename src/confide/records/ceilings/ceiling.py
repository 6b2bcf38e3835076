"""What an intruder would be right about who had reconstructed the whole protected file: a ceiling for any number of questions.

Everything is answered from the protected records, so no attack can do better than the best use of those records themselves.
The uses are tried on the site's own data, on all who are exposed, with everything known but the draws: the record found under
somebody's keys is taken at its word, or all those alike but for one key (which may have been exchanged) are asked what is
commonest. A number, and its class, is read from all numbers and classes of that record together (`confide.records.ceilings.reading`).

After an update they had reconstructed every version, so they know in which update each protected record came: records are looked
for among those who came with somebody, and in the whole file. What that tells of the newcomers is said by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from confide.arrays import Bools, Floats, Ints, Narrow
from confide.engines import Coded, StoreFacts
from confide.model.catalog.dataset import Dataset, Role
from confide.records.ceilings.reading import found_records, most_classes, most_within, read_together
from confide.records.cells import UnitCells
from confide.records.exposure import Exposed, Exposure, KeyCross, confidential_numbers
from confide.records.sums import Places, count_classes, number_cells, right_claims

__all__ = ["TOLD_FROM", "WITHIN", "Ceiling", "best_guess", "ceiling_note", "find_ceilings", "read_ceilings"]

WITHIN = 0.1
"""A number is disclosed by a claim that is off by no more than this share of it."""

TOLD_FROM = 30
"""A ceiling of fewer units is told to the custodian alone: it would say something of the draws of those few."""

MOST_CROSSES = 20
"""So many crosses, those that expose most units, stand for all of them."""

MOST_NUMBER_CROSSES = 6
"""The same where numbers are read: there are more such crosses, and more units in each."""


@dataclass(frozen=True)
class Ceiling:
    """How often a perfect reconstruction is `right` about a variable of those exposed on up to `keys` keys; how often the one
    best `guess` is, and what the true records of `others` would tell. Of a number, right means within ten per cent. Of
    `newcomers`: those of them who came in updates."""

    variable: str
    keys: int
    number: bool
    exposed: int
    right: float
    guess: float
    others: float
    newcomers: bool = False

    @property
    def lift(self) -> float:
        """How far it is above what could be guessed, or learnt from others."""
        return self.right - max(self.guess, self.others)


def read_ceilings(facts: StoreFacts) -> list[Ceiling]:
    """What a store says of its ceilings."""
    return [Ceiling(**one) for one in facts.ceiling]


def ceiling_note(ceilings: Sequence[Ceiling]) -> str:
    """One sentence for everybody: the ceiling that is furthest above what could be guessed, of classes and of numbers.

    >>> ceiling_note([Ceiling("income", 2, False, 500, 0.31, 0.27, 0.3)])[-60:]
    "the class of 'income' in 31% of cases (30% by a good guess)."
    >>> ceiling_note([Ceiling("income", 2, False, 3, 1.0, 0.27, 0.3)])
    ''
    """
    said = []
    for number, what in ((False, "the class of {}"), (True, "{} to within 10 %")):
        some = [c for c in ceilings if c.number is number and c.exposed >= TOLD_FROM]
        if some:
            worst = max(some, key=lambda c: c.lift)
            told = max(worst.guess, worst.others)
            said.append(
                f"{what.format(repr(worst.variable))} in {worst.right:.0%} of cases ({told:.0%} by a good guess)"
            )
    if not said:
        return ""
    return (
        f"Even who had all protected records would know of a person who is exposed by their keys {', and '.join(said)}."
    )


def find_ceilings(true: Coded, protected: Coded, dataset: Dataset, exposure: Exposure) -> list[Ceiling]:
    """For every confidential variable: of those alone on two keys, and of all who are exposed; then of newcomers, if there are any."""
    found = _ceilings(true, protected, dataset, exposure)
    if true.cohort is None:
        return found
    newcomers = exposure.among(true.cohort.to_numpy() > 0)
    return [*found, *(replace(one, newcomers=True) for one in _ceilings(true, protected, dataset, newcomers))]


def _ceilings(true: Coded, protected: Coded, dataset: Dataset, exposure: Exposure) -> list[Ceiling]:
    names = [v.name for v in dataset.variables.values() if v.classifies and v.role is Role.CONFIDENTIAL]
    found: list[Ceiling] = []
    if names and (chosen := _chosen(exposure.found, MOST_CROSSES)):
        known, seen = UnitCells(true, dataset, cohorts=True), UnitCells(protected, dataset, cohorts=True)
        classes, shown = _Classes(true, names), _Classes(protected, names)
        each = {one.cross: one for crosses in chosen.values() for one in crosses}
        hits = _hits(known, seen, classes, shown, list(each.values()))
        for keys, crosses in chosen.items():
            truth = classes.of(np.concatenate([one.rows for one in crosses]))
            sums = np.sum([hits[one.cross] for one in crosses], axis=0).T.tolist()
            found += [_class_ceiling(name, keys, truth[i], sums[i]) for i, name in enumerate(names)]
    return _highest([*found, *_number_ceilings(true, protected, dataset, exposure)])


def _highest(ceilings: Sequence[Ceiling]) -> list[Ceiling]:
    """One for each variable and number of keys: the class of a number is read as a class, and by the number itself."""
    best: dict[tuple[str, int, bool], Ceiling] = {}
    for one in ceilings:
        key = (one.variable, one.keys, one.number)
        if key not in best or one.lift > best[key].lift:
            best[key] = one
    return list(best.values())


def _chosen(found: Sequence[Exposed], number: int) -> dict[int, list[Exposed]]:
    """The crosses that expose most units, of up to two keys and of any number."""
    most = max((len(one.cross.traits) for one in found), default=0)
    ordered = sorted(found, key=lambda one: -len(one.rows))
    chosen = {
        keys: [one for one in ordered if len(one.cross.traits) <= keys][:number]
        for keys in sorted({min(2, most), most} - {0})
    }
    return {keys: crosses for keys, crosses in chosen.items() if crosses}


class _Classes:
    """The confidential classes of all records, a row for each variable, and which is the commonest."""

    def __init__(self, coded: Coded, names: Sequence[str]) -> None:
        self._columns = [coded.classes(name) for name in names]
        counts = [np.bincount(column) for column in self._columns]
        self.usual = np.array([count.argmax() for count in counts])
        self.most = max(map(len, counts))

    def of(self, rows: slice | Narrow) -> Places:
        """The classes of some records."""
        return np.array([column[rows] for column in self._columns], np.uint16)

    def right(self, cells: UnitCells, by: tuple[str, ...], wanted: Ints, truth: Places, *, others: bool) -> Bools:
        """About which targets the commonest class among the records of their wanted cell is the truth."""
        number, found = number_cells(wanted, cells.size(by))
        counts = np.zeros((found, len(self._columns), self.most), np.int32)
        for part, cell in cells.parts(by):
            count_classes(counts, number, cell, self.of(part))
        return right_claims(counts, number, wanted, self.usual, truth, others)


def _class_ceiling(name: str, keys: int, truth: Ints, hits: Sequence[int]) -> Ceiling:
    """How often the record found under somebody's keys is right, or all those alike but for one key, whichever does better; and
    no less often than what others tell, for a model of the protected records tells that too."""
    record, alike, others = hits
    guess = float(np.bincount(truth).max() / len(truth))
    right = max(record, alike, others) / len(truth)
    return Ceiling(name, keys, False, len(truth), max(right, guess), guess, others / len(truth))


def _hits(
    known: UnitCells, seen: UnitCells, true: _Classes, shown: _Classes, crosses: Sequence[Exposed]
) -> dict[KeyCross, Ints]:
    """About how many of the exposed the record is right, those alike but for a key, and the true ones of others; by variable.

    Of the keys but one, and of those who came with somebody and the whole file, the intruder is given the best. Crosses have such
    keys in common: their records are counted once.
    """
    names = {one.cross.names: [one] for one in crosses}
    but_one: dict[tuple[str, ...], list[Exposed]] = {}
    for one in crosses:
        for i in range(len(one.cross.names)):
            but_one.setdefault(one.cross.names[:i] + one.cross.names[i + 1 :], []).append(one)
    hits = {one.cross: np.zeros((3, len(true.usual)), np.int64) for one in crosses}
    ways = [(0, names, seen, shown, known), (1, but_one, seen, shown, known), (2, but_one, known, true, known)]
    if known.whole is not known:
        ways += [(place, uses, cells.whole, classes, known.whole) for place, uses, cells, classes, _ in ways]
    for place, uses, cells, classes, wanted in ways:
        for by, some in uses.items():
            rows = np.concatenate([one.rows for one in some])
            right = classes.right(cells, by, wanted.of(by, rows), true.of(rows), others=classes is true)
            starts = np.cumsum([0, *(len(one.rows) for one in some[:-1])])
            sums = np.add.reduceat(right, starts, axis=1, dtype=np.int64).T
            for one, own in zip(some, sums, strict=True):
                np.maximum(hits[one.cross][place], own, out=hits[one.cross][place])
    return hits


def _number_ceilings(true: Coded, protected: Coded, dataset: Dataset, exposure: Exposure) -> Iterator[Ceiling]:
    """Of those alone on two keys, and on any: by the record found under their keys; of those who dominate, by their own."""
    known, seen = UnitCells(true, dataset, cohorts=True), UnitCells(protected, dataset, cohorts=True)
    reader = _Reader(true, protected, dataset)
    for keys, crosses in _chosen(exposure.alone, MOST_NUMBER_CROSSES).items():
        rows = np.concatenate([one.rows for one in crosses])
        each = [found_records(known.of(one.cross.names, one.rows), seen, one.cross.names) for one in crosses]
        yield from reader.ceilings(rows, np.concatenate(each), keys)
    for variable in reader.numbers:
        rows = np.flatnonzero(exposure.numbers[variable.name] & ~exposure.single)
        yield from (one for one in reader.ceilings(rows, rows, 0) if one.variable == variable.name and one.number)


class _Reader:
    """Reads the confidential numbers of some units in the protected records that are taken for theirs."""

    def __init__(self, true: Coded, protected: Coded, dataset: Dataset) -> None:
        self._true, self._protected = true, protected
        self.numbers = confidential_numbers(dataset)
        shown = [v for v in dataset.variables.values() if v.classifies and v.role in (Role.KEY, Role.OTHER)]
        coarse = dict.fromkeys(dataset.levels(v.name)[0].name for v in shown)
        self._classes = [protected.classes(name) for name in coarse]

    def ceilings(self, rows: Ints, records: Ints, keys: int) -> Iterator[Ceiling]:
        """What is read of units in `rows` by their `records`, -1 where none is found; the class too of numbers with bins."""
        there, found = rows[records >= 0], records[records >= 0]
        for variable in self.numbers if len(rows) else ():
            others = [v for v in self.numbers if v is not variable]
            shown = [self._protected.numbers(v.name, found) for v in (variable, *others)]
            reading = read_together(
                self._true.numbers(variable.name, there), shown, [of[found] for of in self._classes]
            )
            itself = np.log(np.where(shown[0] > 0, shown[0], 1.0))
            yield from self._number(variable.name, rows, records >= 0, (reading, itself), keys)
            if variable.binned:
                yield self._class(variable.name, rows, records, reading, keys)

    def _number(self, name: str, rows: Ints, seen: Bools, readings: Sequence[Floats], keys: int) -> Iterator[Ceiling]:
        """Read in the best of some ways; where no record is found, guessed."""
        values = self._true.numbers(name, rows)
        able = np.nan_to_num(values) > 0
        if able.any():
            guessed = np.abs(best_guess(values[able]) - values) <= WITHIN * values
            read = max(most_within(values[seen & able], reading[able[seen]], WITHIN) for reading in readings)
            right = float((read + guessed[~seen & able].sum()) / able.sum())
            guess = float(guessed[able].mean())
            yield Ceiling(name, keys, True, int(able.sum()), max(right, guess), guess, guess)

    def _class(self, name: str, rows: Ints, records: Ints, reading: Floats, keys: int) -> Ceiling:
        """Of a number with bins: by the reading, or as the record shows it."""
        places, shown = self._true.classes(name), self._protected.classes(name)[records[records >= 0]]
        truth, missed = places[rows[records >= 0]], np.bincount(places[rows[records < 0]], minlength=1).max()
        nothing = ~(self._protected.numbers(name, records[records >= 0]) > 0)
        read = max(most_classes(truth, reading, nothing), int((shown == truth).sum()))
        guess = float(np.bincount(places[rows]).max() / len(rows))
        return Ceiling(name, keys, False, len(rows), max(float((read + missed) / len(rows)), guess), guess, guess)


def best_guess(values: Floats) -> float:
    """The one claim that is within ten per cent most often."""
    ordered = np.sort(values)
    # A claim c is right of t if |c - t| <= t/10, that is from c/1.1 to c/0.9; try every c that just reaches a value.
    claims = ordered * (1 + WITHIN)
    reached = np.searchsorted(ordered, claims / (1 - WITHIN), "right") - np.searchsorted(ordered, ordered, "left")
    return float(claims[reached.argmax()])
