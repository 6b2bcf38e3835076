"""How far sums over protected records are off, beside what the noise of each record alone would make of it.

Balance takes noise out of large groups, and exchanges move whole contributions: so the spread of a total is measured on the
site's own tables by one, two and three variables, and stated as a multiple of the root of the sum of squared noise.
All cells of all tables are sums of the same draws, so that a small file tells little, however many tables it has. There what
independent noise would do is stated, and what was measured enters by as much as it is worth.
"""

import itertools

import numpy as np

from confide.arrays import Floats
from confide.engines import Coded
from confide.model.catalog.dataset import Dataset, Role
from confide.records.cells import UnitCells
from confide.records.exposure import confidential_numbers
from confide.records.sums import cell_sums

__all__ = ["measure_spread"]

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
    shown = [v for v in dataset.variables.values() if v.classifies and v.role is not Role.CONFIDENTIAL]
    coarse = list(dict.fromkeys(dataset.levels(v.name)[0].name for v in shown))
    before, after = UnitCells(true, dataset), UnitCells(protected, dataset)
    names = [v.name for v in confidential_numbers(dataset) if noise.get(v.name)]
    was, now = (np.column_stack([c.weights, *(_amounts(c, name) for name in names)]) for c in (true, protected))
    now = np.column_stack([now, (now[:, 1:] * [noise[name] for name in names]) ** 2, np.ones(len(now))])
    alone, worth = _independent(protected, now[:, 1 : len(names) + 1])
    multiples: list[Floats] = []
    known, seen = _CellSums(before, was), _CellSums(after, now)
    for size in (3, 2, 1):
        tables = list(itertools.combinations(coarse, size))
        looked_at = tables[:: max(1, len(tables) // MOST_TABLES)]
        ratios = [np.empty((2, 0, len(names))), *(_ratios(known.of(by), seen.of(by)) for by in looked_at)]
        multiples.insert(0, np.sqrt(worth * _squared_spread(np.concatenate(ratios, axis=1)) + (1 - worth) * alone))
    return {
        name: [float(f"{of_size[kind, place]:.2g}") for kind in (0, 1) for of_size in multiples]
        for place, name in enumerate(names)
    }


def _independent(coded: Coded, amounts: Floats) -> tuple[Floats, Floats]:
    """Of each number, the square of the multiple if units had nothing but noise of their own, which all records of a unit share;
    and what a measured one is worth beside it, by the number of units that have noise at all."""
    units = amounts
    if coded.facts.several:
        unit = np.unique(coded.units, return_inverse=True)[1].ravel()
        units = cell_sums(unit, amounts, int(unit.max(initial=-1)) + 1)
    records, squares = ((values**2).sum(axis=0) for values in (amounts, units))
    return squares / np.maximum(records, 1e-300), np.minimum((units != 0).sum(axis=0) / ENOUGH, 1.0)


class _CellSums:
    """Sums of columns over the cells of tables; those of a part of a table that is known already follow from it."""

    def __init__(self, cells: UnitCells, columns: Floats) -> None:
        self._cells, self._columns = cells, columns
        self._known: dict[tuple[str, ...], Floats] = {}

    def of(self, by: tuple[str, ...]) -> Floats:
        """A row for each cell."""
        if by not in self._known:
            self._add(by, cell_sums(self._cells.of(by), self._columns, self._cells.size(by)))
        return self._known[by].reshape(-1, self._columns.shape[1])

    def _add(self, by: tuple[str, ...], sums: Floats) -> None:
        self._known[by] = sums = sums.reshape(*(self._cells.size((name,)) for name in by), -1)
        for axis in range(len(by) if len(by) > 1 else 0):
            part = by[:axis] + by[axis + 1 :]
            if part not in self._known:
                self._known[part] = sums.sum(axis=axis)


def _amounts(coded: Coded, name: str) -> Floats:
    return np.asarray(np.nan_to_num(coded.numbers(name)) * coded.weights)


def _squared_spread(ratios: Floats) -> Floats:
    """The squared multiple, of totals and of means of each number, that all but one cell in twenty keep to as normal ones would.

    Not the mean of squares: where numbers are next to nothing, as those of children are, one exchange outweighs all noise, and one
    such cell in ten thousand would make every table look uncertain.
    """
    within = np.full(ratios.shape[::2], np.nan)
    for place in np.ndindex(within.shape):
        found = ratios[place[0], :, place[1]]
        found = found[np.isfinite(found)]
        within[place] = np.quantile(found, COVERED) / NORMAL**2 if len(found) else 0.0
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
