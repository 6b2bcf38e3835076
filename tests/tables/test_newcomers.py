"""What somebody meets who uses the room for the first time: the whole way, in every kind of frame, and with odd input."""

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

from confide import tables
from confide.errors import Mistake

FRAMES = {"dict": dict, "pandas": pandas.DataFrame, "polars": polars.DataFrame, "arrow": pa.table}


def firms(seed: int = 3, *, records: int = 120) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    return {
        "activity": rng.choice(["A1", "A2", "B1", "B2", "C"], records, p=[0.4, 0.3, 0.15, 0.1, 0.05]).tolist(),
        "region": rng.choice(list("NSWE"), records).tolist(),
        "turnover": rng.lognormal(3, 1.5, records).round(2).tolist(),
        "group_id": [f"g{number}" for number in rng.integers(0, 60, records)],
        "key": rng.random(records).tolist(),
    }


@pytest.fixture
def nace(tmp_path):
    path = tmp_path / "nace.hrc"
    path.write_text("A\n@A1\n@A2\nB\n@B1\n@B2\nC\n")
    return path


@pytest.mark.parametrize("kind", FRAMES)
def test_the_whole_way_works_as_it_is_written_in_every_kind_of_frame(kind, nace, tmp_path):
    frame, by, hierarchies = FRAMES[kind](firms()), ["activity", "region"], {"activity": str(nace)}
    t = tables.Table.from_microdata(frame, by=by, of="turnover", hierarchies=hierarchies, holding="group_id")
    t = t.flag(tables.PPercent(p=15), tables.Threshold(3))
    safe = tables.suppress(t, cost="value", time_limit=60)
    safe.report(tmp_path / "out.html")
    assert t.primary.any() and safe.intervals.num_rows == safe.table.suppressed.sum()
    assert tables.audit(safe).passed and tables.audit(safe.table).passed
    counts = tables.Table.from_microdata(frame, by=by, hierarchies=hierarchies)
    assert not (tables.round(counts, base=3, teaching_seed=1).table.value % 3).any()
    noisy = tables.perturb(frame, tables.transitions(D=5, V=2, js=2), by=by, hierarchies=hierarchies, key="key")
    assert not np.isin(tables.adjust(noisy, teaching_seed=1).table.value, (1, 2)).any()
    base = tables.safe(frame, by=by, controlled=3, teaching_seed=1)
    assert set(base.deviations["table"].to_pylist()) == {"activity", "region", "activity x region"}


@pytest.mark.parametrize("method", [tables.suppress, tables.audit, tables.round, tables.adjust])
@pytest.mark.parametrize("given", ["table.csv", None, {"a": [1]}, pa.table({"a": [1]})], ids=str)
def test_what_is_no_table_is_a_mistake_that_says_how_to_make_one(method, given):
    with pytest.raises(Mistake, match=r"Not a table.*from_microdata"):
        method(given)


def test_numbers_of_numpy_are_numbers():
    table = tables.Table.from_microdata(firms(), by=["region"], of="turnover")
    plain, numpy = (
        table.flag(tables.PPercent(p=percent), tables.Threshold(units)).status
        for percent, units in ((15, 3), (np.float64(15), np.int64(3)))
    )
    assert (plain == numpy).all()


ODD = {
    "overflow": (
        lambda: tables.Table.from_microdata({"a": ["p", "q"], "x": [1.7e308, 1.7e308]}, by=["a"], of="x"),
        "too large to be added up",
    ),
    "code of the total": (
        lambda: tables.Table.from_microdata({"a": ["p", " Total"]}, by=["a"]),
        "what its total is called.*total='All'",
    ),
    "no names": (lambda: tables.Table.from_microdata({"a": ["p"]}, by=[1]), "names of their columns"),
    "no hierarchy": (lambda: tables.Table.from_microdata({"a": ["p"]}, by=["a"], hierarchies={"a": 5}), "no hierarchy"),
    "no cell": (lambda: tables.Table.from_microdata({"a": ["p"]}, by=["a"]).mark(np.array([9]), "primary"), "0 to 1"),
    "no rule": (lambda: tables.Table.from_microdata({"a": ["p"]}, by=["a"]).flag(tables.Threshold), "is no rule"),
    "no base": (
        lambda: tables.round(tables.Table.from_microdata({"a": ["p"]}, by=["a"]), base="3", teaching_seed=1),
        "positive number",
    ),
    "no small base": (
        lambda: tables.round(
            tables.Table.from_microdata({"a": ["p"]}, by=["a"]), base=1e30, method="small", teaching_seed=1
        ),
        "at most 1000",
    ),
    "no time": (
        lambda: tables.round(tables.Table.from_microdata({"a": ["p"]}, by=["a"]), time_limit="long", teaching_seed=1),
        "number of seconds",
    ),
    "no D": (
        lambda: tables.adjust(tables.Table.from_microdata({"a": ["p"]}, by=["a"]), D="far", teaching_seed=1),
        "largest deviation",
    ),
    "too far": (lambda: tables.transitions(D=10**6, V=2, js=2), "at most 100"),
    "half a move": (lambda: tables.transitions(D=3.5, V=2, js=2), "whole number"),
    "js above D": (lambda: tables.transitions(D=2, V=2, js=5), "D of at least 9"),
    "no pairs": (lambda: tables.feasible_pairs(js=100), "D of at least 2550"),
    "too many tables": (
        lambda: tables.safe(
            {f"v{i}": ["x"] * 3 for i in range(60)}, by=[f"v{i}" for i in range(60)], controlled=60, teaching_seed=1
        ),
        "too many controlled tables",
    ),
    "no tables": (
        lambda: tables.safe({"a": ["p"]}, by=["a"], controlled=None, teaching_seed=1),
        "which tables to control",
    ),
    "no result": (lambda: tables.information_loss({"a": [1]}), "Not a result"),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_input_is_a_mistake_that_says_what_to_do(case):
    asking, words = ODD[case]
    with pytest.raises(Mistake, match=words):
        asking()


def test_a_total_may_have_another_name_where_its_own_is_a_code():
    codes = tables.Hierarchy.flat(["p", "Total"], total="All")
    table = tables.Table.from_microdata({"a": ["p", "Total", "p"]}, by=["a"], hierarchies={"a": codes})
    assert dict(zip(table.codes("a"), table.value.tolist(), strict=True)) == {"All": 3, "p": 2, "Total": 1}


def test_a_message_does_not_repeat_long_codes():
    with pytest.raises(Mistake) as raised:
        tables.Table.from_cells({"a": ["z" * 10_000, "Total"], "x": [1, 5]}, by=["a"], value="x")
    assert len(str(raised.value)) < 500


def rounded_cells(seed: int, *, error: float = 0.0) -> dict[str, list]:
    """Cells of a table that were rounded one by one, and a wrong one."""
    inner = np.random.default_rng(seed).lognormal(3, 1, (4, 5))
    full = np.pad(inner, ((0, 1), (0, 1)))
    full[-1], full[:, -1] = full.sum(axis=0), full.sum(axis=1)
    full[-1, -1] = inner.sum()
    full[0, 0] += error
    names = [f"{name}{number}" for name in "ab" for number in range(5)]
    rows, columns = [*names[:4], "Total"], [*names[5:], "Total"]
    return {
        "a": [row for row in rows for _ in columns],
        "b": columns * len(rows),
        "x": full.round(2).ravel().tolist(),
    }


def test_a_table_that_fails_to_add_up_by_rounding_only_is_told_the_way_on():
    with pytest.raises(Mistake, match="as small as rounding makes them"):
        tables.Table.from_cells(rounded_cells(1), by=["a", "b"], value="x")
    noisy = tables.Table.from_cells(rounded_cells(1), by=["a", "b"], value="x", additive=False)
    adjusted = tables.adjust(noisy, teaching_seed=1)
    adjusted.table.check()
    assert adjusted.largest <= 0.05


def test_a_table_with_a_wrong_cell_is_not_taken_for_a_rounded_one():
    with pytest.raises(Mistake, match="Correct the cells"):
        tables.Table.from_cells(rounded_cells(1, error=1.0), by=["a", "b"], value="x")
