"""Variables of an analyst's own in questions: the same units have the same answer, and are judged as what they are made of."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from asking import python_correlation, python_regression, python_table
from confide.answering.auditing.asked import asked_tables
from confide.errors import Mistake
from confide.spelling.json import read_request, write_request

CUT = """
[variables.age_wide]
of = "age"
cutpoints = [40]
"""

NORTH = "place = a: town in (a1, b1); else: b"


@pytest.fixture(scope="module", params=["standard", "drop-q"])
def hall(request: pytest.FixtureRequest, town: Any) -> Any:
    """The town with a coarser cut of ages, under the policy of every site, or with every mechanism in force."""
    return replace(town.preset(request.param), catalog=town.catalog + CUT)


def numbers(outcome: Any) -> list[Any]:
    return [(name, column.values.tobytes(), column.noise.tobytes()) for name, column in outcome.columns.items()]


@pytest.mark.parametrize(
    ("own", "define", "declared"),
    [
        ("g", "g = cut(age, 40)", "age_wide"),
        ("g", "g = cut(age, 20, 40, 60, 110)", "age"),
        ("g", "g = A: town in (a1, a2, a9); B: town in (b1, b2)", "county"),
        ("g", "g = f: sex in (f); m: sex in (m); else: x", "sex"),
    ],
)
def test_what_equals_a_declared_form_has_its_numbers_bit_for_bit(
    hall: Any, own: str, define: str, declared: str
) -> None:
    desk, words = hall.desk(), {"columns": "ill", "measure": ["count", "total", "mean"], "of": "income"}
    made = desk.consider(python_table("people", rows=own, define=define, **words))
    plain = desk.consider(python_table("people", rows=declared, **words))
    assert made.reasons == plain.reasons
    assert numbers(made) == numbers(plain)


@pytest.mark.parametrize(
    ("own", "declared"),
    [
        ({"where": "old=yes", "define": "old = age >= 40"}, {"where": "age_wide=40+"}),
        ({"where": "p=a", "define": NORTH.replace("place", "p")}, {"where": "town=a1,b1"}),
        (
            {"where": "s=yes", "define": "s = sex in (f) and age >= 40"},
            {"where": {"sex": ["f"], "age_wide": ["40+"]}},
        ),
        ({"where": "s=no;sex=f", "define": "s = sex in (m, x)"}, {"where": "sex=f"}),
    ],
)
def test_a_universe_in_own_words_is_the_universe(hall: Any, own: dict[str, Any], declared: dict[str, Any]) -> None:
    desk = hall.desk()
    one, other = (python_table("people", rows="ill", **words) for words in (own, declared))
    assert desk.road.admit(one).request == desk.road.admit(other).request
    assert desk.receipt(one) == desk.receipt(other)
    assert desk.consider(one) == desk.consider(other)


def test_cells_of_own_classes_are_those_of_the_same_units_elsewhere(hall: Any) -> None:
    """The row of a class is the total over a universe of the same units, where no unit is dropped."""
    desk = hall.under(drop={"k": 0}).desk()
    table = desk.consider(python_table("people", rows="place", define=NORTH))
    whole = desk.consider(python_table("people", rows="sex", where="town=a1,b1"))
    assert not table.reasons and not whole.reasons
    assert table.columns["count"].values[0] == whole.columns["count"].values[-1]


@pytest.mark.parametrize("formula", ["income ~ g + sex", "income ~ g*sex", "ill=yes ~ g + sex"])
def test_models_by_what_equals_a_declared_form_are_the_same(hall: Any, formula: str) -> None:
    desk, family = hall.desk(), "binomial" if "ill" in formula else "gaussian"
    made = desk.consider(python_regression("people", formula, family=family, define="g = cut(age, 40)"))
    plain = desk.consider(python_regression("people", formula.replace("g", "age_wide"), family=family))
    assert made.reasons == plain.reasons
    for name, grid in plain.grids.items():
        renamed = [[str(value).replace("age_wide", "g") for value in row] for row in grid.rows]
        assert [[str(value) for value in row] for row in made.grids[name].rows] == renamed


def test_models_and_correlations_take_what_is_made_of_several(town: Any) -> None:
    desk, define = town.preset("standard").desk(), "s = sex in (f) and age >= 40"
    fit = desk.consider(python_regression("people", "income ~ s", define=define))
    assert fit.reasons == []
    found = desk.consider(python_correlation("people", ["income", "s"], define=define))
    assert found.reasons == []
    with pytest.raises(Mistake, match="made of several variables"):
        desk.consider(python_regression("people", "s=yes ~ age", family="binomial", define=define))


def test_a_model_by_a_combination_has_the_means_of_its_classes(town: Any) -> None:
    """Under no protection but digits: the intercept is the mean of the reference, the slope the difference."""
    open_town = town.preset("open").under(tables={"cross": True})
    desk, define = open_town.desk(), "s = sex in (f) and age >= 40 or county in (B) and age < 40"
    fit = desk.consider(python_regression("people", "income ~ s", define=define))
    means = desk.consider(python_table("people", rows="s", measure="mean", of="income", define=define))
    assert not fit.reasons and not means.reasons
    estimates = {row[0]: row[1] for row in fit.grids["coefficients"].rows}
    [dummy] = estimates.keys() - {"(Intercept)"}
    yes, no, *_ = means.columns["mean"].values
    reference, other = (no, yes) if dummy == "s=yes" else (yes, no)
    assert np.isclose(estimates["(Intercept)"], reference, rtol=0.01)
    assert np.isclose(estimates["(Intercept)"] + estimates[dummy], other, rtol=0.02)


def test_a_grouping_is_refused_where_the_codes_it_is_made_of_are(town: Any) -> None:
    """Groups that do not nest give single codes by their differences; so no group is safer than its codes."""
    strict = town.preset("standard").under(tables={"mean_cell": 40.0})
    desk = strict.desk()
    fine = desk.consider(python_table("people", rows=["town", "trade"], columns="sex"))
    own = desk.consider(python_table("people", rows=["place", "trade"], columns="sex", define=NORTH))
    coarse = desk.consider(python_table("people", rows=["county", "trade"], columns="sex"))
    assert fine.reasons and [r.rule for r in own.reasons] == [r.rule for r in fine.reasons]
    assert not coarse.reasons
    along = desk.consider(
        python_table("people", rows=["g", "trade"], columns="sex", define="g = A: town in (a1, a2, a9); else: B")
    )
    assert not along.reasons  # groups along a coarser level are that level


def test_without_a_rule_on_the_cross_own_classes_are_judged_by_theirs_all_the_same(town: Any) -> None:
    desk = town.under(tables={"cross": False, "mean_cell": 40.0}).desk()
    own = desk.consider(python_table("people", rows=["place", "trade"], columns="sex", define=NORTH))
    assert "tables.mean_cell" in [reason.rule for reason in own.reasons]
    desk = town.under(tables={"cross": False, "mean_cell": 100.0}).desk()
    fit = desk.consider(python_regression("people", "income ~ place*trade + sex", define=NORTH))
    assert "tables.mean_cell" in [reason.rule for reason in fit.reasons]
    pair = desk.consider(python_correlation("people", ["place", "trade"], define=NORTH))
    assert "tables.mean_cell" in [reason.rule for reason in pair.reasons]


def test_what_excludes_each_other_does_so_in_own_words_too(hall: Any) -> None:
    desk = hall.desk()
    own = {"define": ["w = work in (yes)", "old = age >= 40"]}
    for words in (
        python_table("people", rows=["w", "trade"], **own),
        python_table("people", rows="w", where="trade=p", **own),
        python_table("people", rows=["age", "old"], **own),
        python_regression("people", "income ~ age + old", **own),
        python_correlation("people", ["w", "trade"], **own),
    ):
        assert "tables.exclusion" in [reason.rule for reason in desk.consider(words).reasons]
    with pytest.raises(Mistake, match="is made of the response"):
        desk.consider(python_regression("people", "i=yes ~ ill", family="binomial", define="i = ill in (yes)"))


def test_the_sensitive_variable_is_kept_from_suppressed_ones_in_own_words(town: Any) -> None:
    policy = {"models": {"sensitive": "ill", "suppressed": ("county",)}}
    desk = town.preset("standard").under(**policy).desk()
    asked = python_table("people", rows=["i", "place"], define=["i = ill in (yes)", NORTH])
    assert "models.suppressed" in [reason.rule for reason in desk.consider(asked).reasons]


def test_the_answer_the_ledger_and_the_receipt_keep_what_is_needed_and_no_more(hall: Any) -> None:
    desk = hall.desk()
    asked = python_table("people", rows="place", define=[NORTH, "old = age >= 40"])
    question = desk.road.admit(asked)
    assert [one.name for one in question.request.define] == ["place"]
    assert desk.receipt(asked) == desk.receipt(python_table("people", rows="place", define=NORTH))
    other = python_table("people", rows="place", define="place = a: town in (a1); else: b")
    assert desk.receipt(asked) != desk.receipt(other)
    again = read_request(write_request(question.request))
    assert desk.consider(again) == desk.consider(asked)
    assert "define" not in write_request(python_table("people", rows="sex"))


def test_the_audit_counts_own_classes_as_those_they_are_made_of(hall: Any) -> None:
    admit = hall.desk().road.admit
    own = asked_tables(admit(python_table("people", rows="place", columns="sex", define=NORTH)), 0)
    fine = asked_tables(admit(python_table("people", rows="town", columns="sex")), 0)
    assert own == fine


def test_suggestions_keep_the_definition_and_pass(town: Any) -> None:
    desk = town.preset("standard").under(tables={"mean_cell": 40.0}).desk()
    asked = python_table("people", rows=["place", "trade"], columns="sex", define=NORTH)
    assert any("place" in suggestion.address and "define=" in suggestion.address for suggestion in desk.suggest(asked))


def test_what_is_not_defined_is_no_variable(hall: Any) -> None:
    with pytest.raises(Mistake, match="No variable called 'place'"):
        hall.desk().consider(python_table("people", rows="place"))
    with pytest.raises(Mistake, match="does not go with its own classes"):
        hall.desk().consider(
            python_table("people", rows="old", measure="median", of="age", define="old = cut(age, 20, 40, 60, 110)")
        )
