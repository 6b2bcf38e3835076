"""How far standard deviations of protected records are off, as a multiple of their standard error.

Exchanges move large numbers out of cells and into them, and noise of records counts twice in a square: by how much depends on how
numbers are distributed, on who exchanges with whom, and on how many are in a cell. So it is measured, as for totals in
`confide.records.spreads.totals`, on the site's own tables: by three variables at their coarsest, by two at any level, and by fewer.
Contributions are those of records: where units have several the multiple is of a smaller error than answers have, and too large.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from confide.arrays import Floats
from confide.data.deviation_error import CELL_SIZES, deviation_error
from confide.engines import Coded
from confide.engines.sums.batches import entering
from confide.model.catalog.dataset import Dataset
from confide.model.design import Number
from confide.model.formula import Transform
from confide.records.cells import UnitCells, parts_of
from confide.records.spreads.totals import ENOUGH, coarse_classes, looked_at, shown_classes, squared_spread
from confide.records.sums import add_columns, raise_to_largest

__all__ = ["measure_deviation_spread"]

FEWEST_TABLES, MOST_TABLES = 2, 10
"""About so many tables by three variables are looked at, as many by two, and all that are parts of them."""

LOOKS = 400_000
"""So many records are looked at in all tables of a kind together: cells of a large file are many in a few tables already."""

LEAST_UNITS = 10
"""Of fewer no standard deviation is told."""

EXCHANGED = 0.5
"""What exchanges move a standard deviation by, in standard errors, where too few units tell it. Chosen on the demonstration data."""

COLUMNS = 4
"""What is added up of a number: who has it, their weights, the number and its square."""


def measure_deviation_spread(
    true: Coded, protected: Coded, dataset: Dataset, noise: Mapping[str, float], *, exchanges: bool
) -> dict[str, list[float]]:
    """For each number the multiples in cells of few, of more and of many units (`CELL_SIZES`)."""
    names = [name for name in protected.facts.numbers if name in true.facts.numbers]
    if not names:
        return {}
    tables = _tables(dataset, true.records.num_rows)
    known, seen = (_Moments(coded, names, dataset, tables) for coded in (true, protected))
    ratios: list[Floats] = [np.empty((len(CELL_SIZES) + 1, 0, len(names)))]
    for by in sorted({part for table in tables for part in _parts(table)}):
        ratios.append(_ratios(known.of(by), seen.of(by)))
    measured = squared_spread(np.concatenate(ratios, axis=1))
    squares = np.array([noise.get(f"{Transform.SQUARE}({name})", 0.0) for name in names])
    alone = (2 * squares) ** 2 + (EXCHANGED**2 if exchanges else 0.0)
    there = np.array([np.isfinite(protected.numbers(name)).sum() for name in names])
    worth = np.minimum(there / ENOUGH, 1.0)
    stated = np.sqrt(np.where(np.isnan(measured), alone, worth * np.nan_to_num(measured) + (1 - worth) * alone))
    return {name: [float(f"{multiple:.2g}") for multiple in stated[:, place]] for place, name in enumerate(names)}


def _tables(dataset: Dataset, records: int) -> list[tuple[str, ...]]:
    """Those that are looked at."""
    fine, coarse = shown_classes(dataset), coarse_classes(dataset)
    most = min(max(LOOKS // max(records, 1), FEWEST_TABLES), MOST_TABLES)
    return [*looked_at(coarse, 3, most), *looked_at(fine, 2, most)] or looked_at(fine, 1, most)


def _parts(table: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A table and all by some of its variables."""
    return itertools.chain(*(itertools.combinations(table, size) for size in range(1, len(table) + 1)))


@dataclass(frozen=True)
class _CellMoments:
    """Of cells and numbers: how many there are, their standard deviation and their largest distance to the mean."""

    units: Floats
    deviations: Floats
    largest: Floats


class _Moments:
    """Sums and the largest contributions over the cells of tables, in one pass over the records."""

    def __init__(self, coded: Coded, names: Sequence[str], dataset: Dataset, tables: Sequence[tuple[str, ...]]) -> None:
        self._cells, self._tables = UnitCells(coded, dataset), tables
        self._sums = {by: np.zeros((self._cells.size(by), COLUMNS * len(names))) for by in tables}
        self._largest = {by: np.zeros((len(names), self._cells.size(by))) for by in tables}
        for part in parts_of(coded.records.num_rows):
            self._add(coded, names, part)

    def _add(self, coded: Coded, names: Sequence[str], part: slice) -> None:
        columns, amounts = np.empty((part.stop - part.start, COLUMNS * len(names))), []
        for place, name in enumerate(names):
            each = _columns(coded, name, part)
            amounts.append(each[2])
            for number, own in enumerate(each, COLUMNS * place):
                columns[:, number] = own
        for by in self._tables:
            cell = self._cells.of(by, part)
            add_columns(self._sums[by], cell, columns)
            for largest, own in zip(self._largest[by], amounts, strict=True):
                raise_to_largest(largest, cell, own)

    def of(self, by: tuple[str, ...]) -> _CellMoments:
        """A row for each cell; a column for each number."""
        whole = next(table for table in self._tables if set(by) <= set(table))
        rest = tuple(axis for axis, name in enumerate(whole) if name not in by)
        sizes = [self._cells.size((name,)) for name in whole]
        sums = self._sums[whole].reshape(*sizes, -1, COLUMNS).sum(axis=rest)
        largest = np.moveaxis(self._largest[whole].reshape(-1, *sizes), 0, -1).max(axis=rest)
        units, weights, total, square = np.moveaxis(sums.reshape(-1, *sums.shape[-2:]), -1, 0)
        divisor = np.where(weights > 0, weights, 1.0)
        mean, usual = total / divisor, divisor / np.maximum(units, 1)
        variance = np.maximum(square / divisor - mean**2, 0.0) * units / np.maximum(units - 1, 1)
        return _CellMoments(units, np.sqrt(variance), largest.reshape(mean.shape) / usual - np.abs(mean))


def _columns(coded: Coded, name: str, part: slice) -> tuple[Floats, ...]:
    """Of some records: whether they have a number, their weights if so, and what they add to its sum and to that of its squares."""
    values, number = coded.numbers(name, part), Number(name, Transform.SQUARE)
    column = coded.facts.value(number)
    squares = entering(number, {column: coded.records[column][part].to_numpy()}, coded.facts)
    there = np.isfinite(values)
    weights = np.where(there, coded.weights_of(part), 0.0)
    amounts, squared = (weights * np.where(there, of, 0.0) for of in (values, squares))
    return there.astype(np.float64), weights, amounts, squared


def _ratios(was: _CellMoments, now: _CellMoments) -> Floats:
    """The squares of what deviations are off by, in standard errors, by sizes of cells, cells and numbers; NaN where one does not
    count."""
    error = deviation_error(now.deviations, now.units, now.largest)
    use = (now.units >= LEAST_UNITS) & (was.units > 1) & (error > 0)
    off = (now.deviations - was.deviations) ** 2
    found = np.divide(off, error**2, out=np.full_like(off, np.nan), where=use)
    size = np.searchsorted(CELL_SIZES, now.units, side="right")
    return np.array([np.where(size == each, found, np.nan) for each in range(len(CELL_SIZES) + 1)])
