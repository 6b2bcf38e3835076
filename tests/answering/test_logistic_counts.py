"""The counts behind a model of a yes or no are those of the table: its classes have the protected shares."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import Desk, python_regression, python_table
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.engines.memory.engine import MemoryEngine
from confide.model.policy import PRESETS, CountRules, Policy, TableRules

SIZE = 600
LOOSE = TableRules(sparsity=1.0, mean_cell=0.0, class_disclosure=False)
POLICY = replace(PRESETS["tablebuilder"], tables=LOOSE)
EXACT = replace(POLICY, counts=CountRules(mechanism="none"))


def people() -> pa.Table:
    rng, at = np.random.default_rng(3), np.arange(SIZE)
    towns = rng.choice(["a1", "a2", "b1", "b2"], SIZE, p=[0.5, 0.3, 0.12, 0.08])
    ages = rng.integers(0, 100, SIZE).astype(float)
    chance = 1 / (1 + np.exp(1.0 - 0.02 * ages + 0.5 * (towns == "b1")))
    return pa.table(
        {
            "id": at.astype(str),
            "w": np.ones(SIZE),
            "sex": rng.choice(["f", "m"], SIZE),
            "county": np.char.upper(towns.astype("<U1")),
            "town": towns,
            "age": ages,
            "ill": np.where(rng.random(SIZE) < chance, "yes", "no"),
            "work": rng.choice(["yes", "no"], SIZE),
            "trade": rng.choice(["p", "q", "r"], SIZE),
            "income": rng.integers(500, 1500, SIZE).astype(float),
        }
    )


@pytest.fixture(scope="module")
def desks(town: Any) -> Any:
    here = town.of(people())
    engine = MemoryEngine(here.coded())

    @cache
    def desk(secret: int, policy: Policy = POLICY) -> Desk:
        return Desk(Road(here.dataset, engine, Shield(policy, here.secret(secret))))

    return desk


def model(desk: Desk, formula: str) -> Any:
    answer = desk.consider(python_regression("people", formula, family="binomial"))
    assert not answer.reasons, answer.reasons
    return answer.model


def counts(desk: Desk, *by: str) -> Any:
    rows, columns = by if len(by) == 2 else (by[0], ())
    return desk.consider(python_table("people", rows=rows, columns=columns)).columns["count"].values


def test_the_logits_of_a_class_are_those_of_the_protected_table(desks: Any) -> None:
    """Of the dummies; the reference has what is left of everyone."""
    for secret in range(5):
        desk = desks(secret)
        fitted, table = model(desk, "ill=yes ~ town"), counts(desk, "town", "ill")
        places = [
            ["a1", "a2", "a9", "b1", "b2"].index(name.removeprefix("town=")) for name in fitted.compiled.labels[1:]
        ]
        shares = table[places, 1] / table[places, -1]
        estimates = fitted.fitted.inference.estimates
        np.testing.assert_allclose(estimates[0] + estimates[1:], np.log(shares / (1 - shares)), rtol=0, atol=1e-6)


def test_a_covariate_does_not_give_the_true_count_back(desks: Any) -> None:
    """The fitted shares in a class add up to its size times the protected share, whatever else is in the formula."""
    desk, data = desks(1), people().to_pydict()
    fitted, table = model(desk, "ill=yes ~ town + sex + age"), counts(desk, "town", "ill")
    beta, labels = fitted.fitted.inference.estimates, fitted.compiled.labels
    eta = np.full(SIZE, beta[0])
    for label, b in zip(labels[1:], beta[1:], strict=True):
        name, _, code = label.partition("=")
        eta += b * (np.array(data[name]) == code if code else np.array(data[name]))
    for place, code in ((1, "a2"), (3, "b1"), (4, "b2")):
        inside = np.array(data["town"]) == code
        wanted = inside.sum() * table[place, 1] / table[place, -1]
        true = (inside & (np.array(data["ill"]) == "yes")).sum()
        assert (1 / (1 + np.exp(-eta[inside]))).sum() == pytest.approx(wanted, abs=1e-6)
        assert abs(wanted - true) > 0.1, "a draw that moves nothing shows nothing"


def test_errors_include_the_noise_of_the_counts(desks: Any) -> None:
    """Over 80 secrets the estimates vary about the true ones as the errors say: within 4 standard errors of a variance."""
    exact = model(desks(0, EXACT), "ill=yes ~ town + age").fitted.inference
    found = [model(desks(secret), "ill=yes ~ town + age").fitted.inference for secret in range(80)]
    moved = np.array([one.estimates for one in found]) - exact.estimates
    # a policy that only protects counts adds nothing else to the variance
    added = np.mean([one.errors**2 for one in found], axis=0) - exact.errors**2
    wide = 4 * np.sqrt(2 / len(found))
    classes = [
        at for at, label in enumerate(model(desks(0, EXACT), "ill=yes ~ town + age").compiled.labels) if "=" in label
    ]
    assert np.all(np.abs(np.mean(moved[:, classes] ** 2, axis=0) / added[classes] - 1) < wide)
    assert np.all(np.abs(moved[:, -1]) < 0.1 * exact.errors[-1]), "the slope of a number stays as it is"
    assert np.all(np.abs(moved.mean(axis=0)) < 4 * moved.std(axis=0) / np.sqrt(len(found)) + 0.05 * exact.errors)


def test_nothing_but_protected_counts_is_in_the_errors_of_a_model_of_one_class_variable(desks: Any) -> None:
    """Size and share of a class can be had from its error: it is the protected ones that one has, not the true ones."""
    nearer = 0
    for secret in range(40):
        desk = desks(secret)
        fitted = model(desk, "ill=yes ~ town")
        beta, errors = fitted.fitted.inference.estimates, fitted.fitted.inference.errors
        row = fitted.compiled.labels.index("town=b2")
        share = 1 / (1 + np.exp(-beta[0] - beta[row]))
        [true, all_of_them] = [(np.array(people()["town"]) == "b2").sum(), counts(desk, "town", "ill")[4, -1]]
        noise = 2 * (1 + share**2)
        sizes = np.arange(20, 90)
        told = sizes[np.argmin(np.abs(_variance(sizes, share, noise) + errors[0] ** 2 - errors[row] ** 2))]
        nearer += abs(told - true) < abs(told - all_of_them)
    assert nearer <= 14, "half of what a coin would give less two of its standard errors is 14"


def _variance(size: Any, share: float, noise: float) -> Any:
    """Of the logit of a class of a size."""
    plain = 1 / (size * share * (1 - share))
    return plain + noise * plain**2
