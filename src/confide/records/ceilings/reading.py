"""What all protected numbers of a record say together about one of them: wages and taxes tell of income what its own noise hides.

A reading is fitted to the true numbers of those it is about, so that whoever knows the laws of the data, and how often the record
under somebody's keys is another's, reads no better. Which numbers are zero is seen, so each pattern of zeros has its own law, but for
patterns that few units have.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from confide.arrays import Bools, Floats, Ints, Narrow
from confide.records.ceilings.equations import equations, predicted
from confide.records.cells import UnitCells

__all__ = ["found_records", "most_classes", "most_within", "read_together"]

UNITS_A_TERM = 20
"""A law has no more terms than one for so many units: with more it would repeat the truth it was fitted to."""

ALIKE = 300
"""So many units with the nearest readings are claimed alike."""


def found_records(wanted: Ints, cells: UnitCells, names: tuple[str, ...]) -> Ints:
    """A record in each wanted cell of a cross, where there is one; -1 where there is none."""
    record = np.full(cells.size(names), -1)
    for part, cell in cells.parts(names):
        record[cell] = np.arange(part.start, part.stop)
    return np.asarray(record[wanted])


def read_together(true: Floats, shown: Sequence[Floats], classes: Sequence[Narrow]) -> Floats:
    """The likely logarithm of each true number by all that its record shows; of the true numbers, those above 0 are fitted to.

    >>> true = np.exp(np.linspace(0, 1, 80))
    >>> bool(np.abs(read_together(true, [true, 2 * true], []) - np.log(true)).max() < 1e-9)
    True
    """
    there = np.stack([np.nan_to_num(number) > 0 for number in shown], axis=1)
    logs = np.log(np.where(there, np.stack(shown, axis=1), 1.0))
    able = np.nan_to_num(true) > 0
    pattern = _patterns(there, able)
    wanted = np.log(np.where(able, true, 1.0))
    found = np.full(len(true), float(np.median(wanted[able])) if able.any() else 0.0)
    for one in np.unique(pattern[able]):
        rows = np.flatnonzero(pattern == one)
        fit = able[rows]
        most = max(1, int(fit.sum()) // UNITS_A_TERM)
        numbers = np.stack(list(itertools.islice(_terms(logs[rows][:, there[rows].all(axis=0)]), most)), axis=1)
        terms, size = _class_terms([of[rows] for of in classes], numbers.shape, most)
        # few terms and many units, so that the normal equations are small and exact enough
        gram, against = equations(numbers[fit], terms[fit], wanted[rows[fit]], size)
        law = np.linalg.lstsq(gram, against, rcond=None)[0]
        found[rows] = predicted(numbers, terms, np.append(law, 0.0))
    return found


def _patterns(there: Bools, able: Bools) -> Ints:
    """A number for each pattern of numbers that are `there`; those of fewer units than a term is for have one law together, of what
    all of them have: a law of their own would repeat their truth."""
    _, pattern, units = np.unique(there, axis=0, return_inverse=True, return_counts=True)
    few = np.bincount(pattern.ravel()[able], minlength=len(units)) < UNITS_A_TERM
    return np.where(few[pattern.ravel()], -1, pattern.ravel())


def _terms(logs: Floats) -> Iterator[Floats]:
    """The level, the numbers and their products, those that tell most first."""
    yield np.ones(len(logs))
    standard = (logs - logs.mean(axis=0)) / np.maximum(logs.std(axis=0), 1e-9)
    yield from standard.T
    for one, other in itertools.combinations_with_replacement(standard.T, 2):
        yield one * other


def _class_terms(classes: Sequence[Narrow], numbers: tuple[int, ...], most: int) -> tuple[Ints, int]:
    """The term that each class of each record is, after as many as there are `numbers`, and how many terms there are: `most` at
    most. The first class of a variable is no term, and those beyond the last are none: they have the place after it."""
    rows, size = numbers
    terms = np.empty((rows, len(classes)), np.int64)
    for column, places in enumerate(classes):
        rank = np.cumsum(np.bincount(places) > 0) - 1
        terms[:, column] = np.where(rank > 0, rank + size - 1, most)[places]
        size += int(rank[-1])
    size = min(size, most)
    return np.minimum(terms, size), size


def most_within(true: Floats, reading: Floats, share: float) -> int:
    """How many numbers above 0 claims come within a share of, if those with readings alike are claimed with the best factor.

    >>> most_within(np.array([10.0, 10.5, 90.0]), np.log([1.0, 1.0, 1.0]), 0.1)
    2
    """
    width, right = float(np.log((1 + share) / (1 - share))), 0
    for rows in _alike(reading):
        off = np.sort(reading[rows] - np.log(true[rows]))
        reached = np.searchsorted(off, off + width, "right") - np.arange(len(off))
        right += int(reached.max())
    return right


def most_classes(classes: Narrow, reading: Floats, sure: Bools) -> int:
    """How many classes are right if the commonest is claimed of those with readings alike; those `sure` are alike for themselves."""
    parts = [np.flatnonzero(sure), *(np.flatnonzero(~sure)[rows] for rows in _alike(reading[~sure], of=ALIKE // 3))]
    return sum(int(np.bincount(classes[rows]).max(initial=0)) for rows in parts if len(rows))


def _alike(reading: Floats, of: int = ALIKE) -> list[Ints]:
    if not len(reading):
        return []
    return np.array_split(np.argsort(reading, kind="stable"), max(1, len(reading) // of))
