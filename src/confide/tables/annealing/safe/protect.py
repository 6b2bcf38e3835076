"""SAFE (Giessing and Höhne 2011): protected microdata in which every combination of codes has no record or at least three.

The method of Höhne, as described there in section 2. First every combination gets a count it may
have; then counts are moved, by simulated annealing, so that the tables that matter deviate little and none of their cells
by more than a bound; last the search goes on around the few cells that still do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Floats, Ints
from confide.data.frame import Frame
from confide.data.release_key import ReleaseKey, chosen_key
from confide.errors import Mistake, nearest
from confide.tables.annealing.anneal import Aim, Allowed, Annealing, AnnealingTask, CoolingSchedule, generator
from confide.tables.annealing.safe.base import SafeBase, combined
from confide.tables.programs.deadline import Deadline, Progress
from confide.tables.table.inner_cells import Grouping
from confide.tables.table.spanning import check_variables

__all__ = ["safe"]

Places = NDArray[np.uint32]

BOUND = 5
"""The largest deviation to aim at, where nothing else is said."""

COOLING = CoolingSchedule(hot=45.0, cold=2.5, sweeps=1200, penalty=30.0)
LAST = CoolingSchedule(hot=6.0, cold=2.0, sweeps=400, penalty=60.0)

ROUNDS = 20
"""How often the weights are fitted to the means of all codes in turn."""

MOST_ENTRIES = 1_000_000_000
"""Combinations times controlled tables: more would not fit in memory."""

MOST_TABLES = 100_000
"""As many controlled tables are laid out."""

Controlled = int | Sequence[Sequence[str]] | Mapping[tuple[str, ...], int]
"""All tables by so many variables; or these; or these, each with the largest deviation to aim at."""


def safe(
    frame: Any,
    *,
    by: Sequence[str],
    controlled: Controlled = 3,
    bound: int = BOUND,
    weight: str | None = None,
    js: int = 2,
    key: ReleaseKey | None = None,
    teaching_seed: int | None = None,
    sweeps: float = COOLING.sweeps,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> SafeBase:
    """Give protected microdata: of every combination of the variables, no record or more than `js`.

    Every table made of it adds up, agrees with every other, and has no count from 1 to js. `controlled` says which tables
    stay near the truth: all by up to so many variables, a list of them, or a mapping from tables to the largest
    deviation in each; `bound` is that of the others and of the total. More `sweeps` make deviations smaller.

    Promise: no combination that is not in the data; the same data and key give the same base, unless a time limit or an
    interrupt ends the search early, which gives the best so far. The bound is an aim: `largest` says what was reached.
    With a `weight` every code keeps the mean weight of its records, if these are more than js.

    >>> people = {"sex": list("fmfmfmfm"), "town": list("aabbccaa")}
    >>> base = safe(people, by=["sex", "town"], controlled=1, teaching_seed=1)
    >>> all(count == 0 or count >= 3 for count in base.count)
    True
    """
    source = Frame.read(frame)
    check_variables(by, {})
    taken = [name for name in by if name in ("before", "count", "weight" if weight else "")]
    if taken:
        raise Mistake(f"A base has a column {taken[0]!r} of its own.", suggestions=["Give the variable another name."])
    if not len(source):
        raise Mistake("There are no records.")
    if js < 1 or js % 1 or bound < 0 or not 0 < sweeps < np.inf:
        raise Mistake("SAFE takes a whole js of 1 or more, a bound of 0 or more and sweeps of more than 0.")
    bounds = _bounds(tuple(by), controlled, bound)
    given = chosen_key("SAFE", key, teaching_seed)
    weights = None if weight is None else _weighed(source, weight)
    columns = [source.coded(name) for name in by]
    records = np.column_stack([column.places for column in columns])
    _, first, at, before = np.unique(combined(records), return_index=True, return_inverse=True, return_counts=True)
    places, deadline = records[first], Deadline(time_limit, progress)
    seed = given.number("safe", tuple(by), before.tobytes())
    with deadline.running():
        annealing = _begun(
            places, before, {tuple(map(by.index, table)): most for table, most in bounds.items()}, js, seed
        )
        annealing.cool(replace(COOLING, sweeps=sweeps), deadline, until=0.9)
        annealing.settle(LAST, deadline, rounds=10)
    base = SafeBase(
        tuple(by), tuple(tuple(column.codes) for column in columns), places, before, annealing.value, tuple(bounds)[1:],
        finished=deadline.undisturbed, notes=tuple(_notes(annealing, deadline)),
    )  # fmt: skip
    if weights is None:
        return base
    return replace(base, weight=_weights(base, np.bincount(at, weights).astype(np.float64), js))


def _weighed(source: Frame, weight: str) -> Floats:
    weights = source.numbers(weight)
    if (weights < 0).any() or not weights.any():
        raise Mistake(f"The weights in {weight!r} are negative or all 0.", suggestions=["Weights are 0 or more."])
    return weights


def _bounds(by: tuple[str, ...], controlled: Controlled, bound: int) -> dict[tuple[str, ...], int]:
    """The controlled tables with the largest deviation to aim at in each; first of all the table of the total."""
    if isinstance(controlled, int | float):
        if controlled < 1 or controlled % 1:
            raise Mistake("Control the tables by at least one variable.", suggestions=["Give controlled of 1 or more."])
        sizes = range(1, min(int(controlled), len(by)) + 1)
        if sum(comb(len(by), size) for size in sizes) > MOST_TABLES:
            raise _too_many_tables()
        tables = [table for size in sizes for table in combinations(by, size)]
        return dict.fromkeys([(), *tables], bound)
    if not isinstance(controlled, Mapping | Sequence):
        raise Mistake("Say which tables to control.", suggestions=["Give controlled=3, or a list of tables."])
    given = controlled if isinstance(controlled, Mapping) else dict.fromkeys(_listed(controlled), bound)
    for table, most in given.items():
        unknown = [name for name in table if name not in by]
        if unknown:
            raise Mistake(
                f"A controlled table is by variables of the base; {unknown[0]!r} is none.",
                suggestions=nearest(unknown[0], by),
            )
        if most < 0:
            raise Mistake("The largest deviation of a controlled table is 0 or more.")
    return {(): bound} | {tuple(sorted(table, key=by.index)): most for table, most in given.items() if table}


def _too_many_tables() -> Mistake:
    return Mistake("These are too many controlled tables.", suggestions=["Control fewer, or by fewer variables."])


def _listed(controlled: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    for table in [controlled] if isinstance(controlled, str) else controlled:
        if isinstance(table, str):
            raise Mistake(
                f"A controlled table is a list of variables, not {table!r}.", suggestions=[f"Give [{table!r}]."]
            )
        yield tuple(table)


def _begun(places: Ints, before: Ints, bounds: Mapping[tuple[int, ...], int], js: int, seed: int) -> Annealing:
    """A search that begins with counts the combinations may have, drawn so that none is expected to change."""
    if len(places) * len(bounds) > MOST_ENTRIES:
        raise _too_many_tables()
    low = js + 1
    kinds: list[int] = []
    sums = np.empty((len(places), len(bounds)), dtype=np.uint32)
    for column, variables in enumerate(bounds):
        found, cell = np.unique(combined(places[:, list(variables)]), return_inverse=True)
        sums[:, column] = cell + len(kinds)
        kinds += [column] * len(found)
    draws = generator(seed).random(len(before))
    start = np.where(before < low, np.where(draws * low < before, low, 0), before)
    distance = np.zeros(len(kinds), dtype=np.int64)
    for cells in sums.T:
        distance += np.bincount(cells, start - before, minlength=len(kinds)).astype(np.int64)
    none = np.zeros(len(before), dtype=np.int64)
    allowed = Allowed(none, none + np.iinfo(np.int32).max, low)
    aim = _aim(np.array(kinds), np.array(list(bounds.values())))
    task = AnnealingTask(sums, _siblings(places), allowed, aim)
    return Annealing(task, start, distance, seed=seed)


def _siblings(places: Ints) -> Grouping:
    """Combinations that differ in one variable: a change of two that cancels leaves all tables without it as they are."""
    variables = places.shape[1]
    groups = np.empty(places.shape, dtype=np.int64)
    for variable in range(variables):
        others = [other for other in range(variables) if other != variable]
        groups[:, variable] = np.unique(combined(places[:, others]), return_inverse=True)[1] * variables + variable
    return Grouping.number(groups)


def _aim(kinds: Ints, bounds: Ints) -> Aim:
    """Small squares, and none beyond the bound: a kind of sum for each bound."""
    most, kind = np.unique(bounds, return_inverse=True)

    def weigh(distance: Ints) -> tuple[Floats, Floats]:
        away = np.abs(distance).astype(np.float64)
        return np.tile(away**2, (len(most), 1)), np.maximum(away - most[:, None], 0.0) ** 2

    return Aim(kind[kinds], weigh)


def _weights(base: SafeBase, total: Floats, js: int) -> Floats:
    """The weight of a record of each combination, a product of factors of its codes, so that codes keep their means.

    The weight of a single record never shows: a code with few records has the mean of all.
    """
    overall = total.sum() / base.before.sum()
    weight = np.full(len(total), overall)
    for code in [*base.places.T] * ROUNDS:
        records, count = np.bincount(code, base.before), np.bincount(code, base.count)
        mean = np.where(records > js, np.bincount(code, total) / np.maximum(records, 1), overall)
        now = np.bincount(code, base.count * weight)
        factor = np.divide(mean * count, now, out=np.ones(len(now)), where=now > 0)
        weight *= factor[code]
    return weight


def _notes(annealing: Annealing, deadline: Deadline) -> Iterator[str]:
    if not deadline.undisturbed:
        yield "The search was ended before it was done: smaller deviations may be possible."
    beyond = int(annealing.beyond.sum())
    if beyond:
        yield f"Controlled cells that deviate by more than the bound: {beyond}. More sweeps or fewer tables may help."
    if not annealing.value.any():
        yield "No record is left: all combinations are too rare."
