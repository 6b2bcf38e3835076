"""Counts from a SAFE base: protected microdata in which every combination has no record or at least three.

Promise: every count is a sum over the base, which could be handed out whole. So all tables add up and agree with each
other, and two universes that differ at all differ by three protected records or more.
Reference: Giessing and Höhne (2011), section 2.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from confide.answering.mechanisms.additive import table_shape
from confide.answering.rounding import significant
from confide.answering.universe.resolve import Resolved
from confide.arrays import Ints
from confide.model.catalog.dataset import Dataset
from confide.model.release import Column
from confide.model.request import Measure, TableRequest

__all__ = ["Base"]


@dataclass(frozen=True, eq=False)
class Base:
    """The base of a data set: places of the codes of each combination, how many protected records it has, and its `mark`.

    `spread[d]` is the root of the mean squared deviation of cells of tables by d variables from the truth.
    """

    by: tuple[str, ...]
    places: Ints
    count: Ints
    spread: tuple[float, ...]
    mark: str

    def covers(self, request: TableRequest, universe: Resolved) -> bool:
        """Whether this table is read from the base: plain counts, by and within variables of it."""
        return request.measure == (Measure.COUNT,) and {*request.by, *universe.variables} <= set(self.by)

    def counts(self, request: TableRequest, universe: Resolved, dataset: Dataset) -> Ints:
        """The table with all its margins, totals last on each axis."""
        here = self._within(universe)
        cube = np.zeros(table_shape(request, dataset), dtype=np.int64)
        at = tuple(self.places[here, self.by.index(name)] for name in request.by)
        np.add.at(cube, at, self.count[here])
        for axis in range(cube.ndim):
            inner = np.moveaxis(cube, axis, 0)
            inner[-1] = inner[:-1].sum(axis=0)
        return cube

    def column(self, counts: Ints, request: TableRequest, universe: Resolved) -> Column:
        """The counts as they are released. A sum of cells deviates as if they did so independently."""
        variables = len({*request.by, *universe.variables})
        summed = sum(prod(len(places) for _, places in box) for box in universe.boxes) or 1
        noise = np.full(counts.shape, self.spread[variables] * summed**0.5)
        marks = np.full(counts.shape, "", dtype="<U1")
        return Column("count", "Count", 0, counts.astype(np.float64), marks, significant(noise, 3))

    def _within(self, universe: Resolved) -> Ints:
        """The combinations of the universe: those in one of its boxes; no box is everyone."""
        inside = np.full(len(self.count), not universe.boxes)
        for box in universe.boxes:
            in_box = np.ones(len(self.count), dtype=bool)
            for name, places in box:
                in_box &= np.isin(self.places[:, self.by.index(name)], places)
            inside |= in_box
        return np.flatnonzero(inside)
