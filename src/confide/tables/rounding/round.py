"""Rounding tables: controlled (Cox 1987; Salazar 2006), small counts only (Langsrud and Heldal 2018), or at random."""

from collections.abc import Callable

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.release_key import ReleaseKey, chosen_key
from confide.errors import Mistake, nearest
from confide.tables.annealing.anneal import Aim, Allowed, CoolingSchedule, annealing_over, generator
from confide.tables.changed import Changed
from confide.tables.programs.deadline import Deadline, Progress
from confide.tables.rounding.controlled import Units, controlled
from confide.tables.table.given import given_table
from confide.tables.table.inner_cells import inner_cells
from confide.tables.table.table import Table

__all__ = ["round"]


LARGEST = 1000
"""No count below this is small."""

SMALL = CoolingSchedule(hot=20.0, cold=1.0, sweeps=3000, penalty=10.0)


def round(
    table: Table,
    *,
    base: float = 3,
    method: str = "controlled",
    key: ReleaseKey | None = None,
    teaching_seed: int | None = None,
    time_limit: float | None = 60.0,
    progress: Progress | None = None,
) -> Changed:
    """Give the table with rounded values.

    "controlled": every cell goes to one of its two neighbouring multiples of the base, multiples stay, the table adds up,
    and the sum of all changes is least, or near it in large tables (Cox 1987; Salazar 2006). Tables by three and more
    variables may have no such rounding; then some cells go farther, and `notes` say how many.
    "small": inner counts below the base go to 0 or to the base, other inner cells stay, and totals are sums of them that
    differ as little as can be found (small count rounding: Langsrud and Heldal 2018).
    "random": each cell goes up or down by itself, with probabilities that leave its expected value as it is. Such a table
    does not add up.

    Promise: after "controlled" and "small" the table adds up and zeros are zeros. The same key gives the same table
    unless the time runs out; `teaching_seed`, a plain number, is for tests and teaching.

    >>> t = Table.from_microdata({"sex": ["f"] * 4 + ["m"] * 9}, by=["sex"])
    >>> round(t, base=5, teaching_seed=1).table.value.tolist()
    [15.0, 5.0, 10.0]
    """
    methods: dict[str, Callable[[Units, int, Deadline], Changed]] = {
        "controlled": _controlled,
        "small": _small,
        "random": _random,
    }
    if method not in methods:
        known = [f"Choose from {', '.join(methods)}."]
        raise Mistake(f"There is no rounding {method!r}.", suggestions=nearest(method, methods) or known)
    deadline, given = Deadline(time_limit, progress), given_table(table)
    units = Units(given, base)
    drawn = chosen_key("Rounding", key, teaching_seed).number("round", method, float(base), given.value.tobytes())
    with deadline.running():
        return methods[method](units, drawn, deadline)


def _controlled(units: Units, seed: int, deadline: Deadline) -> Changed:
    found, finished = controlled(units, seed=seed, deadline=deadline)
    astray = int(units.astray(found).sum())
    notes = [
        "The search was ended before it was done: a nearer table may exist." * (not finished),
        f"No rounding was found with all cells at neighbouring multiples; cells that are not: {astray}." * (astray > 0),
    ]
    return Changed.to(units.values(found), of=units.table, finished=finished, notes=filter(None, notes))


def _random(units: Units, seed: int, deadline: Deadline) -> Changed:
    up = generator(seed).random(len(units.table)) < units.exact - units.below
    note = "Cells are rounded one by one: totals may differ from the sums of their parts."
    return Changed.to(units.values(units.below + (up & (units.over > 0))), of=units.table, notes=(note,))


def _small(units: Units, seed: int, deadline: Deadline) -> Changed:
    """By annealing over the small inner counts."""
    table, base = units.table, int(units.base)
    counts = np.rint(table.value).astype(np.int64)
    if base != units.base or base > LARGEST or (counts != table.value).any() or (counts < 0).any():
        raise Mistake(
            f"Small counts are rounded to a whole base of at most {LARGEST}.",
            suggestions=["Give a table of counts, and base=3."],
        )
    inner = inner_cells(table.relations)
    if inner is None:
        raise Mistake("Linked tables without common detail have no inner counts.", suggestions=["Use 'controlled'."])
    now = counts[inner.cells]
    small = (now > 0) & (now < base)
    allowed = Allowed(np.where(small, 0, now), np.where(small, base, now), base)

    def weigh(distance: Ints) -> tuple[Floats, Floats]:
        away = np.abs(distance).astype(np.float64)[None, :]
        return away**2, np.maximum(away - base, 0.0) ** 2

    draws = generator(seed).random(len(now))
    start = np.where(small, np.where(draws * base < now, base, 0), now)
    aim = Aim(np.zeros(len(counts), dtype=np.int64), weigh)
    annealing = annealing_over(inner, start, counts, allowed, aim, seed=seed)
    annealing.cool(SMALL, deadline)
    return Changed.to((counts + annealing.distance).astype(np.float64), of=table, finished=deadline.undisturbed)
