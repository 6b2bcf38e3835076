"""Who is exposed: alone, or nearly, in a cross of a few keys that the rules let pass; and who dominates a total there.

The rules come first and the list follows from them: a cross of keys counts if a question about it and a confidential class
would be answered (then its cells are read by class), or one about it and a number (`tables.mean_cell`).

Whoever has the answers before and after an update has those about its newcomers alone. So everybody is looked at among those who
came with them, which finds all who are alone in the whole file, too.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import comb, prod

import numpy as np

from confide.arrays import Bools, Floats, Narrow
from confide.data.threads import cores_for, in_order
from confide.engines import Coded
from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.model.policy import Policy
from confide.records.cells import UnitCells
from confide.records.traits import Trait, class_number, key_traits

__all__ = ["Exposed", "Exposure", "KeyCross", "confidential_numbers", "find_exposed"]

MOST_CROSSES = 200_000
"""So many crosses of keys are looked at, those of about 100 keys: each takes some tenths of a millisecond for a thousand records."""

LEAST_MEAN = 0.25
"""Where the policy asks for less, crosses with more than four declared cells a unit are still not looked at."""


@dataclass(frozen=True)
class KeyCross:
    """Some keys, each at one of its levels: `traits` and `levels` are places, the coarsest level first."""

    traits: tuple[int, ...]
    levels: tuple[int, ...]
    names: tuple[str, ...]
    cells: int


@dataclass(frozen=True, eq=False)
class Exposed:
    """Records that a cross exposes."""

    cross: KeyCross
    rows: Narrow


@dataclass(frozen=True, eq=False)
class Exposure:
    """What the keys of a data set expose: whose classes are read in which crosses, and whose numbers are exposed in some.

    `crosses` are all that the rules let pass; `alone` has those in which a number is read, with everybody who is alone there.
    """

    traits: tuple[Trait, ...]
    crosses: tuple[KeyCross, ...]
    found: tuple[Exposed, ...]
    alone: tuple[Exposed, ...]
    numbers: dict[str, Bools]
    size: int

    @cached_property
    def exposed(self) -> Bools:
        """The records whose classes are read."""
        return self._in(self.found)

    @cached_property
    def single(self) -> Bools:
        """The records whose numbers are read, not counting those that only dominate a total."""
        return self._in(self.alone)

    def among(self, some: Bools) -> "Exposure":
        """The same of some records only; they keep their numbers."""
        found, alone = (
            tuple(Exposed(one.cross, rows) for one in crosses if len(rows := one.rows[some[one.rows]]))
            for crosses in (self.found, self.alone)
        )
        return replace(self, found=found, alone=alone, numbers={name: of & some for name, of in self.numbers.items()})

    def _in(self, crosses: tuple[Exposed, ...]) -> Bools:
        some = np.zeros(self.size, bool)
        for one in crosses:
            some[one.rows] = True
        return some


def confidential_numbers(dataset: Dataset) -> list[Variable]:
    """The numbers that get noise."""
    return [v for v in dataset.variables.values() if v.measurable and v.role is Role.CONFIDENTIAL]


def find_exposed(coded: Coded, dataset: Dataset, policy: Policy) -> Exposure:
    """Look through all crosses of up to `records.keys` keys that the rules let pass."""
    traits, rules, cells = key_traits(dataset, coded), policy.records, UnitCells(coded, dataset, cohorts=True)
    measured = confidential_numbers(dataset)
    numbers = {v.name: np.zeros(coded.records.num_rows, bool) for v in measured}
    limit = cells.units / max(policy.tables.mean_cell, LEAST_MEAN)
    by_class = limit / _least_classes(dataset)
    found: list[Exposed] = []
    everybody: list[Exposed] = []
    by_traits: dict[tuple[int, ...], list[Exposed]] = {}
    crosses = _crosses(traits, dataset, keys=rules.keys, limit=limit)
    told = np.zeros(coded.records.num_rows, bool)
    looks = (partial(cells.alone, cross.names, rules.alone) for cross in crosses)
    for cross, alone in zip(crosses, in_order(looks, cores=cores_for(coded.records.num_rows)), strict=True):
        everybody += [Exposed(cross, alone)] if measured and len(alone) else []
        if cross.cells <= by_class and len(alone):
            rows = _untold(alone, _parts(by_traits, cross), told)
            if len(rows):
                found.append(Exposed(cross, rows))
                by_traits.setdefault(cross.traits, []).append(found[-1])
    if rules.dominance < 1:
        for name, dominant in numbers.items():
            _mark_dominant(dominant, cells, [cross.names for cross in crosses], _sizes(coded, name), rules.dominance)
    exposure = Exposure(traits, tuple(crosses), tuple(found), tuple(everybody), numbers, coded.records.num_rows)
    for dominant in numbers.values():
        dominant |= exposure.single
    return exposure


def _sizes(coded: Coded, name: str) -> Floats:
    """What each record contributes to a total, whatever its sign."""
    return np.asarray(np.abs(np.nan_to_num(coded.numbers(name))) * coded.weights)


def _mark_dominant(
    dominant: Bools, cells: UnitCells, crosses: Sequence[tuple[str, ...]], values: Floats, limit: float
) -> None:
    """Mark the records whose unit has more than a share `limit` of the sum over a cell of a cross."""
    for names in crosses:
        for rows, shares in cells.shares(names, values):
            dominant[rows] |= shares > limit


def _crosses(traits: tuple[Trait, ...], dataset: Dataset, *, keys: int, limit: float) -> list[KeyCross]:
    """Those with at most `limit` declared cells, those of fewer keys first, then the coarser."""
    if sum(comb(len(traits), size) for size in range(1, keys + 1)) > MOST_CROSSES:
        raise Mistake(
            f"{dataset.name!r} has {len(traits)} keys, too many to look at every {keys} of them together.",
            suggestions=[
                "Declare as keys what others may know of a unit, and the rest as 'other' or 'confidential'; or leave columns out, "
                "of dataset.toml or, where that is only drafted, of the file."
            ],
        )
    classes = {name: class_number(dataset.variables[name]) for trait in traits for name in trait.levels}

    def each() -> Iterator[KeyCross]:
        for size in range(1, keys + 1):
            for chosen in itertools.combinations(range(len(traits)), size):
                for levels in itertools.product(*(range(len(traits[t].levels)) for t in chosen)):
                    names = tuple(traits[t].levels[level] for t, level in zip(chosen, levels, strict=True))
                    yield KeyCross(chosen, levels, names, prod(classes[n] for n in names))

    return sorted((c for c in each() if c.cells <= limit), key=lambda c: (len(c.traits), c.cells))


def _least_classes(dataset: Dataset) -> int:
    """The classes of the coarsest variable that is no key: what a question must have room for that reads somebody's class."""
    secrets = [v for v in dataset.variables.values() if v.classifies and v.role is not Role.KEY]
    return max(2, min((class_number(v) for v in secrets), default=2))


def _parts(found: Mapping[tuple[int, ...], list[Exposed]], cross: KeyCross) -> Iterator[Exposed]:
    """What parts of the cross, at the same or coarser levels, expose already."""
    level = dict(zip(cross.traits, cross.levels, strict=True))
    for part in itertools.chain(*(itertools.combinations(cross.traits, n + 1) for n in range(len(level)))):
        for one in found.get(part, ()):
            if all(own <= level[t] for t, own in zip(part, one.cross.levels, strict=True)):
                yield one


def _untold(rows: Narrow, parts: Iterable[Exposed], told: Bools) -> Narrow:
    """The rows that no part exposes already; `told` is room for a mark of each record, and clean before and after."""
    known = list(parts)
    for one in known:
        told[one.rows] = True
    left = rows[~told[rows]]
    for one in known:
        told[one.rows] = False
    return left
