"""How far sums over protected records are off, beside what the noise of each record alone would make of it.

Balance takes noise out of large groups, and exchanges move whole contributions: so the spread of a total is measured on the
site's own tables by one, two and three variables, and stated as a multiple of the root of the sum of squared noise.
All cells of all tables are sums of the same draws, so that a small file tells little, however many tables it has. There what
independent noise would do is stated, and what was measured enters by as much as it is worth. Where there is no table of a size, or
no cell that counts, it is stated alone.
"""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from confide.arrays import Floats
from confide.engines import Coded
from confide.model.catalog.dataset import Dataset, Role
from confide.records.cells import UnitCells, parts_of
from confide.records.covers import JOINT, Cover, covers
from confide.records.exposure import confidential_numbers
from confide.records.sums import add_columns

__all__ = ["ENOUGH", "coarse_classes", "looked_at", "measure_spread", "shown_classes", "squared_spread"]

MOST_TABLES = 30
"""About so many tables of each size are looked at, spread over all there are."""

FEWEST = 5
"""Cells with fewer units play no part: a single one would tell of its own draw."""


COVERED, NORMAL = 0.95, 1.959964
"""A cell is off by at most so many standard deviations in so many of all cases, if it is as normal numbers are."""

ENOUGH = 1_000
"""Units from which on what was measured stands alone. From secret to secret it scatters by 0.11 to 0.18 with 200 people of the
demonstration, and by 0.04 to 0.11 with 1,000."""


def measure_spread(true: Coded, protected: Coded, dataset: Dataset, noise: dict[str, float]) -> dict[str, list[float]]:
    """For each number that carries noise: the multiples for totals by one, two and three variables, then those for means."""
    coarse = coarse_classes(dataset)
    names = [v.name for v in confidential_numbers(dataset) if noise.get(v.name)]
    if not names:
        return {}
    tables = [looked_at(coarse, size) for size in (3, 2, 1)]
    known, seen = (_CellSums(UnitCells(c, dataset), coarse, itertools.chain(*tables)) for c in (true, protected))
    spreads, units = np.array([noise[name] for name in names]), _Units(protected, len(names))
    for part in parts_of(true.records.num_rows):
        was, now = (_columns(c, names, part) for c in (true, protected))
        known.add(part, was)
        units.add(part, now[:, 1:])
        seen.add(part, np.column_stack([now, (now[:, 1:] * spreads) ** 2, np.ones(len(now))]))
    alone, worth = units.independent()
    multiples: list[Floats] = []
    for some in tables:
        ratios = [np.empty((2, 0, len(names))), *(_ratios(known.of(by), seen.of(by)) for by in some)]
        measured = squared_spread(np.concatenate(ratios, axis=1))
        stated = np.where(np.isnan(measured), alone, worth * np.nan_to_num(measured) + (1 - worth) * alone)
        multiples.insert(0, np.sqrt(stated))
    return {
        name: [float(f"{of_size[kind, place]:.2g}") for kind in (0, 1) for of_size in multiples]
        for place, name in enumerate(names)
    }


def shown_classes(dataset: Dataset) -> list[str]:
    """The variables that tables are made by, at every level."""
    return [v.name for v in dataset.variables.values() if v.classifies and v.role is not Role.CONFIDENTIAL]


def coarse_classes(dataset: Dataset) -> list[str]:
    """The coarsest level of each of them."""
    return list(dict.fromkeys(dataset.levels(name)[0].name for name in shown_classes(dataset)))


def looked_at(names: Sequence[str], size: int, most: int = MOST_TABLES) -> list[tuple[str, ...]]:
    """The tables by so many variables that are looked at."""
    tables = list(itertools.combinations(names, size))
    return tables[:: max(1, len(tables) // most)]


class _Units:
    """The squares of what records and units have of each number."""

    def __init__(self, coded: Coded, numbers: int) -> None:
        self._unit = np.unique(coded.units, return_inverse=True)[1].ravel() if coded.facts.several else None
        self._squares, self._there = np.zeros(numbers), np.zeros(numbers, np.int64)
        self._sums = np.zeros((0 if self._unit is None else int(self._unit.max(initial=-1)) + 1, numbers))

    def add(self, part: slice, amounts: Floats) -> None:
        self._squares += (amounts**2).sum(axis=0)
        self._there += (amounts != 0).sum(axis=0)
        if self._unit is not None:
            add_columns(self._sums, self._unit[part], np.ascontiguousarray(amounts))

    def independent(self) -> tuple[Floats, Floats]:
        """Of each number, the square of the multiple if units had nothing but noise of their own, which all records of a unit
        share; and what a measured one is worth beside it, by the number of units that have noise at all."""
        squares, there = self._squares, self._there
        if self._unit is not None:
            squares, there = (self._sums**2).sum(axis=0), (self._sums != 0).sum(axis=0)
        return squares / np.maximum(self._squares, 1e-300), np.minimum(there / ENOUGH, 1.0)


class _CellSums:
    """Sums of columns over the cells of tables: each part of the records is looked at once for all that are parts of one cover."""

    def __init__(self, cells: UnitCells, names: Iterable[str], tables: Iterable[tuple[str, ...]]) -> None:
        self._cells, self._sizes = cells, {name: cells.size((name,)) for name in names}
        found = covers(tables, self._sizes, JOINT)
        self._cover = {by: cover for cover in found for by in cover.tables}
        self._sums: dict[Cover[str], Floats | None] = dict.fromkeys(found)

    def add(self, part: slice, columns: Floats) -> None:
        """Add up some records."""
        for cover, sums in self._sums.items():
            if sums is None:
                sums = self._sums[cover] = np.zeros((self._cells.size(cover.variables), columns.shape[1]))
            add_columns(sums, self._cells.of(cover.variables, part), columns)

    def of(self, by: tuple[str, ...]) -> Floats:
        """A row for each cell."""
        cover = self._cover[by]
        sums = self._sums[cover]
        assert sums is not None
        shaped = sums.reshape(*(self._sizes[name] for name in cover.variables), -1)
        return np.asarray(shaped.sum(axis=cover.left_out(by))).reshape(-1, sums.shape[1])


def _columns(coded: Coded, names: Sequence[str], part: slice) -> Floats:
    """Weights, and what records add to the total of each number."""
    weights = coded.weights_of(part)
    return np.column_stack([weights, *(np.nan_to_num(coded.numbers(name, part)) * weights for name in names)])


def squared_spread(ratios: Floats) -> Floats:
    """The squared multiple, of totals and of means of each number, that all but one cell in twenty keep to as normal ones would.

    Not the mean of squares: where numbers are next to nothing, as those of children are, one exchange outweighs all noise, and one
    such cell in ten thousand would make every table look uncertain. NaN where no cell counts, as of tables by three of two variables.
    """
    within = np.full(ratios.shape[::2], np.nan)
    for place in np.ndindex(within.shape):
        found = ratios[place[0], :, place[1]]
        found = found[np.isfinite(found)]
        within[place] = np.quantile(found, COVERED) / NORMAL**2 if len(found) else np.nan
    return within


def _ratios(was: Floats, now: Floats) -> Floats:
    """The squares of what totals and means are off by, beside noise alone: by cells and numbers, NaN where a cell does not count.

    Columns are weights and amounts; of the protected also their squared noise, and the number of records.
    """
    numbers = was.shape[1] - 1
    totals, alone = now[:, 1 : numbers + 1], now[:, numbers + 1 : -1]
    use = (now[:, -1:] >= FEWEST) & (alone > 0) & (was[:, :1] > 0)
    scale = np.divide(now[:, :1], was[:, :1], out=np.zeros((len(was), 1)), where=was[:, :1] > 0)
    off = np.array([totals - was[:, 1:], totals - was[:, 1:] * scale])
    squares: Floats = np.divide(off**2, alone, out=np.full_like(off, np.nan), where=use)
    return squares
