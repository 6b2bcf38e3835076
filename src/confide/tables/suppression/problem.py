"""What cell suppression needs to know of a table: relations, bounds, levels, costs, and who knows what beforehand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake
from confide.tables.table.relations import Relations

if TYPE_CHECKING:
    from confide.tables.table.table import Table

__all__ = ["Demand", "Insider", "Insiders", "SuppressionProblem"]


EXACT = 1e-3
"""A primary without levels must stay uncertain by this share of its value, or by 1 if it is a count."""


@dataclass(frozen=True, eq=False)
class Insider:
    """What one contributor knows for sure: each of `cells` is at least `least` and at most `most`.

    A sole contributor knows their cells exactly; one of two knows that the cell is at least what they gave.
    """

    cells: Ints
    least: Floats
    most: Floats


@dataclass(frozen=True, eq=False)
class Insiders:
    """Many insiders, one after the other: number i knows of the entries from starts[i] to starts[i + 1].

    >>> both = Insiders.of([Insider(np.array([1]), np.array([5.0]), np.array([np.inf]))])
    >>> len(both), both[0].least.tolist()
    (1, [5.0])
    """

    starts: Ints
    cells: Ints
    least: Floats
    most: Floats

    @classmethod
    def of(cls, insiders: Sequence[Insider]) -> "Insiders":
        """From each by itself; the cells of each are in order."""
        starts = np.cumsum([0, *(len(one.cells) for one in insiders)])
        nobody = Insider(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
        parts = ([getattr(one, name) for one in (nobody, *insiders)] for name in ("cells", "least", "most"))
        return cls(starts, *map(np.concatenate, parts))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> Insider:
        if not 0 <= number < len(self):
            raise IndexError(number)
        part = slice(self.starts[number], self.starts[number + 1])
        return Insider(self.cells[part], self.least[part], self.most[part])

    def in_order(self) -> "Insiders":
        """In an order that does not depend on that of the records, for the same pattern; those who know the same once."""
        each = (self[number] for number in range(len(self)))
        known = {tuple(map(np.ndarray.tobytes, vars(one).values())): one for one in each}
        return Insiders.of([known[key] for key in sorted(known)])


@dataclass(frozen=True)
class Demand:
    """What must stay possible for the attacker: that `cell` lies `amount` above (side 1) or below (side -1) its value.

    Side 0 asks for an interval that is `amount` wide, wherever it lies.
    """

    cell: int
    side: int
    amount: float


@dataclass(frozen=True, eq=False)
class SuppressionProblem:
    """Cells to protect: the attacker knows the relations, the `lower` and `upper` bounds and every cell that is shown.

    For every `primary` cell the interval in which they can enclose its value must reach `below` under and `above` over it
    and be `wide`; `shown` cells are never suppressed. Where `whole`, they also know that values are whole numbers. Each
    of the `insiders` is an attacker too, against all primaries but those whose value they know anyway.
    Reference: Fischetti and Salazar (2001), Management Science 47: the cell suppression problem, with many attackers.

    >>> relations = Relations.of([(0, [1, 2])], cells=3)
    >>> problem = SuppressionProblem.plain(relations, np.array([5.0, 2, 3]), primary=np.array([False, True, False]), level=1.0)
    >>> [(demand.cell, demand.side, demand.amount) for demand in problem.demands()]
    [(1, 1, 1.0), (1, -1, 1.0)]
    """

    relations: Relations
    values: Floats
    lower: Floats
    upper: Floats
    primary: Bools
    above: Floats
    below: Floats
    wide: Floats
    cost: Floats
    shown: Bools
    whole: bool = False
    insiders: Insiders = field(default_factory=lambda: Insiders.of(()))
    name: Callable[[int], str] = "cell {}".format

    def __post_init__(self) -> None:
        columns = ("lower", "upper", "primary", "above", "below", "wide", "cost", "shown")
        wrong_size = [name for name in columns if np.shape(getattr(self, name)) != self.values.shape]
        if wrong_size or self.relations.cells != len(self.values):
            raise Mistake(f"{', '.join(wrong_size) or 'The relations'} must have one entry a cell: {len(self.values)}.")
        wrong: dict[str, Bools] = {
            "has no finite value": ~np.isfinite(self.values),
            "lies outside its bounds": ~((self.lower <= self.values) & (self.values <= self.upper)),
            "is asked for a level that is no number of 0 or more": self._ill("above", "below", "wide"),
            "has a cost that is no number of 0 or more": self._ill("cost"),
            "is primary but must be shown": self.primary & self.shown,
        }
        for what, cells in wrong.items():
            if cells.any():
                raise Mistake(f"{self.name(int(cells.argmax()))} {what} ({cells.sum()} of {len(cells)} cells).")
        self.relations.check(self.values)

    def _ill(self, *columns: str) -> Bools:
        ill: Bools = np.any([~(np.isfinite(column := getattr(self, name)) & (column >= 0)) for name in columns], axis=0)
        return ill

    @classmethod
    def plain(
        cls, relations: Relations, values: Floats, *, primary: Bools, level: float, whole: bool = False
    ) -> "SuppressionProblem":
        """A table without negative values, every primary protected `level` up and down, every cell at the same cost.

        Zeros are known to be zeros.
        """
        levels = np.where(primary, level, 0.0)
        none, ones = np.zeros(len(values)), np.ones(len(values))
        most = np.full(len(values), np.inf)
        return cls(relations, values, none, most, primary, levels, np.minimum(levels, values), none, ones,
                   (values == 0) & ~primary, whole=whole)  # fmt: skip

    @classmethod
    def of(
        cls, table: "Table", *, cost: str | Floats = "value", attackers: str = "contributors"
    ) -> "SuppressionProblem":
        """The problem of a table: its empty cells and those that must be published are shown."""
        from confide.tables.suppression.insiders import insiders_of
        from confide.tables.table.table import Status

        table.check()
        whole = table.is_count and bool((table.value == np.rint(table.value)).all())
        return cls(
            table.relations, table.value, table.lower_bound, table.upper_bound, table.primary,
            table.upper_protection, table.lower_protection, table.sliding_protection,
            table.costs(cost) if isinstance(cost, str) else np.asarray(cost, dtype=np.float64),
            np.isin(table.status, (Status.PUBLISHED, Status.EMPTY)),
            whole=whole, insiders=insiders_of(table, attackers), name=table.name,
        )  # fmt: skip

    @property
    def room(self) -> tuple[Floats, Floats]:
        """How far each cell may lie above and below its value, as everyone knows beforehand."""
        up, down = self.upper - self.values, self.values - self.lower
        return (np.floor(up + 1e-9), np.floor(down + 1e-9)) if self.whole else (up, down)

    def demands(self) -> list[Demand]:
        """What must stay possible, largest amounts first: those who protect much protect others on the way.

        Promise: a primary without levels must not be known exactly.
        """
        wanted = []
        for cell in np.flatnonzero(self.primary).tolist():
            above, below, wide = (self._amount(column[cell]) for column in (self.above, self.below, self.wide))
            if not above and not below and not wide:
                wide = 1.0 if self.whole else EXACT * max(abs(float(self.values[cell])), EXACT)
            wanted += [Demand(cell, 1, above)] * (above > 0) + [Demand(cell, -1, below)] * (below > 0)
            wanted += [Demand(cell, 0, wide)] * (wide > above + below)
        return sorted(wanted, key=lambda demand: (-demand.amount, demand.cell, -demand.side))

    def _amount(self, level: float) -> float:
        return float(np.ceil(level - 1e-9)) if self.whole else float(level)

    def priced(self, cost: Floats) -> "SuppressionProblem":
        """The same problem with these costs."""
        return replace(self, cost=cost)
