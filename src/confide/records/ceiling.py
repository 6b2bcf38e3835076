"""What an intruder would be right about who had reconstructed the whole protected file: a ceiling for any number of questions.

Everything is answered from the protected records, so no attack can do better than the best use of those records themselves.
The uses are tried on the site's own data, on all who are exposed, with everything known but the draws: the record found under
somebody's keys is taken at its word, or all those alike but for one key (which may have been exchanged) are asked what is
commonest; a number is taken as it stands, times a factor, or drawn towards what is usual, whatever does best.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from confide.arrays import Floats, Ints
from confide.engines import Coded, StoreFacts
from confide.model.catalog.dataset import Dataset, Role
from confide.records.exposure import Exposed, Exposure, UnitCells, confidential_numbers

__all__ = ["WITHIN", "Ceiling", "best_guess", "ceiling_note", "find_ceilings", "read_ceilings"]

WITHIN = 0.1
"""A number is disclosed by a claim that is off by no more than this share of it."""

TOLD_FROM = 30
"""A ceiling of fewer units is told to the custodian alone: it would say something of the draws of those few."""

MOST_CROSSES = 20
"""So many crosses, those that expose most units, stand for all of them."""


@dataclass(frozen=True)
class Ceiling:
    """How often a perfect reconstruction is `right` about a variable of those exposed on up to `keys` keys; how often the one
    best `guess` is, and what the true records of `others` would tell. Of a number, right means within ten per cent."""

    variable: str
    keys: int
    number: bool
    exposed: int
    right: float
    guess: float
    others: float


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
            worst = max(some, key=lambda c: c.right - max(c.guess, c.others))
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
    """For every confidential variable: of those alone on two keys, and of all who are exposed."""
    names = [v.name for v in dataset.variables.values() if v.classifies and v.role is Role.CONFIDENTIAL]
    secrets = [_Secret(name, _Column(true.places(name)), _Column(protected.places(name))) for name in names]
    known, seen = UnitCells(true, dataset), UnitCells(protected, dataset)
    chosen = _chosen(exposure) if secrets else {}
    each = {one.cross: one for crosses in chosen.values() for one in crosses}
    hits = {cross: _hits(known, seen, secrets, one) for cross, one in each.items()}
    found = [
        ceiling
        for keys, crosses in chosen.items()
        for ceiling in _class_ceilings(secrets, crosses, np.sum([hits[one.cross] for one in crosses], axis=0), keys)
    ]
    for variable in confidential_numbers(dataset):
        rows = np.flatnonzero(exposure.numbers[variable.name] & (np.nan_to_num(true.numbers(variable.name)) > 0))
        if len(rows):
            found.append(
                _number_ceiling(
                    true.numbers(variable.name)[rows], protected.numbers(variable.name)[rows], variable.name
                )
            )
    return found


def _chosen(exposure: Exposure) -> dict[int, list[Exposed]]:
    """The crosses that expose most units, of up to two keys and of any number."""
    most = max((len(one.cross.traits) for one in exposure.found), default=0)
    ordered = sorted(exposure.found, key=lambda one: -len(one.rows))
    chosen = {
        keys: [one for one in ordered if len(one.cross.traits) <= keys][:MOST_CROSSES]
        for keys in sorted({min(2, most), most} - {0})
    }
    return {keys: crosses for keys, crosses in chosen.items() if crosses}


class _Column:
    """The class of each record, and how many have each."""

    def __init__(self, places: Ints) -> None:
        self.places, self.counts = places, np.bincount(places)


@dataclass(frozen=True, eq=False)
class _Secret:
    """A confidential class variable: what it is of each record, and what the protected record shows."""

    name: str
    true: _Column
    shown: _Column


def _class_ceilings(secrets: Sequence[_Secret], crosses: Sequence[Exposed], hits: Ints, keys: int) -> Iterator[Ceiling]:
    """How often the record found under somebody's keys is right, or all those alike but for one key, whichever does better."""
    rows = np.concatenate([one.rows for one in crosses])
    for secret, (record, alike, others) in zip(secrets, hits.tolist(), strict=True):
        guess = float(np.bincount(secret.true.places[rows]).max() / len(rows))
        yield Ceiling(secret.name, keys, False, len(rows), max(record, alike) / len(rows), guess, others / len(rows))


def _hits(known: UnitCells, seen: UnitCells, secrets: Sequence[_Secret], one: Exposed) -> Ints:
    """Of each secret: about how many of the exposed the record is right, those alike but for a key, and the others' true ones.

    Of the keys but one, the intruder is given the best.
    """
    names = one.cross.names
    uses = [names, *(names[:i] + names[i + 1 :] for i in range(len(names)))]
    cells = [known.of(by) for by in uses]
    found = [_Alike(seen.of(by), cell[one.rows]) for by, cell in zip(uses, cells, strict=True)]
    others = [_Alike(cell, cell[one.rows]) for cell in cells[1:]]
    hits = []
    for secret in secrets:
        truth = secret.true.places[one.rows]
        shown = [int((alike.commonest(secret.shown) == truth).sum()) for alike in found]
        told = [int((alike.commonest(secret.true, own=truth) == truth).sum()) for alike in others]
        hits.append((shown[0], max(shown[1:]), max(told)))
    return np.array(hits)


class _Alike:
    """The records in the cells of some targets, and what is commonest among those of each."""

    def __init__(self, cell: Ints, wanted: Ints) -> None:
        cells, self._of = np.unique(wanted, return_inverse=True)
        number = np.full(int(max(cell.max(initial=0), wanted.max(initial=0))) + 1, -1)
        number[cells] = np.arange(len(cells))
        place = number[cell]
        self._rows = np.flatnonzero(place >= 0)
        self._place, self._cells = place[self._rows], len(cells)

    def commonest(self, column: _Column, own: Ints | None = None) -> Ints:
        """The commonest class in the cell of each target, without one of class `own`; of an empty cell, among all."""
        classes = len(column.counts)
        table = np.bincount(self._place * classes + column.places[self._rows], minlength=self._cells * classes)
        table = table.reshape(-1, classes)[self._of]
        if own is not None:
            table[np.arange(len(own)), own] -= 1
        return np.where(table.any(axis=1), table.argmax(axis=1), int(column.counts.argmax()))


def _number_ceiling(true: Floats, shown: Floats, name: str) -> Ceiling:
    """The best of many estimators that know the law of the noise: the number itself, or drawn towards the usual one."""
    there = shown > 0
    aims, logs, usual = np.log(true[there]), np.log(shown[there]), float(np.median(np.log(true)))
    shifts = np.linspace(-0.3, 0.3, 25)
    right = 0
    for weight in np.linspace(0.4, 1.0, 13):
        # a claim is right that a shift brings from below ten per cent more to above ten per cent less than what is true
        off = np.sort(weight * logs + (1 - weight) * usual - aims)
        reached = np.searchsorted(off, np.log1p(WITHIN) - shifts, "right") - np.searchsorted(
            off, np.log1p(-WITHIN) - shifts
        )
        right = max(right, int(reached.max()))
    guess = best_guess(true)
    guessed = float((np.abs(guess - true) <= WITHIN * true).mean())
    return Ceiling(name, 0, True, len(true), right / len(true), guessed, guessed)


def best_guess(values: Floats) -> float:
    """The one claim that is within ten per cent most often."""
    ordered = np.sort(values)
    # A claim c is right of t if |c - t| <= t/10, that is from c/1.1 to c/0.9; try every c that just reaches a value.
    claims = ordered * (1 + WITHIN)
    reached = np.searchsorted(ordered, claims / (1 - WITHIN), "right") - np.searchsorted(ordered, ordered, "left")
    return float(claims[reached.argmax()])
