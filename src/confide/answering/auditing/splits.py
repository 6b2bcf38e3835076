"""Groups of codes of one variable that cut each other, and recodes that do not nest: ways to average and to cut slivers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from confide.answering.auditing.asked import AskedTable, kin
from confide.answering.auditing.axes import Axis, axes_of
from confide.arrays import Bools
from confide.model.catalog.dataset import Dataset

__all__ = ["CutVariable", "cutting_splits"]

FEWEST = 3
"""Fewer splits than this that cut each other are no pattern."""


@dataclass(frozen=True)
class CutVariable:
    """One variable, over one table, split in `splits` ways that cut each other, by these questions."""

    variable: str
    table: tuple[str, ...]
    splits: int
    questions: tuple[AskedTable, ...]


def cutting_splits(questions: Sequence[AskedTable], dataset: Dataset) -> Iterator[CutVariable]:
    """The variables that questions over one table (by whatever levels of its variables) split in ways that cut each other."""
    tables: dict[tuple[str, ...], list[AskedTable]] = {}
    for asked in questions:
        tables.setdefault(tuple(sorted({kin(dataset, name) for name in asked.by})), []).append(asked)
    for table, members in tables.items():
        if len(members) >= FEWEST:
            for key, axis in axes_of(members, dataset).items():
                yield from _cut(key, axis, table, members)


def _cut(key: str, axis: Axis, table: tuple[str, ...], members: Sequence[AskedTable]) -> Iterator[CutVariable]:
    sets: dict[bytes, tuple[Bools, set[AskedTable]]] = {}
    for asked in members:
        for part in _parts(axis, asked):
            # A group and the codes it leaves out are one split.
            side = part if part[0] else ~part
            sets.setdefault(side.tobytes(), (side, set()))[1].add(asked)
    crossing = _crossing(np.array([side for side, _ in sets.values()], dtype=bool).reshape(-1, axis.size))
    if crossing.sum() >= FEWEST:
        behind = set[AskedTable]().union(*(who for (_, who), cut in zip(sets.values(), crossing, strict=True) if cut))
        yield CutVariable(key, table, int(crossing.sum()), tuple(sorted(behind, key=lambda asked: asked.number)))


def _parts(axis: Axis, asked: AskedTable) -> Iterator[Bools]:
    """The groups of classes that a question makes: by conditions, and by the classes of its table."""
    for name, places in asked.conditions:
        if name in axis.places:
            yield axis.holds(name, places)
    for name in asked.by:
        if name in axis.places and len(axis.places) > 1:
            yield from (axis.places[name] == place for place in np.unique(axis.places[name]))


def _crossing(sides: Bools) -> Bools:
    """Which splits cut another one: all four parts of the two have a class."""
    inside, outside = sides.astype(np.int64), (~sides).astype(np.int64)
    parts = (inside @ inside.T, inside @ outside.T, outside @ inside.T, outside @ outside.T)
    return np.asarray(np.logical_and.reduce([part > 0 for part in parts]).any(axis=1))
