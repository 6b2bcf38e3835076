"""Errors by the design in models of several classes and durations: against statsmodels and plain formulas, and what they hide."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm
from scipy.special import fdtrc, stdtr, stdtrit

from asking import python_regression
from confide.answering.tables.sampling import variances_of
from confide.engines import Coded, Engine
from confide.errors import Mistake
from confide.model.design import Block, Category, Design, Duration, Number
from confide.model.evidence import Step
from confide.model.request import Family
from sampled_people import BARE, NOISY, REPLICATES, STRATA, designed, noise, released, sampled, sandwich
from several_people import WORDS

LEVELS = ["p", "q", "r"]
PERIODS = ["a1", "a2", "b1", "b2"]
FORMULA = {"multinomial": "trade ~ age + sex", "ordered": "trade ~ age + sex", "survival": "town ~ age + sex"}


def workers(size: int = 600) -> pa.Table:
    """The sampled people with a trade that is alike within sampling units."""
    data = sampled(size=size).to_pandas()
    rng = np.random.default_rng(8)
    latent = rng.normal(size=24)[data["psu"]] + 0.01 * data["age"] + rng.logistic(size=size)
    data["trade"] = np.array(LEVELS)[np.digitize(latent, [0.0, 1.2])]
    return pa.Table.from_pandas(data, preserve_index=False)


def place_of(town: Any, design: str, *, weighted: bool = True, **policy: Any) -> Any:
    return designed(town, design, weighted=weighted, **policy).of(workers())


def model_of(place: Any, kind: str, secret: int = 0, formula: str = "", **words: Any) -> Any:
    asked = {"errors": "design", **WORDS[kind], **words}
    answer = place.desk(secret).consider(python_regression("people", formula or FORMULA[kind], **asked))
    assert not answer.reasons, answer.reasons
    return answer.model


def columns(model: Any, data: Any) -> np.ndarray:
    [rare] = [label[-1] for label in model.compiled.labels if label.startswith("sex=")]
    return np.column_stack([np.ones(len(data)), data["age"], data["sex"] == rare]).astype(float)


def outcomes(model: Any, kind: str, data: Any) -> np.ndarray:
    if kind == "survival":
        return 2 * data["town"].map(PERIODS.index).to_numpy() + (data["ill"] == "yes").to_numpy()
    order = LEVELS if kind == "ordered" else [LEVELS[place] for place in model.explained.places]
    return data["trade"].map(order.index).to_numpy()


def logarithms(kind: str, theta: Any, at: list[tuple[int, int]], x: Any) -> list[np.ndarray]:
    """For each yes or no, or choice, that a record makes: the logarithms of the shares of its outcomes."""
    many = max(k for k, _ in at) + 1
    beta = np.zeros((many, x.shape[1]), complex)
    for value, (k, column) in zip(theta, at, strict=True):
        beta[k if kind == "multinomial" or not column else slice(None), column] = value
    beta[:, 1:] *= -1 if kind == "ordered" else 1
    eta = x @ beta.T
    if kind == "multinomial":
        whole = 1 + np.exp(eta).sum(axis=1)
        return [np.column_stack([-np.log(whole), *(eta[:, k] - np.log(whole) for k in range(many))])]
    share = 1 / (1 + np.exp(-eta))
    if kind == "ordered":
        below = np.column_stack([0 * share[:, :1], share, 1 + 0 * share[:, :1]])
        return [np.log(below[:, 1:] - below[:, :-1])]
    return [np.log(np.column_stack([1 - share[:, k], share[:, k]])) for k in range(many)]


def by_hand(model: Any, kind: str, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the records and the inverse of the expected information, with derivatives by complex steps."""
    at, theta, x = model.predictors.places, model.inference.estimates.astype(complex), columns(model, data)
    y, w, tiny = outcomes(model, kind, data), data["w"].to_numpy(), 1e-30
    moved = [logarithms(kind, theta + 1j * tiny * (np.arange(len(at)) == a), at, x) for a in range(len(at))]
    scores, information = np.zeros((len(data), len(at))), np.zeros((len(at), len(at)))
    for k, choice in enumerate(logarithms(kind, theta, at, x)):
        slopes = np.stack([one[k].imag / tiny for one in moved], axis=2)
        there = y // 2 >= k if kind == "survival" else y >= 0
        chosen = (y == 2 * k + 1).astype(int) if kind == "survival" else y
        scores += np.where(there, w, 0.0)[:, None] * slopes[np.arange(len(y)), chosen]
        weights = np.where(there, w, 0.0)[:, None] * np.exp(choice.real)
        information += np.einsum("iy,iya,iyb->ab", weights, slopes, slopes)
    assert np.abs(np.linalg.solve(information, scores.sum(axis=0)) / model.inference.errors).max() < 1e-6
    return scores, np.linalg.inv(information)


@pytest.mark.parametrize("kind", list(WORDS))
def test_errors_in_strata_are_those_of_the_textbook(town: Any, kind: str) -> None:
    place = place_of(town, STRATA, **BARE)
    data, model = place.people.to_pandas(), model_of(place, kind)
    expected = np.sqrt(np.diag(sandwich(*by_hand(model, kind, data), data)))
    np.testing.assert_allclose(model.inference.errors, expected, rtol=1e-6)
    plain = model_of(place, kind, errors="model").inference
    np.testing.assert_allclose(plain.estimates, model.inference.estimates)
    ratio = model.inference.errors / plain.errors
    assert kind == "survival" or ratio.max() > 1.2, "people are alike within sampling units"


@pytest.mark.parametrize("kind", ["multinomial", "survival"])
def test_without_strata_errors_are_cluster_robust_as_statsmodels_has_them(town: Any, kind: str) -> None:
    """Its small-sample factor G/(G-1) (N-1)/(N-p) apart: by the design it is G/(G-1) alone."""
    place = place_of(town, 'psu = "psu"', weighted=False, **BARE)
    data, model = place.people.to_pandas(), model_of(place, kind)
    x, y, groups = columns(model, data), outcomes(model, kind, data), data["psu"].to_numpy()
    robust = {"cov_type": "cluster", "disp": False}
    if kind == "multinomial":
        kwds = {"groups": groups, "use_correction": False}
        fit = sm.MNLogit(y, x).fit(cov_kwds=kwds, maxiter=200, tol=1e-12, **robust)
        found = np.array([np.asarray(fit.bse)[column, k] for k, column in model.predictors.places])
    else:
        rows, period = np.nonzero(np.arange(4) <= (y // 2)[:, None])
        expanded = np.column_stack([period[:, None] == np.arange(4), x[rows, 1:]]).astype(float)
        happened = (period == y[rows] // 2) & (y[rows] % 2 == 1)
        kwds = {"groups": groups[rows], "use_correction": False}
        glm = sm.GLM(happened.astype(float), expanded, family=sm.families.Binomial())
        found = np.asarray(glm.fit(cov_kwds=kwds, tol=1e-14, maxiter=200, cov_type="cluster").bse)
    np.testing.assert_allclose(model.inference.errors, found * np.sqrt(24 / 23), rtol=1e-5)


@pytest.mark.parametrize("kind", list(WORDS))
def test_replicate_weights_take_one_step_from_the_estimate(town: Any, kind: str) -> None:
    place = place_of(town, REPLICATES, **BARE)
    data, model = place.people.to_pandas(), model_of(place, kind)
    scores, inverse = by_hand(model, kind, data)
    factors = [data[f"rep{r}"].to_numpy() / data["w"].to_numpy() - 1 for r in range(8)]
    steps = [inverse @ (scores * factor[:, None]).sum(axis=0) for factor in factors]
    expected = np.sqrt(7 / 8 * np.sum(np.square(steps), axis=0))
    np.testing.assert_allclose(model.inference.errors, expected, rtol=1e-4)


RESPONSES = {
    Family.MULTINOMIAL: Category("trade", (1, 0, 2)),
    Family.ORDERED: Category("trade", (0, 1, 2)),
    Family.SURVIVAL: Duration("trade", (0, 1, 2), "ill", (1,)),
}


@pytest.mark.parametrize("family", list(RESPONSES))
def test_every_engine_adds_up_scores_alike(town: Any, engine_of: Callable[[Coded], Engine], family: Family) -> None:
    """With the root of how often a record counts by its calibration, as in the meat: of units drawn by themselves it is that."""
    place = place_of(town, STRATA, **BARE)
    data, coded = place.people.to_pandas(), place.coded()
    engine, response = engine_of(coded), RESPONSES[family]
    design = Design(response, (Number("age", scale=50.0),), (), (Block((), (), 0, 1), Block((0,), (), 1, 1)))
    beta = np.array([[-0.5 + k, 0.25] for k in range(response.predictors)])
    rows = tuple((0.1 * at, 0.02) for at in range(response.outcomes))
    clusters = variances_of(coded.facts.sampling).clusters
    step = Step(design, family, beta=tuple(beta.ravel()), calibration=rows, clusters=clusters)
    found = engine.spread(step, np.eye(beta.size)).scores
    x = np.column_stack([np.ones(len(data)), data["age"] / 50])
    level = data["trade"].map(LEVELS.index).map(lambda place: response.levels[place]).to_numpy()
    y = level if isinstance(response, Category) else 2 * level + (data["ill"] == "yes").to_numpy()
    times = 1 + (np.array(rows)[y] * x).sum(axis=1)
    slopes = slopes_of(family, y, x @ beta.T)
    own = (data["w"].to_numpy() * np.sqrt(times))[:, None, None] * slopes[:, :, None] * x[:, None, :]
    flat = own.reshape(len(data), -1)
    expected = [flat[here].sum(axis=0) for _, here in sorted(data.groupby(["stratum", "psu"]).indices.items())]
    order, other = np.argsort(found[:, 0]), np.argsort(np.array(expected)[:, 0])
    np.testing.assert_allclose(found[order], np.array(expected)[other], rtol=1e-9, atol=1e-9)


def slopes_of(family: Family, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """The derivatives of the log-likelihood of each record in its linear predictors, by complex steps."""
    many, tiny, found = eta.shape[1], 1e-30, []
    for k in range(many):
        moved = eta + 1j * tiny * (np.arange(many) == k)
        share = 1 / (1 + np.exp(-moved))
        if family is Family.MULTINOMIAL:
            chosen = np.column_stack([np.zeros(len(y)), moved])[np.arange(len(y)), y]
            found.append((chosen - np.log(1 + np.exp(moved).sum(axis=1))).imag / tiny)
        elif family is Family.ORDERED:
            below = np.column_stack([0 * share[:, :1], share, 1 + 0 * share[:, :1]])
            found.append(np.log(below[np.arange(len(y)), y + 1] - below[np.arange(len(y)), y]).imag / tiny)
        else:
            yes = y[:, None] == 2 * np.arange(many) + 1
            terms = np.where(yes, np.log(share), np.log(1 - share)) * (np.arange(many) <= (y // 2)[:, None])
            found.append(terms.sum(axis=1).imag / tiny)
    return np.column_stack(found)


@pytest.mark.parametrize("kind", list(WORDS))
def test_tests_and_intervals_have_the_degrees_of_freedom_of_the_design(town: Any, kind: str) -> None:
    place = place_of(town, STRATA, **BARE)
    grids = released(place, FORMULA[kind], **WORDS[kind], also="effects").grids
    left = 24 - 4 + 1 - model_of(place, kind).columns
    wide = stdtrit(left, 0.975)
    assert "design-based" in grids["coefficients"].title
    assert dict(grids["statistics"].rows)["interval_errors"] == pytest.approx(wide, rel=1e-3)
    told = {row[:-4]: row[-4:] for row in grids["coefficients"].rows}
    for estimate, error, statistic, p in [*told.values(), *(row[-4:] for row in grids["effects"].rows)]:
        assert statistic == pytest.approx(estimate / error, rel=6e-3)
        assert p == pytest.approx(max(1e-4, 2 * stdtr(left, -abs(statistic))), rel=6e-3)
    for *label, _, low, high in grids["ratios"].rows:
        estimate, error = told[tuple(label)][:2]
        assert (low, high) == pytest.approx(np.exp([estimate - wide * error, estimate + wide * error]), rel=6e-3)
    for _, width, test, p in grids["anova"].rows:
        assert p == pytest.approx(max(1e-4, fdtrc(width, left, test / width)), rel=0.1)
    for _, _, low, high, estimate, error in grids["hazards"].rows if kind == "survival" else ():
        ends = np.array([estimate - wide * error, estimate + wide * error])
        assert (low, high) == pytest.approx(1 / (1 + np.exp(-ends)), rel=6e-3)


@pytest.mark.parametrize("kind", list(WORDS))
@pytest.mark.parametrize("more", [{"also": "deviance"}, {"against": "{response} ~ age"}])
def test_likelihood_ratios_are_a_mistake_with_errors_by_the_design(kind: str, more: dict[str, str]) -> None:
    response = FORMULA[kind].split()[0]
    words = {name: text.format(response=response) for name, text in more.items()}
    with pytest.raises(Mistake, match="leave 'deviance' and 'against' out"):
        python_regression("people", FORMULA[kind], errors="design", **WORDS[kind], **words)


def test_a_response_of_own_classes_has_the_errors_of_a_declared_one(town: Any) -> None:
    place = place_of(town, STRATA, **BARE)
    codes = {"p": "trade in (p)", "q": "trade in (q)", "r": "trade in (r)"}
    define = "own = " + "; ".join(f"{code}: {text}" for code, text in codes.items())
    own = model_of(place, "multinomial", formula="own ~ age + sex", define=[define])
    declared = model_of(place, "multinomial")
    np.testing.assert_allclose(own.inference.errors, declared.inference.errors)


@pytest.mark.parametrize("kind", list(WORDS))
def test_errors_carry_noise_that_hides_how_sampling_units_differ(town: Any, kind: str) -> None:
    """Of the size that other models have; estimates and tests know of no other."""
    exact, place = (place_of(town, STRATA, **rules) for rules in (BARE, NOISY))
    drawn = np.array([noise(place, exact, FORMULA[kind], secret, -1, **WORDS[kind]) for secret in range(12)])
    assert 0.01 < drawn.std() < 0.5, "noise that nobody would notice, or that spoils errors"
    assert abs(drawn.mean()) < 0.3


def in_towns(town: Any) -> tuple[Any, Any]:
    """People of towns that are strata, without and with noise; b2 is the most common, wherever it is."""
    people = workers().to_pandas()
    people["town"] = np.repeat(["a1", "a2", "b1", "b2"], [120, 100, 80, 300])
    people["county"] = people["town"].str[0].str.upper()
    table = pa.Table.from_pandas(people, preserve_index=False)
    design = 'strata = "town"\npsu = "psu"'
    exact, place = (place_of(town, design, weighted=False, **rules).of(table) for rules in (BARE, NOISY))
    return exact, place


def apart(model: Any, label: str) -> float:
    """The variance of the first log odds in a class, as the intruder has it: of its coefficient less that of the reference."""
    places, column = model.predictors.places, model.compiled.labels.index(label)
    at, base = places.index((0, column)), places.index((0, 0))
    return float(model.inference.covariance[at, at] - model.inference.covariance[base, base])


@pytest.mark.parametrize("kind", ["multinomial", "ordered"])
def test_the_noise_of_a_class_is_the_same_whoever_else_is_in_the_universe(town: Any, kind: str) -> None:
    """R16: in a model of strata alone the error of a class tells how its sampling units differ, noise apart. Were that drawn for
    all units of the model, the mean over universes that differ in other strata would be without it."""
    exact, place = in_towns(town)
    universes = [{"town": towns} for towns in (["a1", "a2", "b1", "b2"], ["a1", "a2", "b2"], ["a1", "b1", "b2"])]
    moved, spread = [], []
    for secret in range(6):
        looks = [apart(model_of(place, kind, secret, "trade ~ town", where=where), "town=a1") for where in universes]
        true = apart(model_of(exact, kind, secret, "trade ~ town", where=universes[0]), "town=a1")
        moved.append(np.mean(looks) / true - 1)
        spread.append(np.std(looks) / true)
    assert np.std(moved) > 3 * np.median(spread), "the mean over universes tells more than one does"
    assert np.std(moved) > 0.02


def test_the_noise_of_two_classes_is_the_same_whatever_other_classes_the_response_has(town: Any) -> None:
    """The odds of two classes do not depend on the others, nor does their error: a new draw for each would average out."""
    _, place = in_towns(town)
    three = model_of(place, "multinomial", formula="trade ~ town")
    names = [LEVELS[at] for at in three.explained.places]
    for k, name in enumerate(names[1:]):
        two = model_of(place, "multinomial", formula="trade ~ town", where={"trade": [names[0], name]})
        own = [at for at, (of, _) in enumerate(three.predictors.places) if of == k]
        np.testing.assert_allclose(two.inference.errors, three.inference.errors[own], rtol=1e-6)
