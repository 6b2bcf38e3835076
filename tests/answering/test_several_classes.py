"""Models of several classes, of classes in their order and of durations: what statsmodels says, and with the counts of the table."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel

from asking import Desk, python_regression, python_table
from confide.errors import Mistake
from several_people import (
    EXACT,
    LIMITS_OPEN,
    POLICY,
    SIZE,
    TOWNS,
    TRADES,
    WORDS,
    ask,
    columns_of,
    desks_of,
    matrix,
    people,
)


@pytest.fixture(scope="module")
def open_desk(town: Any) -> Any:
    """Nothing is protected but digits; with a weight in force or without."""

    @cache
    def desk(weighted: bool) -> Desk:
        here = town.preset("open").under(models=LIMITS_OPEN, tables={"cross": True}).of(people(weighted=weighted))
        catalog = here.catalog if weighted else here.catalog.replace('weight = "w"', "")
        return replace(here, catalog=catalog).desk()

    return desk


@pytest.fixture(scope="module")
def desks(town: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return desks_of(town, tmp_path_factory.mktemp("several"))


FORMULAS = ["trade ~ town", "trade ~ sex*age + town", "trade ~ log(income) + sex + age^2"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_multinomial_model_is_that_of_statsmodels(open_desk: Any, formula: str) -> None:
    answer = ask(open_desk(False), formula, **WORDS["multinomial"])
    model, columns = answer.model, columns_of(people())
    x = matrix(model.compiled.labels, columns)
    rows = np.isfinite(x).all(axis=1)
    levels = [TRADES[place] for place in model.explained.places]
    y = np.array([levels.index(trade) for trade in columns["trade"]])
    fit = sm.MNLogit(y[rows], x[rows]).fit(disp=False, maxiter=200, tol=1e-12)
    found = model.inference
    at = [(column, k) for k, column in model.predictors.places]
    np.testing.assert_allclose(found.estimates, [fit.params[one] for one in at], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.errors, [fit.bse[one] for one in at], rtol=1e-6)
    assert found.deviance == pytest.approx(-2 * fit.llf)
    assert found.null_deviance == pytest.approx(-2 * fit.llnull)
    assert found.r_squared == pytest.approx(fit.prsquared)


@pytest.mark.parametrize("formula", FORMULAS)
def test_an_ordered_model_is_that_of_statsmodels(open_desk: Any, formula: str) -> None:
    answer = ask(open_desk(False), formula, **WORDS["ordered"])
    model, columns = answer.model, columns_of(people())
    x = matrix(model.compiled.labels[1:], columns)
    rows = np.isfinite(x).all(axis=1)
    size = np.abs(x[rows]).max(axis=0)
    y = np.array([TRADES.index(trade) for trade in columns["trade"]])
    fit = OrderedModel(y[rows], x[rows] / size, distr="logit").fit(method="bfgs", disp=False, maxiter=2000, gtol=1e-8)
    found, many = model.inference, 2
    slopes = x.shape[1]
    np.testing.assert_allclose(found.estimates[many:] * size, fit.params[:slopes], rtol=1e-4, atol=1e-5)
    thresholds = fit.model.transform_threshold_params(fit.params)[1:-1]
    np.testing.assert_allclose(found.estimates[:many], thresholds, rtol=1e-4, atol=1e-5)
    # ours are by the expected information, those of statsmodels by the observed one
    np.testing.assert_allclose(found.errors[many:] * size, fit.bse[:slopes], rtol=0.03)
    assert found.deviance == pytest.approx(-2 * fit.llf)


@pytest.mark.parametrize("formula", ["town ~ sex", "town ~ age + sex + trade", "town ~ sex*age"])
def test_a_model_of_durations_is_a_logit_of_the_expanded_records(open_desk: Any, formula: str) -> None:
    answer = ask(open_desk(False), formula, **WORDS["survival"])
    model, columns = answer.model, columns_of(people())
    periods = ["a1", "a2", "b1", "b2"]
    x = matrix(model.compiled.labels[1:], columns)
    last = np.array([periods.index(town) for town in columns["town"]])
    rows, period = np.nonzero(np.arange(4) <= last[:, None])
    y = (period == last[rows]) & (columns["ill"][rows] == "yes")
    expanded = np.column_stack([period[:, None] == np.arange(4), x[rows]]).astype(float)
    fit = sm.GLM(y.astype(float), expanded, family=sm.families.Binomial()).fit(tol=1e-14, maxiter=200)
    np.testing.assert_allclose(model.inference.estimates, fit.params, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.inference.errors, fit.bse, rtol=1e-7)
    assert model.inference.deviance == pytest.approx(fit.deviance)
    hazards = answer.grids["hazards"].rows
    assert [row[0] for row in hazards] == periods
    assert hazards[0][1] == pytest.approx(1 / (1 + np.exp(-fit.params[0])), abs=0.02)


@pytest.mark.parametrize("kind", list(WORDS))
def test_weights_make_robust_errors(open_desk: Any, kind: str) -> None:
    """By the sandwich of scores that numpy gives, and the same however large the weights are."""
    response = "town" if kind == "survival" else "trade"
    model = ask(open_desk(True), f"{response} ~ sex + age", **WORDS[kind]).model
    assert model.inference.robust
    plain = ask(open_desk(False), f"{response} ~ sex + age", **WORDS[kind]).model
    ratio = model.inference.errors / plain.inference.errors
    weights = people(weighted=True)["w"].to_numpy()
    wider = np.sqrt((weights**2).sum() * SIZE) / weights.sum()
    # weights are independent of all else, so that errors grow by what Kish's effective size tells: within a tenth
    np.testing.assert_allclose(ratio, wider, rtol=0.1)


@pytest.mark.parametrize("kind", list(WORDS))
def test_a_chosen_reference_is_the_same_fit_told_by_other_differences(open_desk: Any, kind: str) -> None:
    response = "town" if kind == "survival" else "trade"
    plain = _slopes(ask(open_desk(False), f"{response} ~ sex + age", **WORDS[kind]))
    [(_, label)] = {(0, term) for _, term in plain if term.startswith("sex=")}
    kept, other = label[-1], {"f": "m", "m": "f"}[label[-1]]
    turned = _slopes(ask(open_desk(False), f"{response} ~ relevel(sex, {kept}) + age", **WORDS[kind]))
    for level in {level for level, _ in plain}:
        assert turned[level, f"sex={other}"] == pytest.approx(-plain[level, label])
        assert turned[level, "age"] == plain[level, "age"]


def _slopes(answer: Any) -> dict[tuple[str, str], float]:
    """Estimates by the class of the response, where there is one, and the term; no intercepts."""
    grid = answer.grids["coefficients"]
    rows = [("", *row) if grid.columns[0] == "term" else row for row in grid.rows]
    return {(row[0], row[1]): row[2] for row in rows if row[1] != "(Intercept)"}


def test_a_chosen_class_of_the_response_is_compared_with(open_desk: Any) -> None:
    plain, other = (
        ask(open_desk(False), f"{response} ~ age", **WORDS["multinomial"])
        for response in ("trade", "relevel(trade, r)")
    )
    base = TRADES[plain.model.explained.places[0]]
    slopes = [
        {row[0]: row[2] for row in answer.grids["coefficients"].rows if row[1] == "age"} for answer in (plain, other)
    ]
    assert slopes[0] | {base: 0.0} == {code: slopes[0].get(code, 0.0) for code in TRADES}
    for code in ("p", "q"):
        told = slopes[0].get(code, 0.0) - slopes[0].get("r", 0.0)
        assert slopes[1][code] == pytest.approx(told)
    assert "The classes of trade are compared with r." in other.notes


def counts(desk: Desk, rows: str, columns: str) -> Any:
    return desk.consider(python_table("people", rows=rows, columns=columns)).columns["count"].values


def test_the_shares_of_a_class_are_those_of_the_protected_table(desks: Any) -> None:
    """Of the classes with a column; the reference has what is left of everyone."""
    for secret in range(5):
        desk = desks(secret)
        model, table = ask(desk, "trade ~ town", **WORDS["multinomial"]).model, counts(desk, "town", "trade")[:-1, :-1]
        beta = model.predictors.constraint @ model.inference.estimates
        by_class = beta.reshape(2, -1)
        for column, label in enumerate(model.compiled.labels[1:], 1):
            row = table[TOWNS.index(label.removeprefix("town="))][list(model.explained.places)]
            np.testing.assert_allclose(by_class[:, 0] + by_class[:, column], np.log(row[1:] / row[0]), atol=1e-5)


def test_nothing_but_protected_counts_is_in_the_errors_of_a_model_of_one_class_variable(desks: Any) -> None:
    """The error of a class's log odds is what its protected counts make it, and no other count of it: a reader learns no more."""
    spread = POLICY.counts.variance
    for secret in range(5):
        desk = desks(secret)
        model, table = ask(desk, "trade ~ town", **WORDS["multinomial"]).model, counts(desk, "town", "trade")[:-1, :-1]
        covariance, columns = model.inference.covariance, model.columns
        correction = SIZE / (SIZE - 1) * (SIZE - 1) / (SIZE - columns)
        for column, label in enumerate(model.compiled.labels[1:], 1):
            row = table[TOWNS.index(label.removeprefix("town="))][list(model.explained.places)].astype(float)
            for k in range(2):
                level = np.array([(own, of) in ((k, 0), (k, column)) for own, of in model.predictors.places], float)
                told = level @ covariance @ level
                sampled, drawn = 1 / row[k + 1] + 1 / row[0], spread * (1 / row[k + 1] ** 2 + 1 / row[0] ** 2)
                assert told == pytest.approx(correction * sampled + drawn, rel=1e-4)


@pytest.mark.parametrize("kind", list(WORDS))
def test_whatever_else_is_in_the_formula_the_calibrated_counts_are_those_of_the_table(desks: Any, kind: str) -> None:
    """So that a covariate does not give true counts back."""
    desk, response = desks(1), "sex" if kind == "survival" else "trade"
    if kind == "survival":
        model = ask(desk, "trade ~ town + sex + age", **WORDS[kind]).model
        table = desk.consider(python_table("people", rows="town", columns=("trade", "ill"))).columns["count"].values
    else:
        model = ask(desk, "trade ~ town + sex + age", **WORDS[kind]).model
        table = counts(desk, "town", "trade")
    assert response
    found = model.fitted.question
    records = {**columns_of(people())}
    x = matrix(model.compiled.labels, records)
    x[:, list(model.compiled.labels).index("age")] -= 60  # the middle of its domain
    codes = [TRADES[place] for place in model.explained.places]
    y = np.array([codes.index(trade) for trade in records["trade"]])
    y = 2 * y + (records["ill"] == "yes") if kind == "survival" else y
    times = 1 + (x * np.array(found.calibration)[y]).sum(axis=1)
    moved = 0.0
    for town in ("a2", "b1", "b2"):
        inside = records["town"] == town
        for outcome in range(len(found.calibration)):
            told = times[inside & (y == outcome)].sum()
            if kind == "survival":
                wanted = table[TOWNS.index(town), outcome // 2, outcome % 2]
            else:
                wanted = table[TOWNS.index(town), TRADES.index(codes[outcome])]
            assert told == pytest.approx(max(wanted, 0.5), abs=1e-6)
            moved = max(moved, abs(told - (inside & (y == outcome)).sum()))
    assert moved >= 1, "a draw that moves nothing shows nothing"


@pytest.mark.parametrize("kind", list(WORDS))
def test_errors_include_the_noise_of_the_counts(desks: Any, kind: str) -> None:
    """Over 60 secrets the estimates vary about the true ones as the errors say: within 4 standard errors of a variance."""
    formula = ("trade ~ town + age", WORDS[kind])
    exact = ask(desks(0, EXACT), formula[0], **formula[1]).model
    found = [ask(desks(secret), formula[0], **formula[1]).model.inference for secret in range(60)]
    moved = np.array([one.estimates for one in found]) - exact.inference.estimates
    added = np.mean([one.errors**2 for one in found], axis=0) - exact.inference.errors**2
    classes = [at for at, (_, column) in enumerate(exact.predictors.places) if "=" in exact.compiled.labels[column]]
    wide = 4 * np.sqrt(2 / len(found))
    assert np.all(np.abs(np.mean(moved[:, classes] ** 2, axis=0) / added[classes] - 1) < wide)
    slopes = [at for at, (_, column) in enumerate(exact.predictors.places) if exact.compiled.labels[column] == "age"]
    assert np.all(np.abs(moved[:, slopes]) < 0.2 * exact.inference.errors[slopes]), (
        "slopes of numbers stay about as they are"
    )


@pytest.mark.parametrize("kind", list(WORDS))
def test_numbers_have_no_more_digits_than_their_errors(desks: Any, kind: str) -> None:
    answer = ask(desks(2), "trade ~ town + age", **WORDS[kind])
    for name, first in (("coefficients", "estimate"), ("thresholds", "estimate"), ("hazards", "estimate")):
        if name not in answer.grids:
            continue
        grid = answer.grids[name]
        at = grid.columns.index(first)
        for row in grid.rows:
            unit = 10.0 ** (np.floor(np.log10(row[at + 1]) + 1e-9) - 1)
            assert row[at] / unit == pytest.approx(round(row[at] / unit), abs=1e-6)
    n = dict(answer.grids["statistics"].rows)["n"]
    assert n == answer.model.published


MISTAKES = [
    ("ill ~ age", {"family": "multinomial"}, "needs 3 classes or more"),
    ("ill ~ age", {"family": "ordered"}, "needs 3 classes or more"),
    ("log(age) ~ sex", {"family": "ordered"}, "leave 'log' out"),
    ("income ~ sex", {"family": "multinomial"}, "is numeric and has no declared cutpoints"),
    ("trade=p ~ sex", {"family": "multinomial"}, "name the variable alone"),
    ("trade ~ sex", {"family": "survival"}, "and an 'event'"),
    ("trade ~ sex", {"family": "ordered", "event": "ill=yes"}, "and an 'event'"),
    ("trade ~ sex", {"family": "survival", "event": "ill"}, "is no class"),
    ("trade ~ sex", {"family": "survival", "event": "ill=perhaps"}, "has no code 'perhaps'"),
    ("trade ~ sex", {"family": "survival", "event": "ill in (yes, no)"}, "leave one out"),
    ("trade ~ ill", {"family": "survival", "event": "ill=yes"}, "is made of the response 'ill'"),
    ("trade ~ trade", {"family": "multinomial"}, "stands on both sides"),
    ("town ~ sex", {"family": "survival", "event": "town=a1"}, "is made of the duration"),
    ("relevel(trade, z) ~ sex", {"family": "multinomial"}, "has no code 'z'"),
    ("relevel(trade, p) ~ sex", {"family": "ordered"}, "only in family='multinomial'"),
    ("nothing ~ sex", {"family": "ordered"}, "No variable called 'nothing'"),
    ("trade ~ sex", {"family": "multinominal"}, "There is no family 'multinominal'"),
]


@pytest.mark.parametrize(("formula", "words", "said"), MISTAKES)
def test_what_does_not_fit_is_a_mistake_that_says_so(open_desk: Any, formula: str, words: Any, said: str) -> None:
    with pytest.raises(Mistake, match=said.replace("(", r"\(")):
        open_desk(False).consider(python_regression("people", formula, **words))


def test_a_response_of_which_one_class_is_there_is_refused(open_desk: Any, desks: Any) -> None:
    for desk in (open_desk(False), desks(0)):
        for words in (WORDS["multinomial"], WORDS["ordered"]):
            answer = desk.consider(python_regression("people", "trade ~ sex", where={"trade": "p"}, **words))
            assert [reason.rule for reason in answer.reasons] in (["models.classes"], ["models.unfit"])


def test_a_class_with_too_few_units_is_left_out_or_joined_with_the_one_before_it(town: Any) -> None:
    """The odds of two classes do not depend on a third; an ordered model of fewer classes is one of coarser ones."""
    some = people().to_pandas()
    few = some[(some.trade != "r") | (some.index % 40 == 0)]
    here = replace(town.of(pa.Table.from_pandas(few, preserve_index=False)), policy=EXACT)
    left = ask(here.desk(), "trade ~ sex", **WORDS["multinomial"])
    assert {row[0] for row in left.grids["coefficients"].rows} < {"p", "q"}
    assert dict(left.grids["statistics"].rows)["n"] == (few.trade != "r").sum()
    assert "Left out, with too few units: r of trade." in left.notes
    joined = ask(here.desk(), "trade ~ sex", **WORDS["ordered"])
    assert dict(joined.grids["statistics"].rows)["n"] == len(few)
    assert [row[0] for row in joined.grids["thresholds"].rows] == ["p | q"]
    assert "r of trade has too few units and is joined with q." in joined.notes


def test_a_class_of_a_predictor_without_some_class_of_the_response_stands_with_the_reference(town: Any) -> None:
    """Its odds would have no end. In an ordered model it has them, as long as its units are not all alike."""
    some = people().to_pandas()
    some = some[(some.town != "b1") | (some.trade != "r")]
    here = replace(town.of(pa.Table.from_pandas(some, preserve_index=False)), policy=EXACT)
    labels = {
        kind: ask(here.desk(), "trade ~ town", **WORDS[kind]).model.compiled.labels
        for kind in ("multinomial", "ordered")
    }
    assert "town=b1" not in labels["multinomial"]
    assert "town=b1" in labels["ordered"]


def test_missing_classes_of_the_response_are_left_out(town: Any) -> None:
    catalog = town.catalog.replace("[variables.trade]\n", '[variables.trade]\nmissing = ["q"]\n').replace(
        "[variables.trade.codes]", '[variables.trade.codes]\ns = "Sailor"'
    )
    some = people().to_pandas()
    some.loc[some.index % 3 == 0, "trade"] = "s"
    here = replace(town.of(pa.Table.from_pandas(some, preserve_index=False)), catalog=catalog, policy=EXACT)
    answer = ask(here.desk(), "trade ~ age", **WORDS["multinomial"])
    assert dict(answer.grids["statistics"].rows)["n"] == (some.trade != "q").sum()
    assert {row[0] for row in answer.grids["coefficients"].rows} <= {"p", "r", "s"}


def test_periods_with_too_few_events_are_joined_with_the_one_before(town: Any) -> None:
    some = people().to_pandas()
    some.loc[some.town == "b1", "ill"] = "no"
    here = replace(town.of(pa.Table.from_pandas(some, preserve_index=False)), policy=EXACT)
    answer = ask(here.desk(), "town ~ sex", **WORDS["survival"])
    assert [row[0] for row in answer.grids["hazards"].rows] == ["a1", "a2", "b2"]
    assert "b1 of town has too few units and is joined with a2." in answer.notes
    rows = some.assign(period=some.town.map({"a1": 0, "a2": 1, "b1": 1, "b2": 2}))
    there = [(rows.period >= at).sum() for at in range(3)]
    happened = [((rows.period == at) & (rows.ill == "yes")).sum() for at in range(3)]
    null = -2 * sum(h * np.log(h / n) + (n - h) * np.log(1 - h / n) for h, n in zip(happened, there, strict=True))
    assert answer.model.inference.null_deviance == pytest.approx(null)


def test_words_of_ones_own_may_be_explained(open_desk: Any) -> None:
    """The classes of a response that the asker made are those of a stored one."""
    own = "sort = first: trade in (p); second: trade in (q); else: third"
    answer = ask(open_desk(False), "sort ~ age + town", define=[own], **WORDS["ordered"])
    plain = ask(open_desk(False), "trade ~ age + town", **WORDS["ordered"])
    np.testing.assert_allclose(answer.model.inference.estimates, plain.model.inference.estimates, rtol=1e-8)


def test_a_number_with_cutpoints_is_explained_by_its_bins(open_desk: Any) -> None:
    answer = ask(open_desk(False), "age ~ sex", **WORDS["ordered"])
    assert len(answer.grids["thresholds"].rows) == 3
    bins = np.digitize(people()["age"].to_numpy(), [20, 40, 60])
    own = (people()["sex"].to_numpy() == _kept(answer)).astype(float)
    fit = OrderedModel(bins, own[:, None], distr="logit").fit(method="bfgs", disp=False, maxiter=500, gtol=1e-8)
    assert answer.model.inference.estimates[-1] == pytest.approx(fit.params[0], abs=1e-4)


def _kept(answer: Any) -> str:
    return str(answer.grids["coefficients"].rows[0][0]).removeprefix("sex=")
