"""A chosen reference is the same fit told by other differences; a response of several classes has the counts of its classes."""

from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from asking import Desk, python_regression, python_table
from confide.answering.road import Road
from confide.answering.rounding import to_error
from confide.answering.shield import Shield
from confide.engines.memory.engine import MemoryEngine
from confide.errors import Mistake
from confide.model.policy import PRESETS, CountRules, ModelRules, Policy, TableRules

LOOSE = TableRules(sparsity=1.0, mean_cell=0.0, class_disclosure=False)
POLICY = replace(PRESETS["tablebuilder"], tables=LOOSE)
EXACT = replace(POLICY, counts=CountRules(mechanism="none"))


@pytest.fixture(scope="module")
def desks(town: Any, people_of: Any) -> Any:
    table = people_of(size=900, seed=4)
    table = table.set_column(table.column_names.index("w"), "w", [np.ones(900)])
    here = town.of(table)
    engine = MemoryEngine(here.coded())

    @cache
    def desk(secret: int = 0, policy: Policy = POLICY) -> Desk:
        return Desk(Road(here.dataset, engine, Shield(policy, here.secret(secret))))

    desk.frame = table.to_pandas()
    return desk


def told(desk: Desk, formula: str, **more: Any) -> Any:
    answer = desk.consider(python_regression("people", formula, **more))
    assert not answer.reasons, answer.reasons
    return answer


def rows(answer: Any) -> dict[str, tuple[float, float]]:
    return {row[0]: row[1:3] for row in answer.grids["coefficients"].rows}


FORMULAS = [
    ("income ~ relevel(trade, {}) + age", "income ~ C(trade, Treatment('{}')) + age"),
    (
        "income ~ county + sex*relevel(trade, {})",
        "income ~ C(county, Treatment('{place}')) + C(sex, Treatment('{home}'))*C(trade, Treatment('{}'))",
    ),
    ("income ~ age*relevel(trade, {})", "income ~ age*C(trade, Treatment('{}'))"),
]


@pytest.mark.parametrize(("ours", "theirs"), FORMULAS)
@pytest.mark.parametrize("reference", ["p", "q", "r"])
def test_estimates_for_a_chosen_reference_are_those_of_statsmodels(
    desks: Any, ours: str, theirs: str, reference: str
) -> None:
    """To rounding: two estimates by a twentieth of their errors each, their difference by a twentieth of its own."""
    data: pd.DataFrame = desks.frame.dropna(subset=["income"])
    answer = told(desks(0, EXACT), ours.format(reference))
    home, place = (data[name].value_counts().idxmax() for name in ("sex", "county"))
    fit = smf.ols(theirs.format(reference, home=home, place=place), data).fit(cov_type="HC1")
    names = {name: _ours(name) for name in fit.params.index}
    found = rows(answer)
    assert set(found) == set(names.values())
    for name, label in names.items():
        estimate, error = found[label]
        assert error == pytest.approx(fit.bse[name], rel=0.06)
        assert abs(estimate - fit.params[name]) < 0.2 * fit.bse[name]
    assert f"The reference of trade is {reference}." in answer.notes


def _ours(name: str) -> str:
    parts = [part if part == "age" else f"{part[2:].split(',')[0]}={part[-2]}" for part in name.split(":")]
    return "(Intercept)" if name == "Intercept" else ":".join(sorted(parts))


def test_what_is_told_with_another_reference_follows_from_the_rounded_estimates(desks: Any) -> None:
    """So moving the reference around tells no estimate to more digits than one answer does."""
    answer = told(desks(), "income ~ town + trade + age")
    plain, exact = rows(answer), dict(zip(answer.model.compiled.labels, answer.model.inference.estimates, strict=True))
    differ = 0
    for name, codes in (("town", ["a1", "a2", "b1", "b2"]), ("trade", ["p", "q", "r"])):
        others = [code for code in codes if f"{name}={code}" in plain]
        home = next(code for code in codes if code not in others)
        for code in others:
            formula = "income ~ town + trade + age".replace(name, f"relevel({name}, {code})")
            moved = rows(told(desks(), formula))
            assert moved["age"] == plain["age"]
            for label, parts in _contrasts(name, others, home, code).items():
                wanted, true = (
                    sum(sign * value(part) for part, sign in parts.items())
                    for value in (lambda part: plain[part][0], exact.__getitem__)
                )
                error = np.array([moved[label][1]])
                shown = [to_error(np.array([value]), error, digits=15)[0] for value in (wanted, true)]
                assert moved[label][0] == pytest.approx(shown[0], abs=1e-9)
                differ += shown[0] != shown[1]
    assert differ, "some difference of exact estimates would have been told to another digit"


def _contrasts(name: str, others: list[str], home: str, code: str) -> dict[str, dict[str, int]]:
    """What each label with the reference `code` is made of."""
    found = {"(Intercept)": {"(Intercept)": 1, f"{name}={code}": 1}, f"{name}={home}": {f"{name}={code}": -1}}
    return found | {f"{name}={o}": {f"{name}={o}": 1, f"{name}={code}": -1} for o in others if o != code}


def test_absorbed_classes_stay_with_the_most_common_one_whatever_the_reference_is(desks: Any) -> None:
    """Otherwise two answers would tell the mean of the most common class with and without them."""
    sizes = desks.frame.dropna(subset=["income"])["town"].value_counts()
    policy = replace(POLICY, models=replace(ModelRules(), dummy=int(sizes.iloc[1] + sizes.iloc[2]) // 2))
    plain = told(desks(0, policy), "income ~ town")
    kept = [label for label in rows(plain) if label.startswith("town=")]
    assert 0 < len(kept) < 3, "some class is absorbed, and not all are"
    code = kept[0].removeprefix("town=")
    moved = told(desks(0, policy), f"income ~ relevel(town, {code})")
    assert len(rows(moved)) == len(rows(plain))
    assert rows(moved)[f"town={sizes.index[0]}"][0] == pytest.approx(-rows(plain)[kept[0]][0])
    said = " ".join(moved.notes)
    assert f"The reference of town is {code}." in said and f"too few units and stand with {sizes.index[0]}." in said
    small = sizes.index[-1]
    unable = told(desks(0, policy), f"income ~ relevel(town, {small})")
    assert rows(unable) == rows(plain)
    assert f"{small} of town has too few units to be the reference." in unable.notes


def test_a_reference_changes_no_refusal_and_no_count(desks: Any) -> None:
    for formula in ("ill=yes ~ {}", "ill=yes ~ {} + sex + age"):
        plain = told(desks(), formula.format("trade"), family="binomial")
        for code in "pqr":
            moved = told(desks(), formula.format(f"relevel(trade, {code})"), family="binomial")
            np.testing.assert_array_equal(
                moved.model.fitted.inference.estimates, plain.model.fitted.inference.estimates
            )
            assert moved.grids["statistics"] == plain.grids["statistics"]
            assert moved.grids["anova"] == plain.grids["anova"], "Wald tests of terms without interactions stay"


def test_a_response_of_several_classes_is_that_of_either(desks: Any) -> None:
    data = desks.frame.assign(y=desks.frame["trade"].isin(["p", "r"]).astype(float))
    answer = told(desks(0, EXACT), "trade in (r, p) ~ sex + age", family="binomial")
    fit = smf.logit("y ~ C(sex, Treatment('f')) + age", data).fit(disp=0)
    found, sign = rows(answer), 1 if "sex=m" in rows(answer) else -1
    sex = found.get("sex=m") or found["sex=f"]
    assert sex[0] == pytest.approx(sign * fit.params.iloc[1], abs=0.1 * fit.bse.iloc[1])
    assert found["age"][0] == pytest.approx(fit.params.iloc[2], abs=0.06 * fit.bse.iloc[2])
    assert answer.grids == told(desks(0, EXACT), "trade in (p, r, p) ~ sex + age", family="binomial").grids


def test_several_classes_have_the_sum_of_the_protected_counts_of_the_table(desks: Any) -> None:
    """A draw for every union of classes would let their noise be averaged out over the unions."""
    for secret in range(4):
        desk = desks(secret)
        answer = told(desk, "trade in (p, q) ~ town", family="binomial")
        table = desk.consider(python_table("people", rows="town", columns="trade")).columns["count"].values
        estimates, labels = answer.model.fitted.inference.estimates, answer.model.compiled.labels
        for at, label in enumerate(labels[1:], 1):
            place = ["a1", "a2", "a9", "b1", "b2"].index(label.removeprefix("town="))
            share = (table[place, 0] + table[place, 1]) / table[place, -1]
            assert estimates[0] + estimates[at] == pytest.approx(np.log(share / (1 - share)), abs=1e-6)


def test_unions_of_classes_do_not_average_the_noise_of_a_count_out(desks: Any) -> None:
    """The intruder's best: every union with a class, less the same without it. All say what the table says."""
    desk = desks(2)
    table = desk.consider(python_table("people", rows="town", columns="trade")).columns["count"].values
    sums = {}
    for size in (1, 2):
        for some in combinations("pqr", size):
            answer = told(desk, f"trade in ({', '.join(some)}) ~ town", family="binomial")
            estimates, labels = answer.model.fitted.inference.estimates, answer.model.compiled.labels
            at = labels.index("town=a2")
            sums[some] = table[1, -1] / (1 + np.exp(-estimates[0] - estimates[at]))
    assert sums["p", "q"] - sums["q",] == pytest.approx(table[1, 0], abs=1e-4)
    assert sums["p", "r"] - sums["r",] == pytest.approx(table[1, 0], abs=1e-4)
    assert sums["p",] == pytest.approx(table[1, 0], abs=1e-4)


@pytest.mark.parametrize(
    ("formula", "family", "match"),
    [
        ("income ~ relevel(trade, zz)", "gaussian", "no code 'zz'"),
        ("income ~ relevel(age, 3)", "gaussian", "numbers have no reference"),
        ("trade in (p, zz) ~ sex", "binomial", "no code 'zz'"),
        ("trade in (p, q, r) ~ sex", "binomial", "leave one out"),
        ("trade in (p, q) ~ sex", "gaussian", "family='binomial'"),
    ],
)
def test_what_does_not_fit_is_a_mistake(desks: Any, formula: str, family: str, match: str) -> None:
    with pytest.raises(Mistake, match=match):
        desks().consider(python_regression("people", formula, family=family))
