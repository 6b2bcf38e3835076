"""A family of questions over one cross: which cells of it each question adds up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from confide.answering.auditing.asked import AskedTable, kin
from confide.answering.auditing.axes import Axis, axes_of, unlike
from confide.arrays import Bools, Ints
from confide.model.catalog.dataset import Dataset

__all__ = ["QuestionSystem", "marks_of"]


@dataclass(frozen=True, eq=False)
class QuestionSystem:
    """Questions that add up cells of one cross; cells that no question tells apart are one cell.

    `apart` are variables whose classes every question tells, over the same universe for each: what the questions say
    is then the same for each of their classes, so it is worked out once. `groups` are the other variables, and `told` how many
    questions tell a class of each from the one that is hardest to tell from it, for the class for which this is most.
    """

    questions: tuple[AskedTable, ...]
    axes: Mapping[str, Axis]
    groups: Mapping[str, Ints]
    apart: tuple[str, ...]
    told: int = 0

    @classmethod
    def by_table(cls, questions: Sequence[AskedTable], dataset: Dataset) -> "QuestionSystem":
        """Questions of one table, whose universes differ: each class of the table is apart."""
        axes = axes_of(questions, dataset)
        named = {kin(dataset, name) for asked in questions for name, _ in asked.conditions}
        groups = {key: unlike(axes[key], questions, split=False)[0] for key in sorted(named)}
        return cls(tuple(questions), axes, groups, questions[0].by)

    @classmethod
    def by_cross(cls, questions: Sequence[AskedTable], dataset: Dataset) -> "QuestionSystem":
        """Questions of any tables within one cross."""
        axes = axes_of(questions, dataset)
        named = {kin(dataset, name) for asked in questions for name, _ in asked.conditions}
        always = set(questions[0].by).intersection(*(asked.by for asked in questions))
        apart = tuple(sorted(name for name in always if kin(dataset, name) not in named))
        rest = [key for key in axes if key not in {kin(dataset, name) for name in apart}]
        found = {key: unlike(axes[key], questions, split=True) for key in rest}
        told = min((int(times.max()) for group, times in found.values() if group.any()), default=len(questions))
        return cls(tuple(questions), axes, {key: group for key, (group, _) in found.items()}, apart, told)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(group.max()) + 1 for group in self.groups.values())

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @property
    def columns(self) -> tuple[str, ...]:
        """The stored variables from which the cells follow."""
        return tuple(sorted({name for axis in self.axes.values() for name in axis.columns}))

    @property
    def elementary(self) -> int:
        """How many cells the cross has when every class is taken by itself."""
        return prod(axis.size for axis in self.axes.values())

    @cached_property
    def merged(self) -> Ints:
        """How many elementary cells of the grouped variables each cell takes together."""
        found = np.ones(1, dtype=np.int64)
        for group in self.groups.values():
            found = np.multiply.outer(found, np.bincount(group)).ravel()
        return found

    @cached_property
    def universes(self) -> Bools:
        """Which cells each question is about: questions by cells."""
        return np.stack([self._inside(asked).ravel() for asked in self.questions])

    @property
    def rows_needed(self) -> int:
        """At most so many rows `rows` has."""
        return sum(prod(self._classes(name) for name in self._told(asked)) for asked in self.questions)

    def rows(self) -> tuple[Bools, Ints]:
        """The cells that each answered number adds up, each set of cells once, and the question it is from.

        The same set has the same protected number whoever asks, so asking again tells nothing.
        """
        found, sources = [], []
        for at, asked in enumerate(self.questions):
            label, inside = self._labels(asked), self.universes[at]
            for place in np.unique(label[inside & (label >= 0)]):
                found.append(inside & (label == place))
                sources.append(at)
        rows = np.array(found, dtype=bool).reshape(-1, self.cells)
        first = np.unique(marks_of(rows), return_index=True)[1]
        return rows[np.sort(first)], np.array(sources, dtype=np.int64)[np.sort(first)]

    def place(self, stored: Mapping[str, Ints]) -> tuple[Ints, Ints]:
        """For records or cells of the store, by their places: the class of `apart`, and the cell; -1 if it has none."""
        located = {
            key: axis.locate(np.stack([stored[name] for name in axis.columns], axis=1))
            for key, axis in self.axes.items()
        }
        known = np.logical_and.reduce([at >= 0 for at in located.values()])
        cell = np.zeros(len(known), dtype=np.int64)
        for (key, group), size in zip(self.groups.items(), self.shape, strict=True):
            cell = cell * size + group[located[key]]
        label = np.zeros(len(known), dtype=np.int64)
        for key, axis in self.axes.items():
            for name in sorted(set(axis.places) & set(self.apart)):
                label = label * (int(axis.places[name].max()) + 2) + axis.places[name][located[key]] + 1
        return label, np.where(known, cell, -1)

    @cached_property
    def _first(self) -> dict[str, Ints]:
        """An elementary class of each group, by variable."""
        return {key: np.unique(group, return_index=True)[1] for key, group in self.groups.items()}

    def _told(self, asked: AskedTable) -> list[str]:
        return [name for name in asked.by if name not in self.apart]

    def _classes(self, name: str) -> int:
        return next(int(axis.places[name].max()) + 1 for axis in self.axes.values() if name in axis.places)

    def _along(self, name: str) -> Ints:
        """The place of a variable in each cell, in the shape of its own axis."""
        for at, key in enumerate(self.groups):
            if name in self.axes[key].places:
                return np.asarray(self._lie(self.axes[key].places[name][self._first[key]], at))
        raise KeyError(name)

    def _lie(self, values: Any, at: int) -> Any:
        """Values of the groups of one variable, along its axis."""
        return values.reshape([-1 if other == at else 1 for other in range(len(self.groups))])

    def _inside(self, asked: AskedTable) -> Bools:
        if not asked.universe.boxes:
            return np.ones(self.shape, dtype=bool)
        inside = np.zeros(self.shape, dtype=bool)
        for box in asked.universe.boxes:
            part = np.ones(self.shape, dtype=bool)
            for name, places in box:
                part &= self._held(name, places)
            inside |= part
        return inside

    def _held(self, name: str, places: tuple[int, ...]) -> Bools:
        """The groups that have one of these places of a variable, along its axis."""
        at, key = next((at, key) for at, key in enumerate(self.groups) if name in self.axes[key].places)
        return np.asarray(self._lie(self.axes[key].holds(name, places)[self._first[key]], at))

    def _labels(self, asked: AskedTable) -> Ints:
        """Which number of the table each cell goes into; -1 for none."""
        label, lost = np.zeros(self.shape, dtype=np.int64), np.zeros(self.shape, dtype=bool)
        for name in self._told(asked):
            places = self._along(name)
            label = label * self._classes(name) + places
            lost = lost | (places < 0)
        return np.where(lost, -1, label).ravel()


def marks_of(rows: Bools) -> Ints:
    """A mark for each row of cells: different sets have different marks, and the mark of a symmetric difference is the xor.

    The keys are always the same, since nothing secret is marked: two sets share a mark by chance with probability 2^-63.
    """
    keys = np.random.default_rng(1).integers(0, 2**63 - 1, rows.shape[1], dtype=np.int64)
    found = np.zeros(len(rows), dtype=np.int64)
    for at in range(0, len(rows), 256):
        found[at : at + 256] = np.bitwise_xor.reduce(np.where(rows[at : at + 256], keys, 0), axis=1)
    return found
