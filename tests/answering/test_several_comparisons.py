"""Likelihood-ratio tests of models of several classes, in their order or not, and of durations: right, judged, of protected counts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.miscmodels.ordinal_model import OrderedModel

from asking import Desk, python_regression, python_table
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.errors import Mistake
from confide.model.choices import Extra
from several_people import EXACT, TOWNS, TRADES, WORDS, ask, columns_of, desks_of, matrix, people


@pytest.fixture
def exact(town: Any, engine_of: Any) -> Desk:
    """No count is protected; on every engine."""
    here = replace(town.of(people()), catalog=town.catalog.replace('weight = "w"', ""))
    return Desk(Road(here.dataset, engine_of(here.coded()), Shield(EXACT, here.secret(0))))


@pytest.fixture(scope="module")
def desks(town: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return desks_of(town, tmp_path_factory.mktemp("comparisons"))


def deviance(kind: str, labels: Any, rows: Any) -> float:
    """What statsmodels leaves of the deviance with these columns; the intercept is the first."""
    columns = columns_of(people())
    x = matrix(labels, columns)[rows]
    y = np.array([TRADES.index(trade) for trade in columns["trade"]])[rows]
    if kind == "multinomial":
        return float(-2 * sm.MNLogit(y, x).fit(disp=False, maxiter=200, tol=1e-12).llf)
    if kind == "ordered" and x.shape[1] == 1:
        sizes = np.bincount(y)
        return float(-2 * (sizes * np.log(sizes / len(y))).sum())
    if kind == "ordered":
        scaled = x[:, 1:] / np.abs(x[:, 1:]).max(axis=0)
        return float(
            -2 * OrderedModel(y, scaled, distr="logit").fit(method="bfgs", disp=False, maxiter=2000, gtol=1e-8).llf
        )
    at, period = np.nonzero(np.arange(3) <= y[:, None])
    happened = (period == y[at]) & (columns["ill"][rows][at] == "yes")
    expanded = np.column_stack([period[:, None] == np.arange(3), x[at, 1:]]).astype(float)
    return float(sm.GLM(happened.astype(float), expanded, family=sm.families.Binomial()).fit(tol=1e-14).deviance)


def within(value: float, wanted: float, dof: int) -> bool:
    """Whether a difference of deviances was rounded to the second digit of its error."""
    return abs(value - wanted) <= np.sqrt(2 * dof + 4 * max(wanted, 0)) / 20 * 1.001


@pytest.mark.parametrize("kind", list(WORDS))
def test_a_table_of_deviance_is_that_of_the_models_one_after_the_other(exact: Desk, kind: str) -> None:
    answer = ask(exact, "trade ~ age + town + income", also="deviance", **WORDS[kind])
    rows, labels = answer.grids["deviance"].rows, answer.model.compiled.labels
    assert answer.grids["deviance"].columns == ("term", "dof", "deviance", "residual_deviance", "p_value")
    assert [row[0] for row in rows] == ["(Intercept)", "age", "town", "income"]
    here = np.isfinite(columns_of(people())["income"])
    each = 2 if kind == "multinomial" else 1
    assert [row[1] for row in rows] == [None, each, 3 * each, each]
    left = [deviance(kind, labels[:size], here) for size in (1, 2, 5, 6)]
    for row, before, after in zip(rows[1:], left, left[1:], strict=False):
        assert within(row[2], before - after, row[1])
        assert row[3] == pytest.approx(after, rel=0.06), "two digits below 1,000 units"
        assert row[4] == pytest.approx(max(stats.chi2.sf(row[2], row[1]), 1e-4), rel=0.01)
    assert rows[0][3] == pytest.approx(left[0], rel=0.06)


@pytest.mark.parametrize("kind", list(WORDS))
def test_a_comparison_is_a_test_of_the_terms_that_are_left_out(exact: Desk, kind: str) -> None:
    answer = ask(exact, "trade ~ age + town + sex", against="trade ~ sex + age", **WORDS[kind])
    small, whole = answer.grids["comparison"].rows
    labels = answer.model.compiled.labels
    everyone = np.ones(len(people()), bool)
    left = deviance(kind, labels, everyone)
    taken = deviance(kind, [label for label in labels if "town" not in label], everyone) - left
    assert small[0] == "trade ~ age + sex" and whole[0] == "trade ~ age + town + sex"
    dof = 6 if kind == "multinomial" else 3
    assert whole[4] == dof == whole[1] - small[1] and within(whole[5], taken, dof)
    assert small[4:] == (None, None, None)
    assert whole[3] == pytest.approx(left + 2 * whole[1], rel=0.06)


def table(desk: Desk, columns: Any) -> Any:
    answer = desk.consider(python_table("people", rows="town", columns=columns))
    return answer.columns["count"].values[tuple(slice(-1) for _ in range(1 + len(columns)))]


def ratio(counts: Any) -> float:
    """The likelihood ratio of a class variable against nothing, from counts by its classes and the outcomes."""
    return _minus(counts.sum(axis=0)) - sum(map(_minus, counts))


def _minus(counts: Any) -> float:
    some = counts[counts > 0]
    return float(-2 * (some * np.log(some / some.sum())).sum())


def test_a_likelihood_ratio_is_that_of_the_protected_table_and_not_of_the_true_one(desks: Any) -> None:
    """The intruder works it out from the table: what the ratio tells is known from there, the reference aside, which has what
    is left of everyone. Over secrets it is off the true one by the noise of counts."""
    true = ratio(table(desks(0, EXACT), ("trade",)))
    off: dict[str, list[float]] = {"told": [], "table": []}
    for secret in range(30):
        desk = desks(secret)
        model = ask(desk, "trade ~ town", **WORDS["multinomial"]).model
        counts = np.maximum(table(desk, ("trade",)).astype(float), 0)
        everyone = np.array(desk.consider(python_table("people", rows="trade")).columns["count"].values[:-1], float)
        kept = [TOWNS.index(label.removeprefix("town=")) for label in model.compiled.labels[1:]]
        rest = everyone - counts[kept].sum(axis=0)
        worked_out = ratio(np.vstack([counts[kept], rest]))
        assert model.likelihood_ratio(None) == pytest.approx(worked_out, abs=1e-4)
        off["told"].append(model.likelihood_ratio(None) - true)
        off["table"].append(ratio(counts) - true)
    told_by, noise = (float(np.sqrt(np.mean(np.square(off[name])))) for name in ("told", "table"))
    assert told_by > 0.7 * noise > 0, "what is told has the noise that a table has"


@pytest.mark.parametrize("kind", list(WORDS))
def test_a_ratio_is_the_same_whatever_it_is_told_within(desks: Any, kind: str) -> None:
    """Or asking with one term more and another would draw the noise anew, and average it and the rounding out."""
    desk = desks(3)
    alone = ask(desk, "trade ~ town", also="deviance", **WORDS[kind])
    first = alone.grids["deviance"].rows[1]
    for more in ("sex", "age", "sex + age", "age*sex"):
        within = ask(desk, f"trade ~ town + {more}", also="deviance", **WORDS[kind]).grids["deviance"]
        assert within.rows[:2] == alone.grids["deviance"].rows
    statistics = dict(alone.grids["statistics"].rows)
    assert first[3] == statistics["residual_deviance"]


@pytest.mark.parametrize("kind", list(WORDS))
def test_ratios_carry_the_noise_of_counts(desks: Any, kind: str) -> None:
    """Of a class beside others, too: differences of two nested models are those of other records with every secret."""
    exact = ask(desks(0, EXACT), "trade ~ sex + town", against="trade ~ sex", **WORDS[kind]).model
    [small] = exact.smaller.values()
    true = exact.likelihood_ratio(small)
    found = []
    for secret in range(20):
        model = ask(desks(secret), "trade ~ sex + town", against="trade ~ sex", **WORDS[kind]).model
        found.append(model.likelihood_ratio(next(iter(model.smaller.values()))) - true)
    assert len({round(one, 6) for one in found}) == 20
    # a unit more in a cell of n moves the ratio by about twice the logarithm of what its share is of the others'
    assert np.std(found) > 1, "one unit, of the noise of many cells"


@pytest.mark.parametrize("kind", ["multinomial", "ordered"])
def test_a_comparison_tells_no_saturated_model(desks: Any, kind: str) -> None:
    """A saturated model within another that is not: asked alone it is refused, and so is the comparison."""
    desk = desks(0)
    alone = desk.consider(python_regression("people", "trade ~ sex*town", **WORDS[kind]))
    assert "models.saturated" in [reason.rule for reason in alone.reasons]
    whole = python_regression("people", "trade ~ ill + sex*town", **WORDS[kind])
    assert not desk.consider(whole).reasons
    asked = replace(whole, against=replace(whole.formula, terms=whole.formula.terms[1:]))
    assert [reason.rule for reason in desk.consider(asked).reasons] == ["models.nested"]
    assert next(iter(desk.suggest(asked))) == "without the comparison"


@pytest.mark.parametrize("kind", list(WORDS))
def test_a_comparison_tells_no_interaction_without_its_parts(desks: Any, kind: str) -> None:
    asked = python_regression("people", "trade ~ age*sex + town", against="trade ~ age:sex + town", **WORDS[kind])
    assert [reason.rule for reason in desks(0).consider(asked).reasons] == ["models.nested"]
    assert not desks(0).consider(replace(asked, against=None, also=(Extra.DEVIANCE,))).reasons


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"against": "trade ~ work"}, "some of the terms"),
        ({"against": "trade ~ sex + age"}, "some of the terms"),
        ({"against": "town ~ sex"}, "something else"),
        ({"against": "trade=p ~ sex"}, "something else"),
        ({"against": "nothing ~ sex"}, "something else"),
        ({"also": "covariance"}, "leave 'covariance' out"),
    ],
)
@pytest.mark.parametrize("kind", list(WORDS))
def test_what_cannot_be_compared_is_a_mistake(desks: Any, kind: str, words: Any, match: str) -> None:
    with pytest.raises(Mistake, match=match):
        desks(0).consider(python_regression("people", "trade ~ age + sex", **words, **WORDS[kind]))


def test_the_class_that_others_are_compared_with_changes_no_test(desks: Any) -> None:
    plain = ask(desks(1), "trade ~ age + sex", against="trade ~ age", **WORDS["multinomial"])
    turned = ask(desks(1), "relevel(trade, r) ~ age + sex", against="trade ~ age", **WORDS["multinomial"])
    assert [row[1:] for row in plain.grids["comparison"].rows] == [row[1:] for row in turned.grids["comparison"].rows]
