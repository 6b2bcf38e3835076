"""Simulated annealing: the compiled loop against a plain one, sums kept right, the best kept when time or patience ends."""

import signal
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.tables import Table
from confide.tables.annealing.anneal import (
    Aim,
    Allowed,
    Annealing,
    AnnealingTask,
    CoolingSchedule,
    annealing_over,
)
from confide.tables.annealing.kernel import THRESHOLDS, AnnealingLayout, metropolis
from confide.tables.programs.deadline import Deadline
from confide.tables.table.inner_cells import Grouping, inner_cells, laid_out
from confide.tables.table.relations import Relations

MASK = 2**64 - 1


def cross(*sizes: int) -> Relations:
    """The relations of a table with all its totals; place 0 of each variable is the total."""
    shape = [size + 1 for size in sizes]
    number = {cell: at for at, cell in enumerate(product(*map(range, shape)))}
    inner = []
    for cell, at in number.items():
        for variable, place in enumerate(cell):
            if place == 0:
                rest = [number[(*cell[:variable], code, *cell[variable + 1 :])] for code in range(1, shape[variable])]
                inner.append((at, rest))
    return Relations.of(inner, cells=len(number))


def squares(distance):
    away = np.abs(distance).astype(float)[None, :]
    return away**2, np.maximum(away - 1, 0)


def problem(sizes=(3, 4), *, seed=0, low=3) -> Annealing:
    """A table of random targets to be reached with inner that are 0 or at least low."""
    inner = inner_cells(cross(*sizes))
    random = np.random.default_rng(seed)
    target = inner.sums(random.integers(0, 7, len(inner.cells)))
    start = np.where(random.random(len(inner.cells)) < 0.5, low, 0)
    none = np.zeros(len(start), dtype=np.int64)
    allowed = Allowed(none, none + 9, low)
    aim = Aim(np.zeros(len(target), dtype=np.int64), squares)
    return annealing_over(inner, start, target, allowed, aim, seed=seed)


# The plain twin of the compiled loop: it knows cells, not places in an array, and weighs the whole table each time.


class Plain:
    def __init__(self, layout: AnnealingLayout, value, distance, cost, random: int) -> None:
        self.layout, self.value, self.distance, self.cost, self.random = (
            layout,
            list(value),
            list(distance),
            cost,
            random,
        )

    def draw(self) -> int:
        self.random = (self.random + 0x9E3779B97F4A7C15) & MASK
        z = self.random
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def next_value(self, j: int, up: bool) -> int | None:
        values = [v for v in range(-20, 60) if v <= 0 or v >= self.layout.low]
        at = values.index(self.value[j]) + (1 if up else -1)
        least, greatest = self.layout.bounds[j]
        return values[at] if least <= values[at] <= greatest else None

    def members(self, group: int) -> list[int]:
        return self.layout.members[self.layout.starts[group] : self.layout.starts[group + 1]].tolist()

    def pick(self, j: int, way: int, bits: int) -> int:
        members = self.members(self.layout.groups[j, way])
        return members[((bits & 0xFFFFFFFF) * len(members)) >> 32]

    def try_move(self, moved: dict[int, bool], limit: float) -> float:
        """Move these inner, each up or down, if all of them can and it costs no more than the limit."""
        new = {j: self.next_value(j, up) for j, up in moved.items()}
        if None in new.values():
            return 0.0
        before = sum(map(self.cost, self.distance))
        distance = self.distance.copy()
        for j, value in new.items():
            for cell in set(self.layout.sums[j].tolist()) - {len(distance)}:
                distance[cell] += value - self.value[j]
        cost = sum(map(self.cost, distance)) - before
        if cost > limit:
            return 0.0
        self.distance = distance
        for j, value in new.items():
            self.value[j] = value
        return cost

    def move(self, temperature: float) -> float:
        layout, bits = self.layout, self.draw()
        ways = layout.groups.shape[1]
        j, up = ((bits >> 32) * len(self.value)) >> 32, bits & 1 == 1
        limit, kind = temperature * THRESHOLDS[bits >> 1 & 4095], bits >> 13 & 15
        if self.next_value(j, up) is None:
            return 0.0
        if kind < layout.single:
            return self.try_move({j: up}, limit)
        bits = self.draw()
        way = ((bits << 16 & 0xFFFFFFFF) * ways) >> 32
        k = self.pick(j, way, bits >> 16)
        if k == j or self.next_value(k, not up) is None:
            return 0.0
        if kind < 16 - layout.circle or ways == 1:
            return self.try_move({j: up, k: not up}, limit)
        bits = self.draw()
        second = (way + 1 + (((bits >> 32) * (ways - 1)) >> 32)) % ways
        n = self.pick(j, second, bits)
        fits = [m for m in self.members(layout.groups[k, second]) if layout.groups[m, way] == layout.groups[n, way]]
        four = (j, k, n, fits[0] if fits else k)
        return self.try_move({j: up, k: not up, n: not up, four[3]: up}, limit) if len(set(four)) == 4 else 0.0


@pytest.mark.parametrize("sizes", [(4,), (3, 4), (2, 3, 3)])
@pytest.mark.parametrize("low", [1, 3])
def test_the_compiled_loop_makes_the_moves_of_the_plain_one(sizes, low):
    found = problem(sizes, seed=len(sizes), low=low)
    layout = found._layout._replace(circle=4)
    state, costs, home = found._laid_out(2.0)
    plain = Plain(
        layout,
        found.value,
        found.distance.tolist(),
        lambda d: d * d + 2.0 * max(0, abs(d) - 1),
        int(state.random[0]),
    )
    pool = np.arange(len(found.value), dtype=np.uint32)
    for temperature in (20.0, 4.0, 1.0, 0.1):
        total = metropolis(layout, state, costs, pool, THRESHOLDS, temperature, 500)
        assert total == pytest.approx(sum(plain.move(temperature) for _ in range(500)))
        assert state.value.tolist() == plain.value
        assert (state.at[:-1] - home).tolist() == plain.distance
        assert int(state.random[0]) == plain.random


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 2**32))
def test_distances_are_always_those_of_the_sums(sizes, seed):
    found = problem(sizes, seed=seed)
    inner = inner_cells(cross(*sizes))
    target = inner.sums(np.random.default_rng(seed).integers(0, 7, len(inner.cells)))
    found.cool(CoolingSchedule(10.0, 0.1, 50, 1.0), Deadline())
    assert (inner.sums(found.value) - target == found.distance).all()
    assert not np.isin(found.value, (1, 2)).any() and (found.value >= 0).all() and (found.value <= 9).all()


def test_the_same_seed_gives_the_same_values_and_another_seed_others():
    def run(seed):
        found = problem((5, 6), seed=1)
        again = Annealing(found.task, found.value, found.distance, seed=seed)
        again.cool(CoolingSchedule(10.0, 0.5, 20, 1.0), Deadline())
        return again.value.tolist()

    assert run(7) == run(7) != run(8)


def test_a_search_finds_the_best_values_of_a_small_table():
    found = problem((2, 2), seed=5)
    inner = inner_cells(cross(2, 2))
    target = inner.sums(found.value) - found.distance
    found.cool(CoolingSchedule(20.0, 0.2, 3000, 1.0), Deadline())
    found.settle(CoolingSchedule(20.0, 0.2, 3000, 1.0), Deadline(), rounds=1)

    def cost(value):
        distance = np.abs(inner.sums(np.array(value)) - target)
        return (distance**2 + np.maximum(distance - 1, 0)).sum()

    least = min(cost(value) for value in product([0, 3, 4, 5, 6, 7, 8, 9], repeat=4))
    assert cost(found.value) == least


def test_settling_brings_sums_back_within_their_limits():
    """A table with all sums right exists; a quick first search leaves many sums beyond."""
    inner = inner_cells(cross(8, 8, 3))
    true = np.random.default_rng(1).choice([0, 3, 4, 5, 6], len(inner.cells))
    none = np.zeros(len(true), dtype=np.int64)
    aim = Aim(np.zeros(len(inner.sums(true)), dtype=np.int64), squares)
    found = annealing_over(inner, none + 3, inner.sums(true), Allowed(none, none + 9, 3), aim, seed=1)
    found.cool(CoolingSchedule(10.0, 0.5, 20, 1.0), Deadline())
    before = int(found.beyond.sum())
    found.settle(CoolingSchedule(2.0, 0.2, 300, 4.0), Deadline(), rounds=8)
    assert before > 30 and found.beyond.sum() < before / 3
    assert (inner.sums(found.value) - inner.sums(true) == found.distance).all()


def test_it_never_gets_worse_than_the_start():
    found = problem((4, 4), seed=3)
    before = (found.distance**2).sum()
    found.cool(CoolingSchedule(1e6, 1e6, 20, 0.0), Deadline())
    assert (found.distance**2).sum() <= before


def test_a_time_limit_ends_a_long_search_with_the_best_so_far(clock):
    found = problem((30, 30), seed=3)
    before, deadline = (found.distance**2).sum(), Deadline(limit=20, progress=clock.tick)
    found.cool(CoolingSchedule(20.0, 0.5, 10**9, 1.0), deadline)
    assert clock.seconds == 20
    assert deadline.hurried and not deadline.undisturbed
    assert (found.distance**2).sum() < before / 2


def test_an_interrupt_ends_it_with_the_best_so_far():
    found = problem((10, 10), seed=3)
    told = []

    def impatient(share, words):
        told.append((share, words))
        if len(told) == 40:
            raise KeyboardInterrupt

    deadline = Deadline(progress=impatient)
    before = (found.distance**2).sum()
    found.cool(CoolingSchedule(20.0, 0.5, 5000, 1.0), deadline)
    assert deadline.interrupted and not deadline.undisturbed and len(told) == 40
    assert (found.distance**2).sum() < before
    found.settle(CoolingSchedule(20.0, 0.5, 5000, 1.0), deadline, rounds=3)
    assert len(told) == 40, "nothing is searched after an interrupt"
    assert told == sorted(told) and told[0][0] == 0.0 and "largest deviation" in told[0][1]


@pytest.mark.usefixtures("ctrl_c")
def test_a_running_deadline_notes_the_first_interrupt_and_not_the_second():
    deadline = Deadline()
    with pytest.raises(KeyboardInterrupt), deadline.running():
        signal.raise_signal(signal.SIGINT)
        assert deadline.interrupted and deadline.over
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("ctrl_c")
def test_a_deadline_leaves_interrupts_to_those_who_handle_them():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        deadline = Deadline()
        with deadline.running():
            signal.raise_signal(signal.SIGINT)
        assert heard == [signal.SIGINT] and not deadline.interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def test_time_does_not_show_in_a_search_that_needs_little_of_it():
    def run(limit):
        found = problem((6, 6), seed=2)
        found.cool(CoolingSchedule(20.0, 0.5, 200, 1.0), Deadline(limit=limit))
        return found.value.tolist()

    assert run(None) == run(1000.0)


def test_targets_out_of_reach_are_a_mistake():
    inner = inner_cells(Relations.of([(0, [1, 2])], cells=3))
    allowed = Allowed(np.zeros(2, dtype=np.int64), np.full(2, 9), 1)
    start, target = np.zeros(2, dtype=np.int64), np.array([10**9, 0, 0])
    found = annealing_over(inner, start, target, allowed, Aim(np.zeros(3, dtype=np.int64), squares), seed=1)
    with pytest.raises(Mistake, match="too far"):
        found.cool(CoolingSchedule(1.0, 1.0, 1, 1.0), Deadline())


def test_nothing_to_move_is_no_work():
    inner = inner_cells(Relations.of([(0, [1, 2])], cells=3))
    fixed = np.array([4, 5])
    aim = Aim(np.zeros(3, dtype=np.int64), squares)
    found = annealing_over(inner, fixed, np.array([9, 4, 5]), Allowed(fixed, fixed), aim, seed=1)
    found.cool(CoolingSchedule(1.0, 1.0, 100, 1.0), Deadline())
    assert found.distance.tolist() == [0, 0, 0] and not found.beyond.any()


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_a_time_limit_is_positive(limit):
    with pytest.raises(Mistake, match="seconds"):
        Deadline(limit=limit)


# Inner cells of any relations.


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_every_cell_is_the_sum_of_inner_cells(sizes):
    relations = cross(*sizes)
    inner = inner_cells(relations)
    assert len(inner.cells) == np.prod(sizes)
    values = inner.sums(np.arange(len(inner.cells)) ** 2)
    assert (relations.residuals(values) == 0).all()
    assert (values[inner.cells] == np.arange(len(inner.cells)) ** 2).all()


rows = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz"), st.sampled_from("1234")), min_size=1, max_size=30
)


@given(rows, st.randoms(use_true_random=False))
def test_sums_in_different_columns_share_no_part(data, random):
    """In tables with empty cells left out and with a hierarchy, where some inner count in fewer sums than others."""
    frame = {name: [row[at] for row in data] for at, name in enumerate("uvw")}
    tree = {"a": "A", "b": "A", "c": "C", "A": None, "C": None, "d": None}
    table = Table.from_microdata(frame, by=list("uvw"), hierarchies={"u": tree}, empty=False)
    inner = inner_cells(table.relations)
    movable = np.array([random.random() < 0.8 for _ in inner.cells])
    sums, siblings = laid_out(inner, movable)
    expansion = inner.expansion[:, np.flatnonzero(movable)].toarray()
    column_of = {}
    for part, cells in enumerate(sums.tolist()):
        real = [cell for cell in cells if cell < len(table)]
        assert sorted(real) == np.flatnonzero(expansion[:, part]).tolist()
        for column, cell in enumerate(cells):
            if cell < len(table):
                assert column_of.setdefault(cell, column) == column
    free = inner.cells[movable]
    beside = abs(table.relations.matrix).toarray()[:, free] > 0
    for group, (start, end) in enumerate(zip(siblings.starts[:-1], siblings.starts[1:], strict=True)):
        members = set(siblings.members[start:end].tolist())
        assert all(group in siblings.of[member] for member in members)
        if len(members) > 1:
            assert any(set(np.flatnonzero(row)) == members for row in beside)


def test_linked_tables_without_common_detail_have_no_inner_cells():
    frame = {"u": list("aabb"), "v": list("xyxy"), "w": list("1122")}
    linked = Table.link([Table.from_microdata(frame, by=["u", by]) for by in "vw"])
    assert inner_cells(linked.relations) is None


@pytest.mark.parametrize(
    "relations",
    [
        Relations(Relations.of([(0, [1, 2])], cells=3).matrix, np.array([5.0])),
        Relations(Relations.of([(0, [1, 2])], cells=3).matrix * 2, np.array([0.0])),
        Relations(-Relations.of([(0, [1, 2])], cells=3).matrix, np.array([0.0])),
    ],
    ids=["a constant", "other coefficients", "two totals"],
)
def test_relations_that_are_not_of_totals_and_parts_have_no_inner_cells(relations):
    assert inner_cells(relations) is None


def test_a_table_without_relations_is_all_inner_cells():
    inner = inner_cells(Relations.of([], cells=4))
    assert inner.cells.tolist() == [0, 1, 2, 3]
    sums, siblings = laid_out(inner, np.ones(4, dtype=bool))
    assert sums.tolist() == [[0], [1], [2], [3]] and len(siblings.starts) == 5


def test_groups_go_by_any_numbers():
    groups = Grouping.number(np.array([[7, 9], [7, 8], [6, 9]]))
    assert groups.of.tolist() == [[1, 3], [1, 2], [0, 3]]
    assert [groups.members[a:b].tolist() for a, b in zip(groups.starts, groups.starts[1:], strict=False)] == [
        [2],
        [0, 1],
        [1],
        [0, 2],
    ]


def test_a_task_without_siblings_moves_single_parts():
    sums = np.array([[0], [1]], dtype=np.uint32)
    alone = Grouping.number(np.array([[0], [1]]))
    none = np.zeros(2, dtype=np.int64)
    task = AnnealingTask(sums, alone, Allowed(none, none + 9), Aim(none, squares))
    found = Annealing(task, none, np.array([-4, -7]), seed=1)
    found.cool(CoolingSchedule(5.0, 0.1, 500, 1.0), Deadline())
    assert found.value.tolist() == [4, 7]
