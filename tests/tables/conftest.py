"""What the tests of tables share: an intruder who knows linear programming and nothing of our code, a clock, Ctrl+C."""

import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pytest
from scipy.optimize import linprog

from confide.tables import Table

Knowledge = Mapping[int, tuple[float, float]]
"""What somebody knows of their own: the least and the most that each of these cells can be."""

CLOSE = 2e-5
"""A level may be missed by this share of it."""


class Intruder:
    """Attacks a published table with scipy's programs, two for each primary cell and each thing somebody may know."""

    def interval(self, table: Table, cell: int, *, knows: Knowledge | None = None) -> tuple[float, float]:
        """Between what a suppressed cell must lie, with every relation and bound and all that is shown."""
        low, high = table.lower_bound.copy(), table.upper_bound.copy()
        for known, (least, most) in (knows or {}).items():
            low[known], high[known] = max(low[known], least), min(high[known], most)
        return self._end(table, cell, (low, high), 1), self._end(table, cell, (low, high), -1)

    def _end(self, table: Table, cell: int, bounds: Sequence[np.ndarray], sign: int) -> float:
        hidden, cost = table.suppressed, np.zeros(len(table))
        cost[cell] = sign
        matrix, shown = table.relations.matrix.toarray(), np.where(hidden, 0.0, table.value)
        equations = {"A_eq": matrix[:, hidden], "b_eq": table.relations.rhs - matrix @ shown}
        found = linprog(cost[hidden], **equations, bounds=np.column_stack(bounds)[hidden])
        if found.status == 3:
            return -sign * np.inf
        assert found.status == 0, found.message
        return sign * found.fun

    def undoes(self, table: Table, attackers: Iterable[Knowledge] = ()) -> list[tuple[int, str, int]]:
        """The levels that the outsider (-1) and the attackers, by number, can break, with the cells."""
        return list(self.breaks(table, attackers))

    def breaks(self, table: Table, attackers: Iterable[Knowledge] = ()) -> Iterator[tuple[int, str, int]]:
        for number, knows in enumerate([{}, *attackers]):
            for cell in np.flatnonzero(table.primary).tolist():
                least, most = knows.get(cell, (-np.inf, np.inf))
                if least < most:
                    interval = self.interval(table, cell, knows=knows)
                    yield from ((cell, level, number - 1) for level in _missed(table, cell, interval, (least, most)))

    def contributors(self, table: Table, records: Sequence[tuple[Mapping[str, str], str, float]]) -> list[Knowledge]:
        """What each contributor knows; records are codes, whose, and how much."""
        cells: list[dict[str, float]] = [{} for _ in range(len(table))]
        for codes, who, amount in records:
            for cell in np.flatnonzero(_inside(table, codes)).tolist():
                cells[cell][who] = cells[cell].get(who, 0.0) + amount
        close = sorted({who for givers in cells for who in givers})
        signed = bool((table.lower_bound < 0).any())
        return [_known(table.value, cells, who, signed) for who in close]


def _missed(table: Table, cell: int, interval: tuple[float, float], known: tuple[float, float]) -> list[str]:
    """The levels that an interval does not reach, as far as what is known of the cell itself lets it."""
    value = table.value[cell]
    up, down, wide = (getattr(table, f"{side}_protection")[cell] for side in ("upper", "lower", "sliding"))
    if not up and not down and not wide:
        wide = 1e-3 * abs(value)
    asked = {"upper": min(up, known[1] - value), "lower": min(down, value - known[0]), "sliding": wide}
    asked["sliding"] = min(wide, known[1] - known[0])
    reached = {"upper": interval[1] - value, "lower": value - interval[0], "sliding": interval[1] - interval[0]}
    scale = max(1.0, np.abs(table.value).max())
    return [level for level in asked if reached[level] < asked[level] * (1 - CLOSE) - 1e-9 * scale]


def _inside(table: Table, codes: Mapping[str, str]) -> np.ndarray:
    """The cells in which a record with these codes is."""
    inside = np.ones(len(table), dtype=bool)
    for variable, hierarchy in enumerate(table.hierarchies):
        place = hierarchy.places[codes[table.variables[variable]]]
        above = []
        while place >= 0:
            above.append(place)
            place = hierarchy.parents[place]
        inside &= np.isin(table.places[:, variable], above)
    return inside


def _known(value: np.ndarray, cells: Sequence[Mapping[str, float]], who: str, signed: bool) -> Knowledge:
    known = {}
    for cell, givers in enumerate(cells):
        if who in givers and len(givers) == 1:
            known[cell] = value[cell], value[cell]
        elif who in givers and not signed:
            known[cell] = min(givers[who], value[cell]), np.inf
    return known


@pytest.fixture(scope="session")
def intruder() -> Intruder:
    return Intruder()


class Clock:
    """A clock that runs by one second whenever it is told to, and not otherwise."""

    def __init__(self) -> None:
        self.seconds = 0

    def __call__(self) -> float:
        return float(self.seconds)

    def tick(self, *told: object) -> None:
        """As `progress` it makes a second of what is searched between two words about it."""
        self.seconds += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """What deadlines read in the place of the machine's clock."""
    made = Clock()
    monkeypatch.setattr("confide.tables.programs.deadline.monotonic", made)
    return made


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl+C raises a `KeyboardInterrupt`, as in a terminal: in a job in the background it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
