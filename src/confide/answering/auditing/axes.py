"""The classes of one variable as a family of questions sees them: all its levels and cuts on one axis."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from confide.answering.auditing.asked import AskedTable, kin
from confide.arrays import Bools, Ints
from confide.model.catalog.dataset import Dataset, Variable

__all__ = ["Axis", "axes_of", "unlike"]


@dataclass(frozen=True, eq=False)
class Axis:
    """One variable cut as finely as any of the questions cuts it.

    `places` has, for each level or recode that is named, its place in each elementary class; `columns` are the stored variables
    from which an elementary class follows.
    """

    columns: tuple[str, ...]
    places: Mapping[str, Ints]

    @property
    def size(self) -> int:
        return len(next(iter(self.places.values())))

    def holds(self, name: str, places: Sequence[int]) -> Bools:
        """Which elementary classes have one of these places of a variable."""
        chosen = np.zeros(int(self.places[name].max(initial=0)) + 2, dtype=bool)
        chosen[[place for place in places if place < len(chosen) - 1]] = True
        return np.asarray(chosen[self.places[name]])  # the place -1 of no class finds the last entry, which is False

    def locate(self, stored: Ints) -> Ints:
        """The elementary class of records by their places of `columns`; -1 for what no declared class holds."""
        sizes = [
            int(max(self.places[name].max(), stored[:, at].max(initial=0))) + 1 for at, name in enumerate(self.columns)
        ]
        table = np.full(int(np.prod(sizes)), -1)
        mine = [self.places[name] for name in self.columns]
        held = np.logical_and.reduce([places >= 0 for places in mine])
        table[np.ravel_multi_index([places[held] for places in mine], sizes)] = np.flatnonzero(held)
        return np.asarray(table[np.ravel_multi_index(list(stored.T), sizes)])


def axes_of(questions: Iterable[AskedTable], dataset: Dataset) -> dict[str, Axis]:
    """An axis for each variable that the questions name, whatever level or recode of it they name."""
    named: dict[str, set[str]] = {}
    for name in frozenset[str]().union(*(asked.variables for asked in questions)):
        named.setdefault(kin(dataset, name), set()).add(name)
    return {key: _axis(tuple(sorted(names)), dataset) for key, names in sorted(named.items())}


def _axis(names: tuple[str, ...], dataset: Dataset) -> Axis:
    variables = [dataset.variables[name] for name in names]
    return _cuts(variables) if variables[0].numeric else _levels(names, dataset)


def _cuts(variables: Sequence[Variable]) -> Axis:
    """Recodes of one number, cut at all their cutpoints; after the intervals a class for missing, if any has one."""
    edges = np.array(sorted({cut for variable in variables for cut in variable.cutpoints}))
    places = {}
    for variable in variables:
        inside = np.searchsorted(variable.cutpoints, [-np.inf, *edges], side="right")
        missing = len(variable.cutpoints) + 1 if variable.missing else -1
        places[variable.name] = np.append(inside, missing)
    if all(found[-1] < 0 for found in places.values()):
        places = {name: found[:-1] for name, found in places.items()}
    finest = [v.name for v in variables if set(v.cutpoints) >= set(edges.tolist())]
    return Axis(tuple(finest[:1]) or tuple(places), places)


def _levels(names: Sequence[str], dataset: Dataset) -> Axis:
    """Levels of a hierarchy: the classes of the finest; where there are several breakdowns, their combinations."""
    above = {name: {level.name for level in dataset.chain(name)[1:]} for name in names}
    finest = [name for name in names if not any(name in coarser for coarser in above.values())]
    sizes = [len(dataset.variables[name].codes or ()) for name in finest]
    grid = dict(zip(finest, np.indices(sizes).reshape(len(sizes), -1), strict=True))
    places = {}
    for name in names:
        below = next(fine for fine in finest if name == fine or name in above[fine])
        places[name] = np.array(dataset.lift(below, name))[grid[below]]
    return Axis(tuple(finest), places)


def unlike(axis: Axis, questions: Iterable[AskedTable], *, split: bool) -> tuple[Ints, Ints]:
    """The group of each elementary class: those which no question tells apart are one group. And how well groups are apart.

    With `split`, classes of the tables tell apart too; else only the conditions of the universes. The second array has for
    each group the number of questions that tell it from the group that fewest do.
    """
    told: dict[tuple[str, tuple[int, ...]], Ints] = {}
    times: Counter[tuple[str, tuple[int, ...]]] = Counter()
    for asked in questions:
        own = {(name, places) for name, places in asked.conditions if name in axis.places}
        own |= {(name, ()) for name in asked.by if split and name in axis.places}
        times.update(own)
        for name, places in own - told.keys():
            told[name, places] = axis.holds(name, places).astype(np.int64) if places else axis.places[name]
    if not told:
        return np.zeros(axis.size, dtype=np.int64), np.zeros(1, dtype=np.int64)
    seen, group = np.unique(np.stack(list(told.values())), axis=1, return_inverse=True)
    return np.asarray(group).ravel(), _apart(seen, np.array([times[key] for key in told]))


def _apart(seen: Ints, times: Ints) -> Ints:
    """For each column the weight of the rows in which it differs from another column, at the least."""
    found = np.full(seen.shape[1], times.sum())
    for column in range(seen.shape[1]):
        differ = times @ (seen != seen[:, [column]])
        found[column] = np.delete(differ, column).min(initial=times.sum())
    return found
