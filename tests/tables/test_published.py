"""What others get to see says no more than it must."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from confide import tables
from confide.tables.table.decimals import decimals_of, written


def turnover(seed: int, *, decimals: int = 2) -> tables.Table:
    rng = np.random.default_rng(seed)
    records = {
        "a": rng.choice(list("pqrst"), 90, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
        "b": rng.choice(list("uvwx"), 90),
        "x": np.maximum(rng.lognormal(3, 1.4, 90).round(decimals), 1.0),
        "h": rng.integers(0, 45, 90),
    }
    table = tables.Table.from_microdata(records, by=["a", "b"], of="x", holding="h")
    return table.flag(tables.PPercent(p=15), tables.Threshold(3))


def test_nothing_is_published_but_codes_values_and_marks_and_primaries_look_like_secondaries():
    safe = tables.suppress(turnover(1))
    shown = safe.table.published()
    assert shown.column_names == ["a", "b", "value", "mark"]
    hidden = np.array([mark == "c" for mark in shown["mark"].to_pylist()])
    assert safe.secondaries and (hidden == safe.table.suppressed).all()
    assert all(value is None for value, gone in zip(shown["value"].to_pylist(), hidden, strict=True) if gone)


def test_published_values_have_no_digits_left_from_adding_up():
    shown = tables.suppress(turnover(2)).table.published()["value"].to_pylist()
    assert all(value is None or value == round(value, 2) for value in shown)
    real = np.random.default_rng(1).random(50)
    assert decimals_of(real) is None and np.allclose(written(real), real, rtol=0, atol=1e-12)


@pytest.mark.parametrize("values", [[], [0.0], [1e300, 1e299], [1e-300], [2.0**60, 1.0]], ids=str)
def test_any_number_can_be_written(values):
    assert np.allclose(written(np.array(values)), values, rtol=1e-9, atol=0)


@pytest.mark.parametrize("cost", ["L1", "L2", "Linf"])
@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_adjusted_values_have_as_many_decimals_as_the_true_ones_and_keep_their_levels(cost, decimals):
    table = turnover(5, decimals=decimals)
    adjusted = tables.adjust(table, cost=cost, teaching_seed=1)
    shown = np.array(adjusted.table.published()["value"].to_pylist())
    assert decimals_of(shown) == decimals_of(table.value) == decimals
    assert np.abs(table.relations.residuals(shown)).max() < 1e-9 * shown.max()
    moved = shown - table.value
    away = (moved >= table.upper_protection - 1e-9) | (-moved >= table.lower_protection - 1e-9)
    assert away[table.primary].all()
    assert set(adjusted.table.published()["mark"].to_pylist()) == {""}


def test_more_decimals_are_there_for_who_asks():
    table = turnover(5, decimals=0)
    assert decimals_of(tables.adjust(table, cost="L2", integer=False, teaching_seed=1).table.value) != 0


@pytest.mark.parametrize("base", [3, 5])
def test_counts_under_controlled_rounding_cannot_be_computed(base):
    """An intruder who knows the base, that true counts add up, and a solver for whole numbers."""
    rng = np.random.default_rng(base)
    records = {"a": rng.choice(list("pqrs"), 40, p=[0.5, 0.3, 0.15, 0.05]), "b": rng.choice(list("uvw"), 40)}
    table = tables.Table.from_microdata(records, by=["a", "b"])
    shown = tables.round(table, base=base, teaching_seed=1).table.value
    adds_up = LinearConstraint(table.relations.matrix.toarray(), 0, 0)
    bounds = Bounds(np.maximum(shown - base + 1, 0), shown + base - 1)
    for cell in range(len(table)):
        ends = []
        for sign in (1, -1):
            aim = sign * (np.arange(len(table)) == cell)
            ends.append(sign * milp(aim, constraints=adds_up, bounds=bounds, integrality=np.ones(len(table))).fun)
        assert ends[0] <= table.value[cell] <= ends[1]
        assert ends[1] - ends[0] >= 2


def test_reports_say_that_they_are_for_the_custodian_and_follow_the_reader_s_light(tmp_path):
    table = turnover(1)
    for number, result in enumerate(
        (tables.suppress(table), tables.audit(table), tables.adjust(table, teaching_seed=1))
    ):
        path = tmp_path / f"{number}.html"
        result.report(path)
        page = path.read_text(encoding="utf-8")
        assert "For the custodian only." in page and "prefers-color-scheme: dark" in page
        assert page.count("<source") == 3 * page.count("<img")
    tables.transitions(D=3, V=2, js=2).report(tmp_path / "moves.html")
    assert "custodian" not in (tmp_path / "moves.html").read_text(encoding="utf-8")
