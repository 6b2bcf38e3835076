"""Audit: the intervals against scipy and against every table of whole numbers, and patterns made elsewhere."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.tables import Hierarchy, PPercent, Status, Table, Threshold, audit, audit_pattern
from confide.tables.programs.deadline import Deadline
from confide.tables.suppression.audit import unmet
from confide.tables.suppression.problem import SuppressionProblem
from confide.tables.suppression.protection import OUTSIDER
from confide.tables.table.build import assemble
from confide.tables.table.relations import Relations

numbers = st.one_of(st.integers(0, 9).map(float), st.floats(0.01, 1e4).map(lambda x: round(x, 2)))


def grid(inner, **options) -> Table:
    """A table of rows and columns with these inner cells; 0 is nothing special."""
    inner = np.array(inner, dtype=np.float64)
    rows, columns = np.indices(inner.shape)
    frame = {"r": [f"r{row}" for row in rows.ravel()], "c": [f"c{column}" for column in columns.ravel()]}
    return Table.from_cells(frame | {"x": inner.ravel()}, by=["r", "c"], value="x", **options)


def at(table: Table, row: str, column: str) -> int:
    return int(np.intersect1d(table.find(r=row), table.find(c=column))[0])


def primary(table: Table, *cells: tuple[str, str], range: float = 10) -> Table:
    return table.mark(np.array([at(table, *cell) for cell in cells]), "primary", range=range)


def hidden(table: Table, *cells: tuple[str, str]) -> np.ndarray:
    return np.isin(np.arange(len(table)), [at(table, *cell) for cell in cells])


@given(st.lists(st.lists(numbers, min_size=4, max_size=4), min_size=3, max_size=4), st.data())
@settings(max_examples=25)
def test_intervals_are_those_of_linear_programs_over_the_whole_table(intruder, inner, data):
    table = grid(inner)
    cells = data.draw(st.lists(st.sampled_from(range(len(table))), min_size=1, max_size=10, unique=True))
    judged = audit_pattern(table, np.isin(np.arange(len(table)), cells))
    for cell in range(len(table)):
        low, high = intruder.interval(judged.table, cell) if cell in cells else (table.value[cell],) * 2
        assert judged.lower[cell] == pytest.approx(low, rel=1e-7, abs=1e-6)
        assert judged.upper[cell] == pytest.approx(high, rel=1e-7, abs=1e-6)


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_intervals_hold_with_hierarchies_negative_values_and_bounds(intruder, seed):
    random = np.random.default_rng(seed)
    data = {name: random.choice(list(codes), 30) for name, codes in (("u", "abcd"), ("v", "xyz"), ("w", "12"))}
    data["t"] = random.integers(-5, 20, 30)
    up = {"a": "A", "b": "A", "c": "C", "d": "C", "A": None, "C": None}
    table = Table.from_microdata(data, by=["u", "v", "w"], of="t", hierarchies={"u": up}).flag(Threshold(3))
    known = random.random(len(table)) < 0.7
    table = replace(
        table,
        lower_bound=np.where(known, table.value - random.integers(0, 9, len(table)), table.lower_bound),
        upper_bound=np.where(known, table.value + random.integers(0, 9, len(table)), table.upper_bound),
    )
    judged = audit_pattern(table, table.primary | (random.random(len(table)) < 0.4))
    cells = np.flatnonzero(judged.table.suppressed)
    for cell in random.choice(cells, 6).tolist():
        expected = intruder.interval(judged.table, cell)
        assert (judged.lower[cell], judged.upper[cell]) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(st.lists(st.integers(0, 3), min_size=9, max_size=9), st.data())
@settings(max_examples=25)
def test_intervals_of_counts_are_those_of_all_tables_of_whole_numbers(inner, data):
    # The relations of two-way tables are unimodular: the ends of the linear programs are whole.
    frame = {"r": list("aaabbbccc"), "c": list("xyz" * 3), "n": inner}
    table = Table.from_cells(frame, by=["r", "c"], frequency="n")
    table = table.mark(np.flatnonzero(table.status == Status.EMPTY), "safe")
    shown = (table.places == 0).any(axis=1)
    some = data.draw(st.lists(st.sampled_from(np.flatnonzero(~shown).tolist()), min_size=1, max_size=6, unique=True))
    judged = audit_pattern(table, np.isin(np.arange(len(table)), some))
    possible = []
    for counts in product(range(max(inner) * 3 + 1), repeat=len(some)) if max(inner) < 2 else _few(table, some):
        value = table.value.copy()
        value[some] = counts
        if not table.relations.residuals(value).any():
            possible.append(counts)
    assert judged.lower[some].tolist() == np.min(possible, axis=0).tolist()
    assert judged.upper[some].tolist() == np.max(possible, axis=0).tolist()


def _few(table: Table, cells: list[int]):
    """Values of cells up to the least of the totals they are in."""
    matrix = table.relations.matrix
    most = [
        int(
            min(table.value[matrix[[row]].indices[matrix[[row]].data < 0]][0] for row in matrix[:, [cell]].nonzero()[0])
        )
        for cell in cells
    ]
    return product(*(range(top + 1) for top in most))


def twice_as_far(most: float) -> Table:
    """A count that moves by two when others move by one: a = b + c, and b and c are the same number d less three."""
    relations = Relations.of([(0, [1, 2]), (3, [1, 4]), (3, [2, 4])], cells=5)
    table = assemble(
        ["cell"], [Hierarchy(("a", "b", "c", "d", "e"), (-1,) * 5)], np.arange(5)[:, None], np.array([8.0, 4, 4, 7, 3]),
        relations=relations, upper_bound=np.array([most, *[np.inf] * 4]),
    )  # fmt: skip
    table = table.mark(np.array([0]), "primary")
    level = np.array([1.0, 0, 0, 0, 0])
    return replace(table, upper_protection=level, lower_protection=0 * level)


def test_a_level_of_counts_is_met_only_by_whole_numbers():
    suppressed = np.array([True, True, True, True, False])
    assert audit_pattern(twice_as_far(np.inf), suppressed).passed  # 10 is more than 9
    halves = audit_pattern(twice_as_far(9.0), suppressed)
    assert halves.upper[0] == 9  # with 4.5 twice, which are no counts
    assert [(failure.cell, failure.level, failure.attacker) for failure in halves.failures] == [(0, "upper", OUTSIDER)]


def test_a_pattern_made_elsewhere_is_judged_with_the_cells_it_shows():
    table = grid([[5, 6, 7], [8, 9, 10], [11, 12, 13]])
    square = [("r0", "c0"), ("r0", "c1"), ("r1", "c0"), ("r1", "c1")]
    flagged = primary(table, ("r0", "c0"))
    assert audit_pattern(flagged, hidden(table, *square)).passed
    # Its secondaries are there, its primary is not: rules marked it afterwards.
    judged = audit_pattern(flagged, hidden(table, *square[1:]))
    assert [(failure.cell, failure.level) for failure in judged.failures] == [(at(table, "r0", "c0"), "shown")]
    assert judged.lower[at(table, "r0", "c0")] == judged.upper[at(table, "r0", "c0")] == 5


def test_a_failing_pattern_is_named_with_cell_level_and_attacker():
    table = primary(grid([[5, 6, 7], [8, 9, 10], [11, 12, 13]]), ("r0", "c0"))
    judged = audit_pattern(table, hidden(table, ("r0", "c0"), ("r0", "c1")))
    assert not judged.passed
    assert {(failure.level, failure.attacker) for failure in judged.failures} == {("upper", -1), ("lower", -1)}
    assert sorted(judged.recovered) == [at(table, "r0", "c0"), at(table, "r0", "c1")]
    assert "FAILED for 1 of 1 primary cells. r=r0, c=c0 misses its upper level." in repr(judged)
    assert "2 suppressed cells can be computed exactly" in repr(judged)
    assert judged.intervals.to_pylist()[0] == {
        "r": "r0", "c": "c0", "primary": True, "value": 5.0, "lower": 5.0, "upper": 5.0, "missed": "upper, lower",
    }  # fmt: skip


def test_a_failing_insider_is_told_from_an_outsider():
    data = {"a": list("xyyyzzz"), "t": [9.0, 40, 30, 20, 70, 50, 60]}
    table = Table.from_microdata(data, by=["a"], of="t").flag(Threshold(2))
    # x is alone in its cell. Two cells are enough against outsiders, and z is of three.
    assert audit_pattern(table, table.primary | (table.value == 90)).passed
    pair = Table.from_microdata(data | {"a": list("xyzzzzz")}, by=["a"], of="t").flag(Threshold(2))
    judged = audit(pair)
    assert {(pair.name(failure.cell), failure.attacker >= 0) for failure in judged.failures} == {
        ("a=x", True),
        ("a=y", True),
    }
    assert "against a contributor who knows their own cells" in repr(judged)


def test_a_primary_without_levels_must_not_be_known_exactly():
    table = primary(grid([[5, 6, 7], [8, 9, 10], [11, 12, 13]]), ("r0", "c0"), range=0)
    assert [failure.level for failure in audit(table).failures] == ["sliding"]
    square = hidden(table, ("r0", "c0"), ("r0", "c1"), ("r1", "c0"), ("r1", "c1"))
    assert audit_pattern(table, square).passed


def test_a_cell_that_problems_show_but_call_primary_fails():
    relations = Relations.of([(0, [1, 2])], cells=3)
    problem = SuppressionProblem.plain(
        relations, np.array([5.0, 2, 3]), primary=np.array([False, True, False]), level=1.0
    )
    failures = unmet(problem, np.array([True, False, True]), Deadline())
    assert [(failure.cell, failure.level, failure.attacker) for failure in failures] == [
        (1, "upper", OUTSIDER),
        (1, "lower", OUTSIDER),
    ]


def test_there_is_nothing_wrong_with_a_table_that_hides_nothing():
    table = grid([[5, 6], [7, 8]])
    judged = audit(table)
    assert judged.passed
    assert judged.lower.tolist() == judged.upper.tolist() == table.value.tolist()
    assert judged.intervals.num_rows == 0
    assert repr(judged) == "Audit of 0 suppressed cells: passed."


def test_tables_of_one_cell_and_of_none():
    one = Table.from_microdata({"a": ["x", "x"]}, by=["a"]).flag(Threshold(3))
    assert audit(one).passed  # both cells are primary, and nobody knows any
    none = assemble(["a"], [Hierarchy.flat("")], np.zeros((0, 1), dtype=np.int64), np.zeros(0))
    assert audit(none).passed


def test_names_may_be_of_any_alphabet():
    data = {"Größe": ["groß", "мал", "мал", "小", "小", "小"]}
    table = Table.from_microdata(data, by=["Größe"]).flag(Threshold(2))
    assert "Größe=groß misses its upper level" in repr(audit(table))


def test_empty_cells_are_known_unless_the_pattern_hides_them_too():
    data = {"r": list("aaaabbb"), "c": list("xxyyyyy")}
    table = Table.from_microdata(data, by=["r", "c"]).flag(Threshold(2))
    inner = (table.places > 0).all(axis=1)
    twos, empty = (int(np.intersect1d(table.find(r=row), table.find(c="x"))[0]) for row in "ab")
    judged = audit_pattern(table, inner & (table.status != Status.EMPTY))
    assert (judged.lower[twos], judged.upper[twos]) == (2, 2)
    judged = audit_pattern(table, inner)
    assert (judged.lower[[twos, empty]].tolist(), judged.upper[[twos, empty]].tolist()) == ([0, 0], [2, 2])


@pytest.mark.parametrize("large", [1e9, 1e12, 1e15])
@pytest.mark.parametrize("small", [1e-6, 1e-3, 1.0])
def test_a_small_cell_beside_huge_ones_is_never_taken_for_protected_by_their_rounding(large, small):
    table = primary(grid([[large, small, large], [large, large, 3 * large], [7, large, 5]]), ("r0", "c1"))
    for others in ([("r0", "c0")], [("r0", "c0"), ("r1", "c0")], [("r0", "c0"), ("r1", "c2"), ("r2", "c0")]):
        judged = audit_pattern(table, hidden(table, ("r0", "c1"), *others))
        assert {failure.cell for failure in judged.failures} == {at(table, "r0", "c1")}
    square = audit_pattern(table, hidden(table, ("r0", "c0"), ("r0", "c1"), ("r1", "c0"), ("r1", "c1")))
    assert square.passed
    assert square.upper[at(table, "r0", "c1")] == pytest.approx(large)


def test_what_can_be_anything_is_without_limit_and_nothing_else_is():
    table = primary(grid([[5, 6], [7, 8]]), ("r0", "c0"))
    judged = audit_pattern(table, hidden(table, ("r0", "c0"), ("r0", "Total"), ("Total", "c0"), ("Total", "Total")))
    assert judged.upper[judged.table.suppressed].tolist() == [np.inf] * 4
    assert judged.lower[at(table, "Total", "Total")] == 21
    # A total of many cells may be many times more than each can be.
    wide = Table.from_cells({"a": list(map(str, range(2000))), "x": [1.0] * 2000}, by=["a"], value="x")
    judged = audit_pattern(replace(wide, upper_bound=np.where(wide.value == 1, 3.0, np.inf)), wide.value > 0)
    assert (judged.lower[0], judged.upper[0]) == (0, 6000)


def test_tables_that_do_not_add_up_are_named_by_their_codes():
    table = grid([[5, 6], [7, 8]])
    with pytest.raises(Mistake, match=r"does not add up: r=Total, c=Total is not the sum"):
        audit(replace(table, value=table.value + (np.arange(9) == 0)))


def test_values_outside_what_everyone_knows_are_a_mistake():
    table = grid([[5, 6], [7, 8]])
    with pytest.raises(Mistake, match=r"r=r0, c=c0 lies outside its bounds \(1 of 9 cells\)"):
        audit(replace(table, upper_bound=np.where(table.value == 5, 4.0, np.inf)))


def test_progress_rises_to_one_and_an_interrupt_is_passed_on():
    random = np.random.default_rng(1)
    data = {"u": random.choice(list("abcdef"), 60), "v": random.choice(list("uvwxyz"), 60)}
    table = Table.from_microdata(data | {"t": random.integers(1, 99, 60)}, by=["u", "v"], of="t")
    table = table.flag(PPercent(10), Threshold(3))
    shares = []
    audit(table, progress=lambda share, words: shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)

    def stop(share: float, words: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(table, progress=stop)


@pytest.mark.parametrize("of", [None, "turnover"])
def test_what_there_was_no_time_for_counts_as_not_protected(of):
    random = np.random.default_rng(1)
    firms = {name: random.choice(list(codes), 80) for name, codes in (("u", "abcde"), ("v", "vwxyz"))}
    firms["turnover"] = random.integers(1, 99, 80)
    table = Table.from_microdata(firms, by=["u", "v"], of=of).flag(Threshold(3))
    hidden = table.primary | (table.status == Status.SAFE) & (table.units < 9)
    assert audit_pattern(table, hidden).passed
    judged = audit_pattern(table, hidden, time_limit=1e-9)
    assert not judged.passed
    assert judged.undecided == np.flatnonzero(table.primary).tolist()
    many = int(table.primary.sum())
    assert f"NOT DECIDED for {many} of {many} primary cells" in judged.verdict
    assert "FAILED" not in judged.verdict
    assert judged.intervals["lower"].null_count > 0


def test_a_cell_that_is_shown_fails_even_if_there_is_no_time():
    table = Table.from_microdata({"sex": list("fmmm")}, by=["sex"]).flag(Threshold(2))
    judged = audit_pattern(table, np.array([False, False, True]), time_limit=1e-9)
    assert judged.missed == {1: "shown"} and not judged.undecided
