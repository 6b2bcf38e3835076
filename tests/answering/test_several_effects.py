"""Average marginal effects of models of several classes, in their order or not, and of durations: those of statsmodels, rounded."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel

from asking import Desk, python_regression
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.errors import Mistake
from confide.model.policy import Policy
from several_people import EXACT, POLICY, SIZE, TRADES, WORDS, ask, columns_of, people


@pytest.fixture
def desks(town: Any, engine_of: Any) -> Any:
    here = replace(town.of(people()), catalog=town.catalog.replace('weight = "w"', ""))
    engine = engine_of(here.coded())

    @cache
    def desk(secret: int = 0, policy: Policy = POLICY) -> Desk:
        return Desk(Road(here.dataset, engine, Shield(policy, here.secret(secret))))

    return desk


def effects(desk: Desk, formula: str, kind: str, **more: Any) -> dict[tuple[str, str], tuple[float, float]]:
    """Effect and error by the class of the response, where there is one, and the term."""
    grid = ask(desk, formula, also="effects", **WORDS[kind], **more).grids["effects"]
    columns = ("term", "effect", "standard_error", "statistic", "p_value")
    assert grid.columns == (columns if kind == "survival" else ("response", *columns))
    rows = [("", *row) if kind == "survival" else row for row in grid.rows]
    return {(row[0], row[1]): row[2:4] for row in rows}


def shares(kind: str, columns: dict[str, Any]) -> Any:
    """A function from coefficients to the mean shares, given who the people are; with statsmodels' estimates and covariance.

    The model is trade ~ age + sex; `columns` are those of other people, as if everyone were in a class or a year older.
    """
    own = columns_of(people())
    y = np.array([TRADES.index(trade) for trade in own["trade"]])
    plain, moved = (np.column_stack([c["age"] / 100, c["sex"] == "m"]).astype(float) for c in (own, columns))
    if kind == "multinomial":
        fit = sm.MNLogit(y, sm.add_constant(plain, has_constant="add")).fit(disp=False, tol=1e-12)
        beta, covariance = np.asarray(fit.params).ravel(order="F"), np.asarray(fit.cov_params())

        def mean(b: Any) -> Any:
            eta = np.column_stack([np.zeros(SIZE), sm.add_constant(moved, has_constant="add") @ b.reshape(2, 3).T])
            each = np.exp(eta)
            return (each / each.sum(axis=1, keepdims=True)).mean(axis=0)
    elif kind == "ordered":
        fit = OrderedModel(y, plain, distr="logit").fit(method="bfgs", disp=False, maxiter=2000, gtol=1e-8)
        beta, covariance = np.asarray(fit.params), np.asarray(fit.cov_params())

        def mean(b: Any) -> Any:
            return fit.model.predict(b, exog=moved).mean(axis=0)
    else:
        at, period = np.nonzero(np.arange(3) <= y[:, None])
        happened = ((period == y[at]) & (own["ill"][at] == "yes")).astype(float)
        dummies = period[:, None] == np.arange(3)
        fit = sm.Logit(happened, np.column_stack([dummies, plain[at]]).astype(float)).fit(disp=False, tol=1e-12)
        beta, covariance = np.asarray(fit.params), np.asarray(fit.cov_params())

        def mean(b: Any) -> Any:
            return np.array([fit.model.predict(b, np.column_stack([dummies, moved[at]]).astype(float)).mean()])

    return mean, beta, covariance


def wanted(kind: str, one: dict[str, Any], other: dict[str, Any], *, by: float = 1.0) -> tuple[Any, Any]:
    """The difference of mean shares between two sets of people, with its errors by the delta method."""
    first, beta, covariance = shares(kind, one)
    second, _, _ = shares(kind, other)

    def value(b: Any) -> Any:
        return (first(b) - second(b)) / by

    steps = 1e-3 * np.sqrt(np.diag(covariance))
    slopes = np.array(
        [(value(beta + h * e) - value(beta - h * e)) / (2 * h) for h, e in zip(steps, np.eye(len(beta)), strict=True)]
    )
    return value(beta), np.sqrt(np.einsum("aj,ab,bj->j", slopes, covariance, slopes))


@pytest.mark.parametrize("kind", list(WORDS))
def test_effects_are_differences_of_mean_shares(desks: Any, kind: str) -> None:
    found = effects(desks(0, EXACT), "trade ~ age + sex", kind)
    own = columns_of(people())
    classes = [""] if kind == "survival" else TRADES
    [label] = {term for _, term in found if term.startswith("sex=")}
    sexes = [{**own, "sex": np.full(SIZE, sex)} for sex in "fm"]
    home, there = sexes if label == "sex=m" else sexes[::-1]
    ages = [{**own, "age": own["age"] + h} for h in (0.01, -0.01)]
    for term, (values, errors) in {label: wanted(kind, there, home), "age": wanted(kind, *ages, by=0.02)}.items():
        for code, value, error in zip(classes, values, errors, strict=True):
            told = found[code, term]
            # errors of ordered models are by the expected information, those of statsmodels by the observed one
            assert told[0] == pytest.approx(value, abs=(0.06 if kind == "ordered" else 0.052) * error)
            assert told[1] == pytest.approx(error, rel=0.08 if kind == "ordered" else 0.052)


@pytest.mark.parametrize("kind", ["multinomial", "ordered"])
def test_effects_on_all_classes_add_up_to_nothing(desks: Any, kind: str) -> None:
    found = effects(desks(), "trade ~ age + square(age) + town + sex + age:sex", kind)
    terms = {term for _, term in found}
    assert len(terms) == 5, "the square and the interaction count in the slope of age"
    for term in terms:
        rows = [found[code, term] for code in TRADES]
        assert abs(sum(row[0] for row in rows)) <= sum(row[1] for row in rows) / 10


def test_effects_of_classes_are_those_of_the_protected_counts(desks: Any) -> None:
    """With one class variable a fitted share is that of the protected table: effects are differences of its rows."""
    for secret in range(3):
        desk = desks(secret)
        found, model = (
            effects(desk, "trade ~ town", "multinomial"),
            ask(desk, "trade ~ town", **WORDS["multinomial"]).model,
        )
        by_class = (model.predictors.constraint @ model.inference.estimates).reshape(2, -1)
        places = [TRADES[place] for place in model.explained.places]
        for column, label in enumerate(model.compiled.labels[1:], 1):
            eta = [np.concatenate([[0.0], by_class[:, 0] + by_class[:, column] * own]) for own in (1, 0)]
            there, home = (np.exp(one) / np.exp(one).sum() for one in eta)
            for at, code in enumerate(places):
                told = found[code, label]
                assert abs(told[0] - (there - home)[at]) <= told[1] / 20 * 1.001


@pytest.mark.parametrize("kind", list(WORDS))
def test_effects_against_a_chosen_reference_are_differences_of_the_rounded_ones(desks: Any, kind: str) -> None:
    plain = effects(desks(), "trade ~ age + town", kind)
    code = next(code for code in ("a1", "a2", "b1") if any(term == f"town={code}" for _, term in plain))
    moved = effects(desks(), f"trade ~ age + relevel(town, {code})", kind)
    assert len(moved) == len(plain)
    for level, term in set(plain) & set(moved):
        wanted = plain[level, term][0] - (0.0 if term == "age" else plain[level, f"town={code}"][0])
        assert abs(moved[level, term][0] - wanted) <= moved[level, term][1] / 20 * 1.001


@pytest.mark.parametrize("kind", list(WORDS))
def test_effects_carry_the_noise_of_the_counts(desks: Any, kind: str) -> None:
    """Who is averaged over, too: other predictors count as often as their protected counts say."""
    assert len({tuple(effects(desks(secret), "trade ~ town + sex", kind).values()) for secret in range(4)}) > 2


@pytest.mark.parametrize("kind", ["multinomial", "ordered"])
def test_words_of_ones_own_have_effects(desks: Any, kind: str) -> None:
    own = "sort = first: trade in (p); second: trade in (q); else: third"
    found = effects(desks(0, EXACT), "sort ~ age", kind, define=[own])
    plain = effects(desks(0, EXACT), "trade ~ age", kind)
    assert [found[code, "age"] for code in ("first", "second", "third")] == [plain[code, "age"] for code in TRADES]


def test_numbers_have_no_shares(desks: Any) -> None:
    with pytest.raises(Mistake, match="shares of classes"):
        desks().consider(python_regression("people", "income ~ age", also="effects"))
