"""Average marginal effects are those of statsmodels, rounded, whatever numbers, squares and classes stand in the model."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from asking import Desk, python_regression
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.model.policy import PRESETS, CountRules, Policy, TableRules

LOOSE = TableRules(sparsity=1.0, mean_cell=0.0, class_disclosure=False)
POLICY = replace(PRESETS["tablebuilder"], tables=LOOSE)
EXACT = replace(POLICY, counts=CountRules(mechanism="none"))
SIZE = 900
CODES = {"town": ["a1", "a2", "b1", "b2"], "sex": ["f", "m"]}


@pytest.fixture
def desks(town: Any, people_of: Any, engine_of: Any) -> Any:
    table = people_of(size=SIZE, seed=4)
    ages, towns = (np.array(table[name].to_pylist()) for name in ("age", "town"))
    chance = 1 / (1 + np.exp(2.5 - 0.03 * ages + 0.8 * (towns == "b1")))
    ill = np.where(np.random.default_rng(5).random(SIZE) < chance, "yes", "no")
    table = table.set_column(table.column_names.index("ill"), "ill", [ill]).drop_columns(["w"])
    here = replace(town.of(table), catalog=town.catalog.replace('weight = "w"', ""))
    engine = engine_of(here.coded())

    @cache
    def desk(secret: int = 0, policy: Policy = POLICY) -> Desk:
        return Desk(Road(here.dataset, engine, Shield(policy, here.secret(secret))))

    desk.frame = table.to_pandas().assign(y=(ill == "yes").astype(float))
    return desk


def effects(desk: Desk, formula: str) -> dict[str, tuple[float, float]]:
    answer = desk.consider(python_regression("people", formula, family="binomial", also="effects"))
    assert not answer.reasons, answer.reasons
    return {row[0]: row[1:3] for row in answer.grids["effects"].rows}


def test_effects_of_a_number_and_of_two_classes_are_those_of_statsmodels(desks: Any) -> None:
    found = effects(desks(0, EXACT), "ill=yes ~ age + sex")
    [label] = [label for label in found if label.startswith("sex=")]
    data = desks.frame.assign(own=(desks.frame["sex"] == label[-1]).astype(int))
    theirs = smf.logit("y ~ age + own", data).fit(disp=0).get_margeff(dummy=True).summary_frame()
    for name, row in theirs.iterrows():
        ours = found["age" if name == "age" else label]
        assert ours[0] == pytest.approx(row["dy/dx"], abs=0.051 * row["Std. Err."])
        assert ours[1] == pytest.approx(row["Std. Err."], rel=0.051)


def test_the_effect_of_a_class_is_that_of_everyone_in_it(desks: Any) -> None:
    """By prediction; statsmodels moves one dummy and leaves the others, which is no comparison of two of several classes."""
    found = effects(desks(0, EXACT), "ill=yes ~ age + town")
    home = next(c for c in ("a1", "a2", "b1", "b2") if f"town={c}" not in found)
    fit = smf.logit("y ~ age + C(town)", desks.frame).fit(disp=0)
    for label in set(found) - {"age"}:
        matrices = [_matrix(fit, desks.frame.assign(town=code)) for code in (label[-2:], home)]
        value, error = _delta(
            lambda beta, both=matrices: float(np.subtract(*(fit.model.predict(beta, m).mean() for m in both))), fit
        )
        assert found[label][0] == pytest.approx(value, abs=0.051 * error)
        assert found[label][1] == pytest.approx(error, rel=0.051)


def test_squares_and_interactions_count_in_the_slope_of_their_number(desks: Any) -> None:
    """Against differences of fitted shares, and errors against the delta method by differences."""
    found = effects(desks(0, EXACT), "ill=yes ~ age + square(age) + town + sex + age:sex + income")
    data = desks.frame.dropna(subset=["income"])
    fit = smf.logit("y ~ age*C(sex) + I(age**2) + C(town) + income", data).fit(disp=0, method="newton", tol=1e-12)

    def slope(beta: Any) -> float:
        up, down = (fit.model.predict(beta, _matrix(fit, data.assign(age=data["age"] + h))) for h in (1e-3, -1e-3))
        return float(np.mean(up - down) / 2e-3)

    value, error = _delta(slope, fit)
    assert found["age"][0] == pytest.approx(value, abs=0.055 * error)
    assert found["age"][1] == pytest.approx(error, rel=0.06)
    women, men = (fit.predict(data.assign(sex=sex)).mean() for sex in "fm")
    [label] = [label for label in found if label.startswith("sex=")]
    wanted = men - women if label == "sex=m" else women - men
    assert found[label][0] == pytest.approx(wanted, abs=0.055 * found[label][1])


def _delta(value: Any, fit: Any) -> tuple[float, float]:
    """A number that follows from coefficients, and its standard error by the delta method, with differences for derivatives."""
    beta, covariance = fit.params.to_numpy(), fit.cov_params().to_numpy()
    steps = 1e-3 * np.sqrt(np.diag(covariance))
    moved = [
        (value(beta + h * e) - value(beta - h * e)) / (2 * h) for h, e in zip(steps, np.eye(len(beta)), strict=True)
    ]
    return value(beta), float(np.sqrt(np.array(moved) @ covariance @ np.array(moved)))


def _matrix(fit: Any, data: Any) -> Any:
    kinds = {name: pd.Categorical(data[name], categories=codes) for name, codes in CODES.items()}
    return smf.logit(fit.model.formula, data.assign(**kinds)).exog


def test_effects_against_a_chosen_reference_are_differences_of_the_rounded_ones(desks: Any) -> None:
    plain = effects(desks(), "ill=yes ~ age + town")
    code = next(code for code in CODES["town"] if f"town={code}" in plain)
    moved = effects(desks(), f"ill=yes ~ age + relevel(town, {code})")
    assert f"town={code}" not in moved and len(moved) == len(plain) and moved["age"] == plain["age"]
    for label in set(plain) & set(moved) - {"age"}:
        wanted = plain[label][0] - plain[f"town={code}"][0]
        assert abs(moved[label][0] - wanted) <= moved[label][1] / 20 * 1.001


def test_effects_carry_the_noise_of_the_counts(desks: Any) -> None:
    assert len({tuple(effects(desks(secret), "ill=yes ~ town").values()) for secret in range(4)}) > 2
