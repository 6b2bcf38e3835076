"""Differencing against what protects totals, models, plots and bases, each mechanism by itself: S, and S less one target.

Over many secrets the success of the intruder is what was promised, within 4 standard errors, or below a bound that is stated.
"""

from collections.abc import Iterator
from math import sqrt
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import Desk, python_regression, python_table
from confide.answering import mechanisms
from confide.answering.diagnostics.diagnose import CHANCE
from confide.answering.diagnostics.noise import blur, flip, least_error
from confide.answering.mechanisms.safe.build import build_base, to_base
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.engines.memory.engine import MemoryEngine
from confide.tables.perturbation.total_noise import Ma, Thompson
from differencing import Crowd, Sites, alone, differenced, numbered, within

SECRETS = range(400)
ALPHA = 0.11
"""So near, as a share of it, an estimate of the target's income counts as a disclosure."""

MA, THOMPSON = {"mechanism": "ma", "beta": 0.1}, {"mechanism": "thompson"}
DOMINANT, TYPICAL = 0, 2
"""A target whose class is small and whose income is most of it; one of a large class."""


@pytest.fixture(scope="module")
def sites(town: Any) -> Sites:
    return Sites(town.dataset, Crowd((36, 28, 13, 4), targets=(3, 2, 0), incomes=(1000.0, 2000.0, 2400.0)))


def cells(crowd: Crowd, target: int) -> Iterator[tuple[int, int, float]]:
    """Where the target counts, its class and the total: the place, and units and total with the target."""
    own = crowd.targets[target]
    for place, units in ((own, crowd.numbers[own] + 1), (4, sum(crowd.numbers) + 1)):
        yield place, units, 100.0 * (units - 1) + crowd.incomes[target]


@pytest.mark.parametrize("target", [DOMINANT, TYPICAL])
@pytest.mark.parametrize(("totals", "method"), [(MA, Ma(0.1)), (THOMPSON, Thompson())], ids=["ma", "thompson"])
def test_the_difference_of_two_totals_finds_the_target_as_often_as_its_risk_says(
    sites: Sites, totals: Any, method: Any, target: int
) -> None:
    """The attack of Ma et al. (2016), Tables 2 and 3, at the target's class and at the total."""
    income, answers = sites.crowd.incomes[target], [*pairs(sites, totals, target)]
    for place, units, total in cells(sites.crowd, target):
        near = [abs((whole - less)[place] - income) <= ALPHA * income for whole, less in answers]
        top = np.array([[income, 100.0, 100.0, 100.0]])
        [promised] = method.risk(np.array([total]), np.array([units]), top, alpha=ALPHA)
        assert within(float(np.mean(near)), float(promised), len(near))


def pairs(sites: Sites, totals: Any, target: int) -> Iterator[tuple[Any, Any]]:
    words = {"measure": "total", "of": "income"}
    return differenced(sites, alone(totals=totals), target, secrets=SECRETS, **words)


def test_who_knows_everybody_else_finds_the_target_in_a_share_w_of_the_totals(sites: Sites) -> None:
    """w = alpha y / (beta T), for Ma's noise has the density 1 / (2 beta T) wherever it can be: no guess covers more.

    82 units draw about 0, so the guess is the total less the others. 37 draw about beta T in either direction, so
    the guess takes one of them, and covers 1 + beta as much.
    """
    income, beta = sites.crowd.incomes[TYPICAL], 0.1
    answers = [whole for whole, _ in pairs(sites, MA, TYPICAL)]
    for place, units, total in cells(sites.crowd, TYPICAL):
        odd = units % 2
        guess = np.array([answer[place] for answer in answers]) / (1 + odd * beta) - (total - income)
        promised = ALPHA * income / (beta * total) * (1 + odd * beta)
        assert 0.1 < promised < 0.5
        assert within(float(np.mean(np.abs(guess - income) <= ALPHA * income)), promised, len(answers))


def test_who_knows_everybody_else_is_right_under_thompson_in_half_the_cases_at_most(sites: Sites) -> None:
    """A dominant target: the total is moved by 0.4 of the income, more or less, in a direction that nobody can tell. To guess
    one direction is right in half the cases, and whoever looks at the total over S alone is never nearer."""
    income = sites.crowd.incomes[DOMINANT]
    [(place, _, total), _] = cells(sites.crowd, DOMINANT)
    told = np.array([whole[place] for whole, _ in pairs(sites, THOMPSON, DOMINANT)]) - (total - income)
    for direction in (-1, 1):
        near = np.abs(told / (1 + direction * 0.4) - income) <= ALPHA * income
        assert 0.1 < np.mean(near) <= 0.5 + 4 * sqrt(0.25 / len(told))
    assert np.mean(np.abs(told - income) <= ALPHA * income) == 0


@pytest.mark.parametrize("totals", [MA, THOMPSON], ids=["ma", "thompson"])
def test_the_noise_of_a_total_says_nothing_of_that_of_another_set(sites: Sites, totals: Any) -> None:
    """Over S and over S less the target, of two classes, and of a class and the total: correlations are zero within 4
    standard errors."""
    whole, less = (np.array(answers) for answers in zip(*pairs(sites, totals, TYPICAL), strict=True))
    for one, two in ((whole[:, 0], less[:, 0]), (whole[:, 1], whole[:, 2]), (whole[:, 0], whole[:, 4])):
        assert one.std() > 0 and two.std() > 0
        assert abs(np.corrcoef(one, two)[0, 1]) < 4 / sqrt(len(SECRETS))


def test_a_total_of_the_same_set_has_the_same_noise_in_every_table(sites: Sites) -> None:
    """Class b1 holds the same people with the target of another class and without: nothing is drawn anew."""
    for totals in (MA, THOMPSON):
        assert all(whole[2] == less[2] for whole, less in pairs(sites, totals, TYPICAL))


def test_every_mechanism_is_differenced_here_or_with_the_counts() -> None:
    """A new one fails until it has its tests, and its name here."""
    found = {module.name for module in iter_modules(mechanisms.__path__)}
    assert found == {"additive", "counts", "decision", "dropq", "magnitudes", "safe"}


# Models: drops and rounding


class Ages:
    """Eighty people younger than 40, one target of 70, and ten of 50 who are not asked about; incomes of every size."""

    size = 81

    def __init__(self, people: pa.Table, *, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.sex, self.work = (random.choice(pair, 91) for pair in (["f", "m"], ["yes", "no"]))
        self.income = random.lognormal(6, 0.5, 91).round()
        age = np.r_[random.integers(0, 40, 80), 70, np.full(10, 50)].astype(float)
        given = {"sex": self.sex, "work": self.work, "income": self.income, "age": age, "w": np.ones(91)}
        self.people = people.slice(0, 91)
        for name, values in given.items():
            self.people = self.people.set_column(self.people.column_names.index(name), name, pa.array(values))

    @property
    def columns(self) -> Any:
        """What the intruder knows of everybody: the columns of the model. The most common class is the reference."""
        dummies = [values == min(set(values[:80]), key=list(values[:80]).count) for values in (self.sex, self.work)]
        return np.column_stack([np.ones(91), *dummies])

    def estimate(self, whole: Any, less: Any) -> float:
        """The income of the target: what the models say all of S has, less what they say the others have."""
        return float(self.columns[:81].sum(axis=0) @ whole - self.columns[:80].sum(axis=0) @ less)

    def fitted(self, rows: Any) -> Any:
        """Coefficients to the second digit of their standard errors, by least squares."""
        x, y = self.columns[rows], self.income[rows]
        inverse = np.linalg.inv(x.T @ x)
        beta = inverse @ x.T @ y
        sigma = sqrt(((y - x @ beta) ** 2).sum() / (len(y) - x.shape[1]))
        unit = 10.0 ** (np.floor(np.log10(sigma * np.sqrt(np.diag(inverse)))) - 1)
        return np.round(beta / unit) * unit

    def simulated(self, trials: int, *, k: int, seed: int) -> Any:
        """The same estimates from drops of our own: what Drop q and rounding promise."""
        random = np.random.default_rng(seed)

        def left(size: int) -> Any:
            lost = random.choice(size, int(random.integers(2, k + 1)), replace=False)
            return np.delete(np.arange(size), lost)

        return np.array([self.estimate(self.fitted(left(81)), self.fitted(left(80))) for _ in range(trials)])


MODELS = {"units": 0, "units_per_column": 1, "dummy": 1, "leverage_units": 1, "influence": 1.0, "r_squared": 1.0}


def coefficients(desk: Desk, bins: list[str]) -> tuple[Any, Any]:
    """The coefficients that are published, and the units to which they are rounded: the second digit of their errors."""
    answer = desk.consider(python_regression("people", "income ~ sex + work", where={"age": bins}))
    assert not answer.reasons, answer.reasons
    rows = answer.grids["coefficients"].rows
    units = 10.0 ** (np.floor(np.log10([row[2] for row in rows])) - 1)
    return np.array([row[1] for row in rows]), units


S, LESS = ["0-19", "20-39", "60-109"], ["0-19", "20-39"]


def test_the_difference_of_two_models_finds_the_target_as_often_as_drops_and_rounding_say(town: Any) -> None:
    """150 secrets, k = 3, against 4,000 simulated pairs of least squares with drops of their own: the share of estimates
    within a quarter of the target's income, and their spread, are the same within 4 standard errors."""
    ages = Ages(town.people)
    crowd = town.preset("open").under(drop={"k": 3}, models=MODELS).of(ages.people)
    desks = [crowd.desk(secret) for secret in range(150)]
    found = np.array([ages.estimate(coefficients(desk, S)[0], coefficients(desk, LESS)[0]) for desk in desks])
    expected, income = ages.simulated(4_000, k=3, seed=1), ages.income[80]
    near, promised = (np.abs(some - income) <= 0.25 * income for some in (found, expected))
    assert 0.02 < promised.mean() < 0.4
    assert within(float(near.mean()), float(promised.mean()), len(found))
    assert abs(found.mean() - expected.mean()) < 4 * expected.std() / sqrt(len(found))
    squares = (expected - expected.mean()) ** 2
    assert abs(found.var() - squares.mean()) < 4 * squares.std() / sqrt(len(found))


def test_rounding_alone_hides_a_target_as_well_as_its_units_say(town: Any) -> None:
    """Sixty targets, one a data set, no drops and so no secret: with n of 81 the error of the estimate is that of rounded
    numbers, uniform in each coefficient. Of those standardised by its spread, the mean square is 1 within 4 standard errors."""
    errors = []
    for seed in range(60):
        ages = Ages(town.people, seed=seed)
        desk = town.preset("open").under(models=MODELS).of(ages.people).desk()
        (whole, unit), (less, unit_less) = coefficients(desk, S), coefficients(desk, LESS)
        off = ages.estimate(whole, less) - ages.income[80]
        spread = [each * ages.columns[:n].sum(axis=0) for each, n in ((unit, 81), (unit_less, 80))]
        errors.append(off / sqrt(np.square(spread).sum() / 12))
    squares = np.square(errors)
    assert abs(squares.mean() - 1) < 4 * squares.std() / sqrt(len(squares))


# Noise of records: the responses of plots


def test_a_plot_of_s_and_one_of_s_less_the_target_are_one_reading_of_everybody(sites: Sites) -> None:
    """The noise belongs to the unit. Over secrets the error of the best guess, the reading drawn towards the fit, is the
    `least_error`, within 4 standard errors; and so is the share of outcomes turned round."""
    noise, spread, random = 0.5, 1.0, np.random.default_rng(5)
    errors, turned = [], []
    for secret in SECRETS:
        residual = random.normal(0, spread, 84)
        keys = np.array([record["unit"] for record in sites.engine(secret)._records[:84]])
        seed = numbered(secret).digest("diagnostics", b"income")
        whole, less = (blur(residual[:n], keys[:n], seed=seed, noise=noise).values for n in (82, 81))
        assert np.array_equal(whole[:81], less)
        errors.append(whole[81] * spread**2 / (spread**2 + noise**2) - residual[81])
        turned.append(not flip([True], keys[81:82], seed=seed, chance=CHANCE).values[0])
    squares = np.square(errors)
    assert abs(squares.mean() - least_error(noise, spread) ** 2) < 4 * squares.std() / sqrt(len(SECRETS))
    assert within(float(np.mean(turned)), CHANCE, len(SECRETS))


# The SAFE base


def test_universes_of_a_base_differ_by_none_or_three_and_a_lone_target_shows_in_a_third(
    town: Any, people_of: Any
) -> None:
    """40 secrets, 60 people, of whom some are alone in sex, town and age: the table by work of their sex and town, less that
    of the other ages. What is left is in no class or of three records or more. The target's class shows if theirs were kept:
    in a third of the cases if the base keeps the number of people, and never the other. At most 0.4, plus 4 standard errors."""
    crowd = town.preset("open").under(counts={"mechanism": "safe"}).of(people_of(size=60, seed=1))
    shown = []
    for secret in range(40):
        engine = MemoryEngine(crowd.coded(secret))
        found = build_base(crowd.dataset, engine, crowd.secret(secret), by=["sex", "town", "age", "work"])
        base = to_base(found, mark="")
        desk = Desk(
            Road(crowd.dataset, engine, Shield(crowd.policy, crowd.secret(secret)), base=lambda base=base: base)
        )
        for sex, place, at, work in lone(crowd):
            whole, less = ({"sex": sex, "town": place, **more} for more in ({}, {"age": others(at)}))
            left = by_work(desk, whole) - by_work(desk, less)
            assert not np.isin(left, (1, 2)).any() and left[1 - work] == 0
            shown.append(left[work] > 0)
    assert 0.2 < np.mean(shown) < 0.4 + 4 * sqrt(0.24 / len(shown))


BINS = ["0-19", "20-39", "40-59", "60-109", "110+"]


def others(at: int) -> list[str]:
    return BINS[:at] + BINS[at + 1 :]


def lone(crowd: Any) -> list[tuple[str, str, int, int]]:
    """Sex, town, bin and work of those alone in the first three."""
    sex, place, age, work = (crowd.people[name].to_pylist() for name in ("sex", "town", "age", "work"))
    bins = np.searchsorted([20, 40, 60, 110], age, side="right").tolist()
    people = [*zip(sex, place, bins, strict=True)]
    return [(*p, int(w == "no")) for p, w in zip(people, work, strict=True) if people.count(p) == 1]


def by_work(desk: Desk, where: Any) -> Any:
    answer = desk.consider(python_table("people", rows="work", where=where))
    assert not answer.reasons
    return answer.columns["count"].values[:2]
