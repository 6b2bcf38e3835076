"""Columns as microaggregation sees them: a coordinate to measure distances in, and an average for a group.

Every kind of column weighs the same: coordinates are scaled so that two records drawn at random are 2 apart on average,
squared, as standardised numbers are.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats, Ints
from confide.data.compiling import compiled
from confide.data.hierarchy import Hierarchy
from confide.data.kdtree.shrinking import CategoryTrees, MixedPoints
from confide.microdata.hierarchies import parsed, placed
from confide.microdata.records import Categories, Records, kind_of

__all__ = ["Attribute", "NumberAttribute", "RecordGroups", "attribute", "centres", "space"]


@dataclass(frozen=True)
class RecordGroups:
    """Which group each record is in (-1: none), how many there are, and whose values count for the averages."""

    number: Ints
    count: int
    counted: Bools


class Attribute(ABC):
    """One column: `coordinate` is NaN where it is missing."""

    name: str
    coordinate: Floats

    @abstractmethod
    def averaged(self, groups: RecordGroups, weights: Floats | None) -> Floats | pa.Array:
        """The column with every value replaced by the average of its group; missing stays missing."""

    def centres(self, groups: RecordGroups) -> Floats:
        """Where the groups stand."""
        return _means(self.coordinate, groups, None)


@dataclass(frozen=True)
class NumberAttribute(Attribute):
    """A number: distance by its standardised value, averaged by its (weighted) mean."""

    name: str
    values: Floats

    @cached_property
    def coordinate(self) -> Floats:  # type: ignore[override]  # cached, where others compute
        return _standardised(self.values)

    def averaged(self, groups: RecordGroups, weights: Floats | None) -> Floats:
        means = np.append(_means(self.values, groups, weights), np.nan)
        return np.where(np.isnan(self.values), np.nan, means[groups.number])


@dataclass(frozen=True)
class OrderAttribute(Attribute):
    """A category with a declared order: distance by its standardised place, averaged by the (lower) median."""

    name: str
    categories: Categories

    @cached_property
    def coordinate(self) -> Floats:  # type: ignore[override]  # cached, where others compute
        codes = self.categories.codes
        return _standardised(np.where(codes < 0, np.nan, codes))

    def averaged(self, groups: RecordGroups, weights: Floats | None) -> pa.Array:
        codes, rows = self.categories.codes, _members(groups, self.coordinate)
        order = rows[np.lexsort((codes[rows], groups.number[rows]))]
        size = np.bincount(groups.number[rows], minlength=groups.count)
        middle = np.cumsum(size) - size + np.maximum(size - 1, 0) // 2
        median = np.append(codes[order[np.minimum(middle, len(order) - 1)]], -1)
        return self.categories.column(np.where(codes < 0, -1, median[groups.number]))


@dataclass(frozen=True)
class HierarchyAttribute(Attribute):
    """A category: distance by its hierarchy (or 1 if different), averaged by the one nearest to the group: the mode."""

    name: str
    categories: Categories
    hierarchy: Hierarchy | None

    @cached_property
    def places(self) -> Ints:
        """Where each category stands among the leaves of the tree."""
        if self.hierarchy is None:
            return np.arange(len(self.categories))
        return placed(self.categories, self.hierarchy, column=self.name)

    @cached_property
    def coordinate(self) -> Floats:  # type: ignore[override]  # cached, where others compute
        codes = self.categories.codes
        return np.where(codes < 0, np.nan, np.append(self.places, 0)[codes])

    @cached_property
    def above(self) -> Ints:
        """The node of each leaf on each level, from the top, where all are one."""
        if self.hierarchy is None:
            return np.array([np.zeros_like(self.places), self.places])
        levels = [np.unique(level, return_inverse=True)[1] for level in self.hierarchy.levels]
        return np.array([np.zeros_like(levels[0]), *levels])

    @cached_property
    def apart(self) -> Floats:
        """The distance of leaves that meet on a level, scaled as numbers are."""
        depth = len(self.above) - 1
        apart = np.arange(depth, 0, -1) / depth
        there = self.coordinate[~np.isnan(self.coordinate)].astype(np.int64)
        share = [np.sum((np.bincount(nodes[there]) / max(len(there), 1)) ** 2) for nodes in self.above]
        mean = float(np.sum(apart**2 * -np.diff(share)))
        return apart * np.sqrt(2 / mean) if mean > 0 else apart

    def averaged(self, groups: RecordGroups, weights: Floats | None) -> pa.Array:
        codes = self.categories.codes
        code_of = np.full(self.above.shape[1] + 1, -1)
        code_of[self.places] = np.arange(len(self.places))
        centres = np.append(np.nan_to_num(self.centres(groups), nan=-1), -1).astype(np.int64)
        return self.categories.column(np.where(codes < 0, -1, code_of[centres[groups.number]]))

    def centres(self, groups: RecordGroups) -> Floats:
        rows = _members(groups, self.coordinate)
        rows = rows[np.argsort(groups.number[rows], kind="stable")]
        leaves = self.coordinate[rows].astype(np.int64)
        return _medoids(leaves, groups.number[rows], groups.count, self.above, self.apart)


def attribute(records: Records, name: str, hierarchy: str | None) -> Attribute:
    """A column by what it holds."""
    if hierarchy is not None:
        return HierarchyAttribute(name, records.categories(name), parsed(hierarchy))
    if kind_of(name, records.array(name).type) == "numbers":
        return NumberAttribute(name, records.numbers([name])[:, 0])
    categories = records.categories(name)
    return OrderAttribute(name, categories) if categories.ordered else HierarchyAttribute(name, categories, None)


def space(attributes: Sequence[Attribute], rows: Ints) -> MixedPoints:
    """Some records as points in the coordinates of these columns."""
    trees = [one for one in attributes if isinstance(one, HierarchyAttribute)]
    points = np.stack([one.coordinate[rows] for one in _trees_last(attributes)], axis=1)
    levels, leaves = (max((one.above.shape[axis] for one in trees), default=1) for axis in (0, 1))
    above, apart = np.zeros((len(trees), levels, leaves), np.int64), np.zeros((len(trees), levels))
    for t, one in enumerate(trees):
        above[t, : one.above.shape[0], : one.above.shape[1]] = one.above
        apart[t, : len(one.apart)] = one.apart
    depth = np.array([len(one.apart) for one in trees], np.int64)
    return MixedPoints(np.ascontiguousarray(points), len(attributes) - len(trees), CategoryTrees(depth, above, apart))


def centres(attributes: Sequence[Attribute], groups: RecordGroups) -> Floats:
    """Where the groups stand in the coordinates of these columns; NaN where a group does not have one."""
    return np.stack([one.centres(groups) for one in _trees_last(attributes)], axis=1)


def _trees_last(attributes: Sequence[Attribute]) -> list[Attribute]:
    return sorted(attributes, key=lambda one: isinstance(one, HierarchyAttribute))


def _standardised(values: Floats) -> Floats:
    there = values[~np.isnan(values)]
    if not len(there):
        return values
    spread = float(there.std())
    centred: Floats = values - there.mean()
    return centred / spread if spread > 0 else centred


def _members(groups: RecordGroups, coordinate: Floats) -> Ints:
    """The records that count for their group's average of a column."""
    return np.flatnonzero(groups.counted & (groups.number >= 0) & ~np.isnan(coordinate))


def _means(values: Floats, groups: RecordGroups, weights: Floats | None) -> Floats:
    rows = _members(groups, values)
    weight = np.ones(len(rows)) if weights is None else weights[rows]
    number = groups.number[rows]
    total = np.bincount(number, weight, groups.count)
    with np.errstate(invalid="ignore"):  # a group without this column has no mean
        means: Floats = np.bincount(number, weight * values[rows], groups.count) / total
    return means


@compiled
def _medoids(leaves: Ints, number: Ints, count: int, above: Ints, apart: Floats) -> Floats:
    """Of each group, the leaf from which its members' squared distances add up to least; the lowest if there are several."""
    found, end = np.full(count, np.nan), 0
    while end < len(leaves):
        start = end
        while end < len(leaves) and number[end] == number[start]:
            end += 1
        least = np.inf
        for i in range(start, end):
            total = 0.0
            for j in range(start, end):
                level = len(apart)
                while above[level, leaves[i]] != above[level, leaves[j]]:
                    level -= 1
                total += apart[level] ** 2 if level < len(apart) else 0.0
            if total < least or (total == least and leaves[i] < found[number[start]]):
                found[number[start]], least = leaves[i], total
    return found
