"""What Drop q samples from: the parts of a universe, the same whatever words described its units.

Promise: two universes that select the same units by the same variables, or by coarser or finer levels or recodes of them, have
the same strata; so idle words, classes that never occur and empty combinations of classes draw nothing anew. To this end only cells
that hold somebody count, and a variable stands aside, or rises to a coarser level, wherever the others tell the selected
from the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide.answering.universe.census import Census
from confide.answering.universe.resolve import Resolved, fold
from confide.arrays import Bools, Ints
from confide.model.catalog.dataset import Dataset
from confide.model.evidence import Box

__all__ = ["strata"]


@dataclass(frozen=True)
class _Axis:
    """A variable of the implicit table at one of its levels: the place of each occupied cell."""

    name: str
    level: str
    places: Ints

    def keep(self, rows: Bools) -> "_Axis":
        return _Axis(self.name, self.level, self.places[rows])


def strata(universe: Resolved, census: Census, dataset: Dataset) -> list[Box]:
    """One box for each combination of classes of the categorical variables, bins of cutpoint variables combined."""
    chosen = np.zeros(len(census.table.records), dtype=bool)
    for box in universe.boxes or ((),):
        chosen |= census.inside(box)
    names = {name for box in universe.boxes for name, _ in box}
    named = sorted(names, key=lambda name: dataset.variables[dataset.root(name)].column)
    axes = [_Axis(name, name, census.table.places[:, census.variables.index(name)]) for name in named]
    axes = _coarsest(axes, chosen, dataset)
    below = {axis.level: axis.name for axis in axes}
    boxes = _parts(axes, chosen, dataset)
    return sorted(tuple(_lowered(level, places, below[level], dataset) for level, places in box) for box in boxes)


def _lowered(level: str, places: Sequence[int], name: str, dataset: Dataset) -> tuple[str, tuple[int, ...]]:
    return name, tuple(place for place, up in enumerate(dataset.lift(name, level)) if up in places)


def _coarsest(axes: list[_Axis], chosen: Bools, dataset: Dataset) -> list[_Axis]:
    """The axes that are needed to tell the selected cells from the others, each at the coarsest level that does."""
    for axis in list(axes):
        at = axes.index(axis)
        for level in reversed(dataset.coarser(axis.name)):
            lifted = _Axis(axis.name, level.name, np.array(dataset.lift(axis.name, level.name))[axis.places])
            if _tells([*axes[:at], lifted, *axes[at + 1 :]], chosen):
                axes = [*axes[:at], lifted, *axes[at + 1 :]]
                break
        if _tells([*axes[:at], *axes[at + 1 :]], chosen):
            axes = [*axes[:at], *axes[at + 1 :]]
    return axes


def _tells(axes: Sequence[_Axis], chosen: Bools) -> bool:
    """Whether no two cells in the same place of these axes are one selected and one not."""
    if not axes:
        return bool(chosen.all() or not chosen.any())
    _, cell = np.unique(np.column_stack([axis.places for axis in axes]), axis=0, return_inverse=True)
    selected, size = np.bincount(cell.ravel(), weights=chosen), np.bincount(cell.ravel())
    return bool(((selected == 0) | (selected == size)).all())


def _parts(axes: Sequence[_Axis], chosen: Bools, dataset: Dataset) -> tuple[Box, ...]:
    """Disjoint boxes of levels that cover the selected cells. Places that leave the same rest are taken together."""
    if chosen.all() or not chosen.any():
        return ((),) if chosen.any() else ()
    first, rest = axes[0], axes[1:]
    occurring = np.unique(first.places).tolist()
    merged: dict[tuple[Box, ...], list[int]] = {}
    for place in occurring:
        rows = first.places == place
        merged.setdefault(_parts([axis.keep(rows) for axis in rest], chosen[rows], dataset), []).append(place)
    boxes: list[Box] = []
    for residual, places in merged.items():
        if len(places) == len(occurring):
            return residual
        for group in _groups(first.level, frozenset(places), frozenset(occurring), dataset):
            boxes += [((first.level, group), *box) for box in residual]
    return tuple(sorted(boxes))


def _groups(level: str, places: frozenset[int], occurring: frozenset[int], dataset: Dataset) -> list[tuple[int, ...]]:
    variable = dataset.variables[level]
    if variable.binned:
        return [tuple(sorted(places))]
    codes = variable.codes
    assert codes is not None
    return fold(variable, places, dataset, idle=frozenset(range(len(codes))) - occurring)
