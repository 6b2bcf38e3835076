"""Errors of coefficients by the design of the sample: against plain formulas and statsmodels, and what they may not tell."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm
from scipy.sparse import csr_array
from scipy.special import fdtrc, stdtr, stdtrit

from asking import python_regression
from confide.answering.tables.sampling import Linearised, variances_of
from confide.engines import Coded, Engine
from confide.errors import Mistake
from confide.model.catalog.sampling import LoneUnits
from confide.model.choices import CoefficientErrors
from confide.model.design import Block, Design, Number
from confide.model.evidence import Step
from confide.model.request import Family
from sampled_people import BARE, NOISY, REPLICATES, STRATA, designed, errors, noise, released, sandwich, shown


def matrix(data: Any) -> np.ndarray:
    """Intercept, age and the less common sex, as the model has them."""
    rare = data["sex"].value_counts().index[-1]
    return np.column_stack([np.ones(len(data)), data["age"], data["sex"] == rare]).astype(float)


def fitted(x: Any, y: Any, w: Any, *, logistic: bool) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the records and the inverse of the gram at the estimate: Newton's method, as it is written."""
    beta = np.zeros(x.shape[1])
    for _ in range(30):
        mu = 1 / (1 + np.exp(-x @ beta)) if logistic else x @ beta
        v = mu * (1 - mu) if logistic else np.ones(len(y))
        inverse = np.linalg.inv((x * (w * v)[:, None]).T @ x)
        scores = x * (w * (y - mu))[:, None]
        beta = beta + inverse @ scores.sum(axis=0)
    return scores, inverse


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("logistic", [True, False])
def test_errors_in_strata_are_those_of_the_textbook(town: Any, logistic: bool, finite: bool) -> None:
    place = designed(town, STRATA if finite else 'strata = "stratum"\npsu = "psu"', **BARE)
    data = place.people.to_pandas()
    y = (data["ill"] == "yes") if logistic else data["income"]
    formula, family = ("ill=yes ~ age + sex", "binomial") if logistic else ("income ~ age + sex", "gaussian")
    release = released(place, formula, family=family)
    found = fitted(matrix(data), y.to_numpy(float), data["w"].to_numpy(), logistic=logistic)
    expected = np.sqrt(np.diag(sandwich(*found, data, finite=finite)))
    assert errors(release) == pytest.approx(shown(expected))
    assert "design-based" in release.grids["coefficients"].title
    by_model = released(place, formula, family=family, errors="model")
    assert errors(release)[0] > 1.2 * errors(by_model)[0], "people alike within sampling units must count"
    assert [row[1] for row in by_model.grids["coefficients"].rows][1] == release.grids["coefficients"].rows[1][1]


def test_without_strata_errors_are_cluster_robust_as_statsmodels_has_them(town: Any) -> None:
    """Theirs are times G/(G-1) (N-1)/(N-p); by the design, as in R's survey, times G/(G-1) alone."""
    place = designed(town, 'psu = "psu"', weighted=False, **BARE)
    data = place.people.to_pandas()
    x, groups = matrix(data), data["psu"]
    n, p = x.shape
    linear = sm.OLS(data["income"], x).fit(cov_type="cluster", cov_kwds={"groups": groups})
    undone = np.sqrt((n - p) / (n - 1))
    assert errors(released(place, "income ~ age + sex")) == pytest.approx(shown(linear.bse * undone))
    logit = sm.GLM((data["ill"] == "yes").astype(float), x, family=sm.families.Binomial())
    bse = logit.fit(cov_type="cluster", cov_kwds={"groups": groups}).bse
    release = released(place, "ill=yes ~ age + sex", family="binomial")
    assert errors(release) == pytest.approx(shown(bse * undone))


def test_a_universe_keeps_the_sampling_units_that_have_nobody_in_it(town: Any) -> None:
    """As with a subset of a design in R's survey: they add nothing to a score, and count among those that were drawn."""
    place = designed(town, STRATA, **BARE)
    data = place.people.to_pandas()
    inside = (data["town"] == "a1").to_numpy()
    people = data[inside]
    scores = np.zeros((len(data), 3))
    scores[inside], inverse = fitted(
        matrix(people), people["income"].to_numpy(float), people["w"].to_numpy(), logistic=False
    )
    expected = np.sqrt(np.diag(sandwich(scores, inverse, data)))
    assert errors(released(place, "income ~ age + sex", where={"town": "a1"})) == pytest.approx(shown(expected))


def test_replicate_weights_take_one_step_from_the_estimate(town: Any) -> None:
    place = designed(town, REPLICATES, **BARE)
    data = place.people.to_pandas()
    w = data["w"].to_numpy()
    scores, inverse = fitted(matrix(data), data["income"].to_numpy(float), w, logistic=False)
    steps = [inverse @ (scores * (data[f"rep{r}"].to_numpy() / w - 1)[:, None]).sum(axis=0) for r in range(8)]
    expected = np.sqrt(7 / 8 * np.sum(np.square(steps), axis=0))
    assert errors(released(place, "income ~ age + sex")) == pytest.approx(shown(expected), rel=0.06)


@pytest.mark.parametrize("single", LoneUnits)
def test_a_covariance_of_sums_has_their_variances(single: LoneUnits) -> None:
    strata = np.array([0, 0, 0, 1, 1, 2])
    design = Linearised(strata, np.array([0.1, 0.0, 0.5]), single, 1.0)
    added = np.random.default_rng(3).normal(size=(6, 4))
    found = design.covariance(added)
    assert np.diag(found) == pytest.approx(design.sums(csr_array(added.T)))
    both = design.sums(csr_array((added[:, 0] + added[:, 1])[None, :]))[0]
    assert found[0, 1] == pytest.approx((both - found[0, 0] - found[1, 1]) / 2)
    assert design.freedom(np.ones(6, bool)) == 3
    assert design.freedom(np.array([1, 0, 0, 1, 1, 0], bool)) == 1


def test_p_values_have_the_degrees_of_freedom_of_the_design(town: Any) -> None:
    place = designed(town, STRATA, **BARE)
    for family, formula in (("gaussian", "income ~ age + trade"), ("binomial", "ill=yes ~ age + trade")):
        grids = released(place, formula, family=family).grids
        left = 24 - 4 + 1 - 4
        for _, _, _, statistic, p in grids["coefficients"].rows:
            assert p == pytest.approx(max(1e-4, 2 * stdtr(left, -abs(statistic))), rel=6e-3)
        assert grids["anova"].columns == ("term", "dof", "wald_chi_square", "p_value")
        for _, width, test, p in grids["anova"].rows:
            assert p == pytest.approx(max(1e-4, fdtrc(width, left, test / width)), rel=0.1)
        assert not {"f_statistic", "f_p_value"} & {row[0] for row in grids["statistics"].rows}


@pytest.mark.parametrize("design", ["", 'strata = "stratum"'])
def test_p_values_of_units_drawn_by_themselves_do_not_tell_how_many_were(town: Any, design: str) -> None:
    """Sampling units less strata would be the true number of units, but for a few."""
    place = designed(town, design, weighted=False, **NOISY)
    people = pa.Table.from_pandas(place.people.to_pandas()[:60], preserve_index=False)
    for secret in range(6):
        release = released(place.of(people), "income ~ age + sex", secret)
        told = dict(release.grids["statistics"].rows)["n"]
        for _, _, _, statistic, p in release.grids["coefficients"].rows:
            assert p == pytest.approx(max(1e-4, 2 * stdtr(told - 3, -abs(statistic))), rel=6e-3)
        request = python_regression("people", "income ~ age + sex", errors="design")
        assert place.of(people).desk(secret).consider(request).model.inference.freedom == np.inf


def test_every_engine_adds_up_scores_alike(town: Any, engine_of: Callable[[Coded], Engine]) -> None:
    place = designed(town, STRATA, **BARE)
    data, coded = place.people.to_pandas(), place.coded()
    engine = engine_of(coded)
    design = Design(Number("income"), (Number("age"),), (), (Block((), (), 0, 1), Block((0,), (), 1, 1)))
    beta = (900.0, 3.5)
    clusters = variances_of(coded.facts.sampling).clusters
    found = engine.spread(Step(design, Family.GAUSSIAN, beta=beta, clusters=clusters), np.eye(2)).scores
    left = data["w"] * (data["income"] - beta[0] - beta[1] * data["age"])
    expected = [
        np.array([left[here].sum(), (left * data["age"])[here].sum()])
        for _, here in sorted(data.groupby(["stratum", "psu"]).groups.items())
    ]
    assert sorted(found.tolist()) == [pytest.approx(row) for row in sorted(np.array(expected).tolist())]


def test_own_variables_have_the_errors_of_declared_ones(town: Any) -> None:
    place = designed(town, STRATA, **BARE)
    own = released(place, "income ~ age + where", define=["where = town in (a1, a2)"])
    declared = released(place, "income ~ age + county")
    assert errors(own) == pytest.approx(errors(declared))


def test_the_noise_is_the_same_whatever_the_terms_and_their_names(town: Any) -> None:
    """Else it would be averaged out over models that differ in what has nothing to do with the error."""
    exact, place = designed(town, STRATA, **BARE), designed(town, STRATA, **NOISY)
    drawn = {secret: noise(place, exact, "income ~ age", secret) for secret in range(12)}
    assert 0.01 < np.std(list(drawn.values())) < 0.5, "noise that nobody would notice, or that spoils errors"
    assert abs(np.mean(list(drawn.values()))) < 0.3
    for secret in range(3):
        for formula in ("income ~ age + sex", "income ~ age + sex + trade", "income ~ age + town"):
            assert np.sign(noise(place, exact, formula, secret)) == np.sign(drawn[secret]), formula
        renamed = noise(place, exact, "income ~ age + own", secret, define=["own = sex in (f)"])
        assert renamed == pytest.approx(noise(place, exact, "income ~ age + sex", secret))


def test_the_noise_of_a_class_is_the_same_whoever_else_is_in_the_universe(town: Any) -> None:
    """Else its error could be had without noise, as the mean over universes that differ in other classes."""
    exact, place = designed(town, STRATA, **BARE), designed(town, STRATA, **NOISY)
    people = place.people.to_pandas()
    people["town"] = np.repeat(["a1", "a2", "b1", "b2"], [120, 100, 80, 300])
    people["county"] = people["town"].str[0].str.upper()
    exact, place = (each.of(pa.Table.from_pandas(people, preserve_index=False)) for each in (exact, place))
    for secret in range(3):
        # the intercept is of b2, the most common, and the next column of a1
        drawn = [
            [noise(place, exact, "income ~ town", secret, column, where={"town": towns}) for column in (0, 1)]
            for towns in (["a1", "a2", "b1", "b2"], ["a1", "b1", "b2"], ["a1", "b2"])
        ]
        assert drawn[1] == pytest.approx(drawn[0])
        assert drawn[2] == pytest.approx(drawn[0])


@pytest.mark.parametrize("psus", [2, 6])
def test_too_few_sampling_units_are_refused_and_a_model_without_the_design_is_not(town: Any, psus: int) -> None:
    place = designed(town, 'psu = "psu"', **BARE | {"models": {"leverage_units": 8}})
    people = place.people.to_pandas()
    people["psu"] %= psus
    place = replace(place, people=pa.Table.from_pandas(people, preserve_index=False))
    request = python_regression("people", "income ~ age + sex", errors="design")
    outcome = place.desk().consider(request)
    assert [reason.rule for reason in outcome.reasons] == ["models.design"]
    assert not place.desk().consider(replace(request, errors=CoefficientErrors.MODEL)).reasons


def test_sampling_units_that_have_nobody_in_the_universe_do_not_count(town: Any) -> None:
    place = designed(town, 'psu = "psu"', **BARE | {"models": {"leverage_units": 8}})
    people = place.people.to_pandas()
    people["town"] = np.where(people["psu"] < 5, "a1", "b1")
    people["county"] = people["town"].str[0].str.upper()
    desk = place.of(pa.Table.from_pandas(people, preserve_index=False)).desk()
    request = python_regression("people", "income ~ age", where={"county": "A"}, errors="design")
    assert [reason.rule for reason in desk.consider(request).reasons] == ["models.design"]
    assert not desk.consider(replace(request, errors=CoefficientErrors.MODEL)).reasons
    assert not desk.consider(
        python_regression("people", "income ~ age", where={"county": "B"}, errors="design")
    ).reasons


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"errors": "sample"}, "There is no errors of coefficients 'sample'."),
        ({"errors": "design", "against": "income ~ age"}, "leave 'deviance' and 'against' out"),
    ],
)
def test_what_cannot_be_asked_is_a_mistake(words: dict[str, Any], says: str) -> None:
    with pytest.raises(Mistake, match=says.replace(".", r"\.")):
        python_regression("people", "income ~ age + sex", **words)


def test_a_design_that_is_not_declared_is_a_mistake(town: Any) -> None:
    place = designed(town, None, **BARE)
    with pytest.raises(Mistake, match="not declared"):
        place.desk().consider(python_regression("people", "income ~ age", errors="design"))


ALONE = {"simple": "", "strata": 'strata = "stratum"\npsu = "id"'}


@pytest.mark.parametrize("design", ALONE)
def test_noise_hides_a_unit_more_or_less_in_a_small_class(town: Any, design: str) -> None:
    """The variance of a mean is about 1 / n times that of a unit: with less noise than 1 / n of it, n could be read off."""
    few = 30
    exact, place = (designed(town, ALONE[design], weighted=False, **rules) for rules in (BARE, NOISY))
    people = place.people.to_pandas()
    people["sex"] = np.where(np.arange(len(people)) < few, "m", "f")
    exact, place = (each.of(pa.Table.from_pandas(people, preserve_index=False)) for each in (exact, place))
    drawn = [noise(place, exact, "income ~ sex", secret) for secret in range(16)]
    assert np.std(drawn) > 3 / few
    assert sum(abs(each) < 0.2 / few for each in drawn) < 4


def test_intervals_are_of_t_with_the_degrees_of_freedom_of_the_design(town: Any) -> None:
    """As the p-values are: those of odds ratios and those that a page draws, by one number that the answer tells."""
    release = released(designed(town, STRATA, **BARE), "ill=yes ~ age + sex", family="binomial")
    left = 24 - 4 + 1 - 3
    wide = stdtrit(left, 0.975)
    assert dict(release.grids["statistics"].rows)["interval_errors"] == pytest.approx(wide, rel=1e-3)
    assert release.interval_errors == pytest.approx(wide, rel=1e-3) and wide > 2.09
    told = {row[0]: row[1:3] for row in release.grids["coefficients"].rows}
    for label, _, low, high in release.grids["ratios"].rows:
        estimate, error = told[label]
        assert low == pytest.approx(np.exp(estimate - wide * error), rel=6e-3)
        assert high == pytest.approx(np.exp(estimate + wide * error), rel=6e-3)
    plain = released(designed(town, STRATA, **BARE), "ill=yes ~ age + sex", family="binomial", errors="model")
    assert plain.interval_errors == 1.96 and "interval_errors" not in dict(plain.grids["statistics"].rows)


def test_effects_are_tested_by_t_with_the_degrees_of_freedom_of_the_design(town: Any) -> None:
    release = released(designed(town, STRATA, **BARE), "ill=yes ~ age + sex", family="binomial", also="effects")
    for _, effect, error, statistic, p in release.grids["effects"].rows:
        assert statistic == pytest.approx(effect / error, rel=6e-3)
        assert p == pytest.approx(max(2 * stdtr(24 - 4 + 1 - 3, -abs(statistic)), 1e-4), rel=6e-3)
