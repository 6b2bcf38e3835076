"""Counts from a SAFE base: protected microdata in which every combination has no record or at least three.

Promise: every count is a sum over the base, which could be handed out whole. So all tables add up and agree with each
other, and two universes that differ at all differ by three protected records or more.
Reference: Giessing and Höhne (2011), section 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from confide.answering.rounding import significant
from confide.arrays import Ints
from confide.model.catalog.dataset import Dataset
from confide.model.catalog.derivation import table_of
from confide.model.evidence import Box
from confide.model.release import Column

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

    def counts(self, by: Sequence[str], within: Sequence[Box], dataset: Dataset) -> Ints:
        """The table with all its margins, totals last on each axis."""
        here = self._within(within)
        shape = [len(dataset.classifier(name).codes or ()) + 1 for name in by]
        cube = np.zeros(shape, dtype=np.int64)
        at = tuple(self._places(name, here, dataset) for name in by)
        np.add.at(cube, at, self.count[here])
        for axis in range(cube.ndim):
            inner = np.moveaxis(cube, axis, 0)
            inner[-1] = inner[:-1].sum(axis=0)
        return cube

    def _places(self, name: str, here: Ints, dataset: Dataset) -> Ints:
        made = dataset.variables[name].made
        columns = tuple(self.places[here, self.by.index(source)] for source in dataset.sources(name))
        return columns[0] if made is None else np.asarray(table_of(made)[columns])

    def column(self, counts: Ints, by: Sequence[str], within: Sequence[Box], dataset: Dataset) -> Column:
        """The counts as they are released. A sum of cells deviates as if they did so independently."""
        sources = {source for name in by for source in dataset.sources(name)}
        variables = len(sources.union(name for box in within for name, _ in box))
        summed: float = sum(prod(len(places) for _, places in box) for box in within) or 1
        for made in filter(None, (dataset.variables[name].made for name in by)):
            summed *= len(made.places) / (
                max(made.places) + 1
            )  # of so many classes one of the asker's own is, on average
        noise = np.full(counts.shape, self.spread[variables] * summed**0.5)
        marks = np.full(counts.shape, "", dtype="<U1")
        return Column("count", "Count", 0, counts.astype(np.float64), marks, significant(noise, 3))

    def _within(self, within: Sequence[Box]) -> Ints:
        """The combinations of a universe: those in one of its boxes; no box is everyone."""
        inside = np.full(len(self.count), not within)
        for box in within:
            in_box = np.ones(len(self.count), dtype=bool)
            for name, places in box:
                in_box &= np.isin(self.places[:, self.by.index(name)], places)
            inside |= in_box
        return np.flatnonzero(inside)
