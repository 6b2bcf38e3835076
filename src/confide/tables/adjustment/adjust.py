"""Adjusting tables: the nearest one that adds up, with sensitive cells moved away and no small counts left."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

import numpy as np

from confide.arrays import Bools, Floats
from confide.data.release_key import ReleaseKey, chosen_key
from confide.errors import Mistake, nearest
from confide.tables.adjustment.cta import Wanted, nearest_table
from confide.tables.annealing.additivity import CountLimits, additive_counts
from confide.tables.changed import Changed
from confide.tables.programs.deadline import Deadline, Progress
from confide.tables.rounding.controlled import Units, controlled
from confide.tables.table.decimals import decimals_of
from confide.tables.table.given import given_table
from confide.tables.table.inner_cells import InnerCells, inner_cells
from confide.tables.table.table import Status, Table

__all__ = ["adjust"]


COSTS = ("L1", "L2", "Linf")

SMALL = 2
"""The largest count that may not appear, where nothing else is said."""

LARGEST = 2.0**53
"""Whole numbers beyond this are not all told apart."""

LAST = 10.0
"""So many seconds may be spent on decimals after the time is over."""

LITTLE = 1e-3
"""A primary cell without levels moves by this share of its value, or by 1 if values are whole."""


def adjust(
    table: Table,
    *,
    original: Table | None = None,
    D: int | None = None,
    js: int | None = None,
    cost: str = "L1",
    weights: Floats | None = None,
    integer: bool | None = None,
    key: ReleaseKey | None = None,
    teaching_seed: int | None = None,
    time_limit: float | None = 60.0,
    progress: Progress | None = None,
) -> Changed:
    """Give the nearest table that adds up: every primary cell at its protection levels or beyond, no count from 1 to js.

    One verb for two uses. A noisy table, which does not add up, is made to (Giessing and Höhne 2011, section 5); with the
    `original` no cell is to be farther than `D` from it. A table with primary cells gets each of them moved (controlled
    tabular adjustment: Dandekar and Cox 2002; Castro 2006). `cost` is what is least: the sum of the changes, of their
    squares, or the largest, each times its entry in `weights`. Counts are whole and `js` is 2 unless you say otherwise;
    other values keep their number of decimals, as more would show which cells were moved, unless you give integer=False.

    Promise: the table adds up. Inner cells that are 0 in the original, or in the table if that is not given, stay 0. A
    primary cell is at most at value - lower_protection or at least at value + upper_protection; if that cannot be, a
    `Mistake` names the cells in the way. Cells marked as `published` stay and D is kept where such counts are found; `notes` say where
    not. The same table and key give the same answer unless the time runs out; `teaching_seed`, a plain number, is for tests
    and teaching.

    >>> from dataclasses import replace
    >>> t = Table.from_microdata({"sex": ["f"] * 4 + ["m"] * 9}, by=["sex"])
    >>> noisy = replace(t, value=np.array([12.0, 3, 8]))
    >>> adjusted = adjust(noisy, teaching_seed=1)
    >>> adjusted.largest, adjusted.table.relations.residuals(adjusted.table.value).tolist()
    (1.0, [0.0])
    """
    if cost not in COSTS:
        raise Mistake(
            f"There is no cost {cost!r}.", suggestions=nearest(cost, COSTS) or [f"Choose from {', '.join(COSTS)}."]
        )
    table, original = given_table(table), None if original is None else given_table(original)
    whole = table.is_count if integer is None else integer
    small = SMALL * (table.is_count and whole) if js is None else js
    wish = _Wish(
        table,
        table if original is None else original,
        D,
        small,
        whole,
        cost,
        _weights(table, weights),
        chosen_key("Adjusting", key, teaching_seed).number("adjust", cost, table.value.tobytes()),
        plain=integer is False,
    )
    deadline = Deadline(time_limit, progress)
    with deadline.running():
        inner = inner_cells(table.relations) if wish.countable else None
        value, finished = wish.searched(inner, deadline) if inner else wish.programmed(deadline)
    return Changed.to(value, of=table, before=original, finished=finished, notes=wish.notes(value, finished))


def _weights(table: Table, weights: Floats | None) -> Floats:
    given = np.ones(len(table)) if weights is None else np.asarray(weights, dtype=np.float64)
    if given.shape != (len(table),) or not (np.isfinite(given) & (given > 0)).all():
        raise Mistake("Weights are positive numbers, one a cell.")
    return given


@dataclass(frozen=True, eq=False)
class _Wish:
    """What was asked for, and the two ways to get it: a search for whole counts, a program for the rest."""

    table: Table
    before: Table
    D: int | None
    js: int
    whole: bool
    cost: str
    weights: Floats
    seed: int
    plain: bool = False
    """Whether values may get decimals that they did not have."""

    def __post_init__(self) -> None:
        table, value = self.table, self.table.value
        if len(self.before) != len(table) or (self.before.places != table.places).any():
            raise Mistake(
                "The original has other cells than the table.", suggestions=["Give the table before the noise."]
            )
        if not isinstance(self.js, Real) or self.js < 0 or self.js % 1 or (self.js and not self.whole):
            raise Mistake(
                "js is the largest of the whole numbers that may not appear.", suggestions=["Give 0 or more."]
            )
        if self.D is not None and (not isinstance(self.D, Real) or self.D < 0 or (self.whole and self.D % 1)):
            raise Mistake("D is the largest deviation.", suggestions=["Give a whole D of 0 or more, or leave it out."])
        wrong: dict[str, Bools] = {
            "is not a finite number.": ~np.isfinite(value),
            "is a negative count.": (value < 0) & table.is_count,
            "is not a whole number. Give integer=False to adjust it as it is.": self.whole & (value != np.rint(value)),
            "is too large to be exact as a whole number.": self.whole & (np.abs(value) > LARGEST),
        }
        for what, cells in wrong.items():
            if cells.any():
                raise Mistake(f"The value of {table.name(int(cells.argmax()))} {what}")

    @cached_property
    def shown(self) -> Bools:
        """The cells that must be published as they are."""
        return np.asarray(self.table.status == Status.PUBLISHED)

    @cached_property
    def zero(self) -> Bools:
        """The cells that are to be 0: a noisy total that happens to be 0 is not."""
        matrix = self.table.relations.matrix
        known = np.full(len(self.table), self.before is not self.table)
        known[np.setdiff1d(np.arange(len(known)), matrix.indices[matrix.data < 0])] = True
        return np.asarray((self.before.value == 0) & known & ~self.table.primary & ~self.shown)

    @cached_property
    def decimals(self) -> int | None:
        """How many decimals the table has, which the adjusted one is to have too."""
        return None if self.plain else decimals_of(self.table.value)

    @cached_property
    def levels(self) -> tuple[Bools, Floats, Floats]:
        """Which cells must move, and how far down or up at least. A sliding level asks for as much either way."""
        table, value = self.table, self.table.value
        down, up = (
            np.maximum(table.sliding_protection, level) for level in (table.lower_protection, table.upper_protection)
        )
        bare = table.primary & (down == 0) & (up == 0)
        little = 1.0 if self.whole else LITTLE * np.maximum(np.abs(value), LITTLE)
        down, up = (np.where(bare, little, np.where(table.primary, level, 0.0)) for level in (down, up))
        small = (value > 0) & (value <= self.js) & ~self.shown & ~self.zero
        down[small] = np.maximum(down, value)[small]
        up[small] = np.maximum(up, self.js + 1 - value)[small]
        if self.decimals is not None:
            down, up = (np.ceil(level * 10**self.decimals - 1e-6) / 10**self.decimals for level in (down, up))
        return table.primary | small, down, up

    @property
    def countable(self) -> bool:
        """Whether nothing is asked for but whole counts that add up, none of them small."""
        table = self.table
        sensitive, down, up = self.levels
        more = sensitive & ((down > table.value) | (up > self.js + 1 - table.value))
        bounded = (table.lower_bound > 0) | np.isfinite(table.upper_bound)
        return self.whole and table.is_count and not (more | bounded | (self.weights != 1)).any()

    def searched(self, inner: InnerCells, deadline: Deadline) -> tuple[Floats, bool]:
        """By annealing over the inner cells."""
        counts, before = (table.value.astype(np.int64) for table in (self.table, self.before))
        limits = CountLimits(before, self.D, self.js, held=self.shown)
        found = additive_counts(counts, inner, limits, cost=self.cost, seed=self.seed, deadline=deadline)
        return found.astype(np.float64), deadline.undisturbed

    def programmed(self, deadline: Deadline) -> tuple[Floats, bool]:
        """By linear and mixed integer programs."""
        table, value, before = self.table, self.table.value, self.before.value
        if self.cost == "L2" and self.whole:
            raise Mistake("No solver at hand makes squares least in whole numbers.", suggestions=["Give cost='L1'."])
        lower, upper = table.lower_bound, table.upper_bound
        if self.D is not None:
            lower, upper = np.maximum(lower, before - self.D), np.minimum(upper, before + self.D)
        if self.js:
            lower = np.where(value > self.js, np.maximum(lower, self.js + 1), lower)
        for cells, fixed in ((self.shown, value), (self.zero, np.zeros(len(table)))):
            lower, upper = np.where(cells, fixed, lower), np.where(cells, fixed, upper)
        wanted = Wanted(table.relations, value, lower, upper, *self.levels, self.weights, self.whole, table.name)
        found = nearest_table(wanted, cost=self.cost, deadline=deadline)
        assert found.values is not None, "or there would have been a mistake"
        return self._written(found.values), deadline.undisturbed

    def _written(self, values: Floats) -> Floats:
        """The values with as many decimals as they had: more would show which cells were moved.

        Levels have no more, so cells that go to a neighbour still keep them. Where a cell has to go farther and loses its
        level, all values stay as they are.
        """
        if self.decimals is None:
            return values
        plain = np.round(values, self.decimals)
        if np.abs(values - plain).max(initial=0.0) > 1e-6 * 10.0**-self.decimals:
            units = Units(replace(self.table, value=values), 10.0**-self.decimals)
            last = Deadline(LAST)
            with last.running():
                found, _ = controlled(units, seed=self.seed, deadline=last)
            plain = np.round(units.values(found), self.decimals)
            if not self._protects(plain):
                return values
        # Cells that did not move keep what adding up left in their last digits: else that would be a deviation.
        stays = np.abs(plain - self.table.value) < 0.5 * 10.0**-self.decimals
        return np.where(stays, self.table.value, plain)

    def _protects(self, value: Floats) -> bool:
        """Whether cells are at their levels or beyond, within their bounds, and where they must not move, in place."""
        table, (sensitive, down, up) = self.table, self.levels
        slack = 1e-3 * 10.0 ** -(self.decimals or 0)
        moved = value - table.value
        away = ~sensitive | (moved >= up - slack) | (-moved >= down - slack)
        inside = (value >= table.lower_bound - slack) & (value <= table.upper_bound + slack)
        far = np.zeros(len(table), dtype=bool) if self.D is None else np.abs(value - self.before.value) > self.D + slack
        return bool(
            (away & inside & ~far & ~(self.shown & (np.abs(moved) > slack)) & ~(self.zero & (value != 0))).all()
        )

    def notes(self, value: Floats, finished: bool) -> Iterator[str]:
        """What a reader of the table must know."""
        if not finished:
            yield "The search was ended before it was done: a nearer table may exist."
        if self.decimals is not None and np.abs(value - np.round(value, self.decimals)).max(initial=0.0) > 1e-6:
            yield f"Some values have more than {self.decimals} decimals, which shows that they were moved."
        moved = int((value[self.shown] != self.table.value[self.shown]).sum())
        if moved:
            yield f"No table was found in which all cells that must be published stay; cells that do not: {moved}."
        far = 0 if self.D is None else int((np.abs(value - self.before.value) > self.D).sum())
        if far:
            yield f"No table was found with all cells within {self.D} of the original; cells that are not: {far}."
