"""Models in words and as charts: every coefficient is found again, references are named, and charts show the same numbers."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.formats.charts.theme import LONGEST_LABEL, distinct, dressed
from confide.formats.models.charts import MOST_ROWS, coefficient_chart, correlation_chart
from confide.formats.models.residuals import in_words, plot_words, residual_table
from confide.formats.models.words import class_words, coefficients, p_words, relabelled, statistics, term_words
from confide.model.catalog.dataset import Code, CodeList, Dataset, Kind, Variable
from confide.model.formula import Factor, Formula, Transform, read_formula
from confide.model.model_release import Grid, ModelRelease
from confide.model.request import Family, RegressionRequest

ODD = ("x=1:y=2", "a:b", "c")


def categorical(name, label, codes):
    return Variable(name, label, Kind.CATEGORICAL, codes=CodeList(tuple(Code(c, f"label {c}") for c in codes)))


DATASET = Dataset(
    "people",
    "People",
    {
        "age": Variable("age", "Age", Kind.NUMERIC, minimum=0, maximum=100),
        "income": Variable("income", "Income", Kind.NUMERIC, minimum=0),
        "sex": categorical("sex", "Sex", ("f", "m")),
        "odd": categorical("odd", "Odd", ODD),
        "o=d:d": categorical("o=d:d", "Odder", ODD),
    },
)


def release(formula, rows, *, family=Family.GAUSSIAN, notes=(), **grids):
    coefficient = Grid(
        "coefficients", "Coefficients (robust standard errors)", ("term", "e", "s", "t", "p"), tuple(rows)
    )
    made = {"coefficients": coefficient, **grids}
    return ModelRelease(
        RegressionRequest("people", read_formula(formula), family=family), "T", "Everyone", made, tuple(notes), "p", "r"
    )


def row(label, estimate=1.0, error=0.5):
    return (label, estimate, error, estimate / error, 0.04)


def test_coefficients_stand_under_their_terms_with_the_class_they_are_compared_with():
    made = release(
        "income ~ age + sex + age:sex",
        [row("(Intercept)"), row("age", 0.01, 0.0021), row("sex=m", -12345.0, 23.0), row("age:sex=m")],
        notes=["The reference of sex is f."],
    )
    intercept, age, sex, both = coefficients(made, DATASET)
    assert intercept.words == "Intercept" and not intercept.rows[0].words
    assert age.words == "Age" and age.rows[0].shown[:3] == ("0.0100", "0.0059 to 0.0141", "0.0021")
    assert (sex.words, sex.reference, sex.absorbed) == ("Sex", "label f", ())
    assert sex.rows[0].words == "label m" and sex.rows[0].shown[0] == "−12,345"
    assert both.words == "Age × Sex" and both.rows[0].words == "label m" and both.reference == ""


def test_classes_without_a_coefficient_stand_beside_the_reference():
    made = release(
        "income ~ odd", [row("(Intercept)"), row("odd=c")], notes=["The reference of odd is a:b, and with it x=1:y=2."]
    )
    _, odd = coefficients(made, DATASET)
    assert odd.reference == "label a:b" and odd.absorbed == ("label x=1:y=2",)


@pytest.mark.parametrize("names", list(itertools.combinations(["odd", "o=d:d", "sex"], 2)))
def test_labels_of_interactions_are_found_whatever_their_codes_hold(names):
    terms = ((Factor(names[0]),), (Factor(names[1]),), (Factor(names[0]), Factor(names[1])))
    formula = Formula(Factor("income"), terms)
    codes = [DATASET.variables[f.variable].codes.names[1:] for f in formula.terms[-1]]
    order = [f.variable for f in formula.terms[-1]]
    labels = [":".join(f"{n}={c}" for n, c in zip(order, pair, strict=True)) for pair in itertools.product(*codes)]
    made = release("income ~ age", [row("(Intercept)"), *map(row, labels)])
    made = replace(made, request=RegressionRequest("people", formula))
    last = coefficients(made, DATASET)[-1]
    assert [r.words for r in last.rows] == [
        " × ".join(f"label {c}" for c in pair) for pair in itertools.product(*codes)
    ]


def test_ratios_are_those_of_the_released_estimates():
    made = release("sex=m ~ age", [row("(Intercept)"), row("age", np.log(2), 0.1)], family=Family.BINOMIAL)
    intercept, age = coefficients(made, DATASET)
    assert (
        age.rows[0].ratio == pytest.approx(2)
        and age.rows[0].shown[3] == "2 (1.64 to 2.43)"
        and intercept.rows[0].ratio is None
        and intercept.rows[0].shown[3].startswith("odds ")
        and len(intercept.rows[0].shown) == len(age.rows[0].shown)
    )


def test_intervals_are_as_wide_as_the_answer_says():
    numbers = Grid("statistics", "S", ("name", "value"), (("interval_errors", 3.0),))
    made = release("income ~ age", [row("(Intercept)"), row("age", 1.0, 0.1)], statistics=numbers)
    [age] = coefficients(made, DATASET)[1].rows
    assert (age.low, age.high) == (pytest.approx(0.7), pytest.approx(1.3))
    assert [name for name, _ in statistics(made)] == ["Standard errors on either side in 95 % intervals"]


def test_effects_on_classes_of_the_response_are_told_in_words():
    terms = read_formula("sex ~ odd").terms
    grid = Grid("effects", "E", ("response", "term", "effect"), (("m", "odd=c", 0.1), ("f", "age", 0.2)))
    named = {"m": "label m", "f": "label f"}
    assert list(relabelled(grid, DATASET, terms, named)) == [
        ("label m", class_words("odd=c", DATASET), 0.1),
        ("label f", "Age", 0.2),
    ]


def test_transformations_are_told_in_words():
    [term] = read_formula("income ~ log(age):sex").terms
    assert term_words(term, DATASET) == "Age (logarithm) × Sex"
    assert p_words(1e-4) == "≤ 0.0001" and p_words(0.02) == "0.02" and p_words(None) == "[z]"


def test_whole_terms_and_statistics_are_told_in_words():
    terms = read_formula("income ~ square(age) + sex").terms
    grid = Grid("anova", "A", ("term", "dof"), (("square(age)", 1), ("sex", 1), ("Residuals", 9)))
    assert [first for first, _ in relabelled(grid, DATASET, terms)] == ["Age (squared)", "Sex", "Residuals"]
    numbers = Grid("statistics", "S", ("name", "value"), (("n", 1234), ("f_p_value", 1e-4), ("new", 2)))
    assert list(statistics(release("income ~ age", [], statistics=numbers))) == [
        ("Units (protected)", "1,234"),
        ("p-value of F", "≤ 0.0001"),
        ("new", "2"),
    ]


def test_labels_of_correlations_are_told_in_words():
    labels = ["age", "sex=m", "o=d:d=x=1:y=2", "o=d:d", "strange=x"]
    words = ["Age", "Sex: label m", "Odder: label x=1:y=2", "Odder", "strange=x"]
    assert [class_words(label, DATASET) for label in labels] == words
    assert class_words("sex=m", DATASET, first="class") == "label m – Sex"


def test_the_coefficient_chart_shows_every_row_on_a_scale_of_its_term():
    made = release("income ~ age + sex", [row("(Intercept)"), row("age"), row("sex=m", -2.0)])
    spec = coefficient_chart(coefficients(made, DATASET)[1:], response="Income")
    values = spec["data"]["values"]
    assert [(v["term"], v["class"], v["estimate"]) for v in values] == [
        ("Age", "each unit more", 1.0),
        ("Sex", "label m", -2.0),
    ]
    assert all(v["low"] < v["estimate"] < v["high"] for v in values)
    assert spec["resolve"]["scale"]["x"] == "independent" and "95 percent" in spec["description"]
    assert dressed(spec, dark=False, width=540)["spec"]["width"] < 400


def test_a_chart_of_many_coefficients_is_cut():
    codes = tuple(str(n) for n in range(200))
    dataset = replace(DATASET, variables={**DATASET.variables, "many": categorical("many", "Many", codes)})
    made = release("income ~ many", [row("(Intercept)"), *(row(f"many={c}") for c in codes[1:])])
    groups = coefficients(made, dataset)
    assert (
        len(groups[1].rows) == 199 and len(coefficient_chart(groups[1:], response="x")["data"]["values"]) == MOST_ROWS
    )


def test_the_heat_map_has_a_cell_for_every_pair_even_of_equal_labels():
    spec = correlation_chart(["Same", "Same", "x" * 500], np.eye(3).tolist())
    cells = {(v["row"], v["column"]): v["correlation"] for v in spec["data"]["values"]}
    assert len(cells) == 9 and cells["Same", "Same (2)"] == 0 and cells["Same", "Same"] == 1
    assert max(len(v["row"]) for v in spec["data"]["values"]) <= LONGEST_LABEL


@given(st.lists(st.text(max_size=80), max_size=12))
def test_labels_that_stand_beside_each_other_are_different(texts):
    shown = distinct(texts)
    assert len(shown) == len(texts)
    once = [text for text in shown if not text.endswith(")")]
    assert len(set(once)) == len(once) and all("\n" not in text for text in shown)


def test_plots_are_told_in_parts_of_about_the_same_size():
    points = tuple((float(x), float(x % 7) - 3) for x in range(1000))
    columns, rows = residual_table(Grid("plot: age", "t", ("x", "residual"), points), words="Age", labels={})
    assert columns[0] == ("Age", "") and len(rows) == 10 and rows[0][:2] == ["0 to 99", "100"]
    assert residual_table(Grid("plot: age", "t", ("x", "residual"), ()), words="Age", labels={})[1] == []
    one = residual_table(Grid("plot: age", "t", ("x", "residual"), ((1.0, 2.0),)), words="Age", labels={})[1]
    assert one == [["1 to 1", "1", "2", "2", "2"]]


def test_boxes_are_told_by_class_and_suppressed_ones_marked():
    grid = Grid(
        "plot: sex",
        "t",
        ("class", "p5", "p25", "median", "p75", "p95"),
        (("f", -2.0, -1.0, 0.12345, 1.0, 2.0), ("m", *[None] * 5)),
    )
    columns, rows = residual_table(grid, words="Sex", labels={"f": "Female", "m": "Male"})
    assert rows == [["Female", "-2", "-1", "0.123", "1", "2"], ["Male", *["[z]"] * 5]] and len(columns) == 6


def test_a_plot_in_words_keeps_its_numbers():
    layer = {
        "data": {"values": [{"class": "f", "low": 1.0}]},
        "mark": {"type": "bar"},
        "encoding": {"x": {"field": "class", "title": "sex", "scale": {"domain": ["f", "m"]}}},
    }
    told = in_words(
        {"title": "t", "description": "Box plots by sex: boxes", "layer": [layer]},
        name="sex",
        words="Sex",
        labels={"f": "Same", "m": "Same"},
    )
    assert "title" not in told and told["description"] == "Box plots by Sex: boxes"
    [shown] = told["layer"]
    assert shown["data"]["values"] == [{"class": "Same", "low": 1.0}]
    assert (
        shown["encoding"]["x"]["scale"]["domain"] == ["Same", "Same (2)"] and shown["encoding"]["x"]["title"] == "Sex"
    )


def test_every_plot_of_a_model_has_words():
    request = RegressionRequest("people", read_formula("income ~ log(age) + sex + log(age):sex"))
    assert plot_words(request, DATASET) == {"fitted": "the fitted values", "log(age)": "Age (logarithm)", "sex": "Sex"}
    assert Transform.LOG == "log"
