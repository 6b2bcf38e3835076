"""A refusal says nothing of published noise: for every rule that looks at numbers, over 200 secrets.

Each case stands at the edge of its rule, so that chance decides. The noise with which the same sets are published, read
under a policy that refuses nothing, is then uncorrelated with the refusal, within 4 standard errors. Nothing is dropped, so
that noise is all there is. A rule without a case fails.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import Desk, python_correlation, python_regression, python_table
from confide.answering.road import Road
from confide.answering.rules.registry import RULES
from confide.answering.rules.rule import Stage
from confide.answering.shield import Shield
from confide.arrays import Floats
from confide.engines import Coded
from confide.engines.memory.engine import MemoryEngine
from confide.model.evidence import Cells, Moments, Spread, Step, Tally
from confide.model.policy import Policy
from confide.model.request import Request
from differencing import alone, numbered

SECRETS = range(200)

OPEN_MODELS: dict[str, object] = {
    "units": 0, "units_per_column": 1, "dummy": 1, "interaction": 0, "leverage_units": 1,
    "influence": 1.0, "r_squared": 1.0, "class_fit": 0.0,
}  # fmt: skip
NOISY = alone(
    universe={"decide_on": "protected"},
    counts={"mechanism": "cell-key"},
    totals={"mechanism": "ma", "beta": 0.1},
    models=OPEN_MODELS,
)
"""Everything has its noise, and no rule says no."""

Group = tuple[int, dict[str, Any]]


def people(*groups: Group) -> pa.Table:
    """So many people of each kind, otherwise alike but for age and income, which no kind fixes."""
    kind = {"sex": "f", "town": "a1", "ill": "no", "work": "yes", "trade": "p"}
    rows = [{**kind, **given} for number, given in groups for _ in range(number)]
    size, random = len(rows), np.random.default_rng(4)
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in kind}
    columns["county"] = [name[0].upper() for name in columns["town"]]
    columns["age"] = [row.get("age", float(age)) for row, age in zip(rows, random.integers(20, 40, size), strict=True)]
    columns["income"] = [
        row.get("income", float(income)) for row, income in zip(rows, random.integers(500, 900, size), strict=True)
    ]
    return pa.table({"id": [str(i) for i in range(size)], "w": [1.0] * size, **columns})


class Remembering(MemoryEngine):
    """An engine that counts once: where nothing is dropped, its answers are the same under every secret."""

    def __init__(self, coded: Coded) -> None:
        super().__init__(coded)
        self.tally: Callable[[Tally], Cells] = cache(super().tally)
        self.moments: Callable[[Step], Moments] = cache(super().moments)
        self._spreads: dict[Step, Spread] = {}

    def spread(self, step: Step, inverse: Floats) -> Spread:
        if step not in self._spreads:
            self._spreads[step] = super().spread(step, inverse)
        return self._spreads[step]


@dataclass(frozen=True)
class Case:
    """A question at the edge of a rule, and the table in which the sets that the rule looks at are published."""

    rule: str
    stage: Stage
    crowd: tuple[Group, ...]
    limits: dict[str, dict[str, object]]
    request: Request[Any]
    shown: Request[Any]
    sampled: bool = False
    """Whether people were drawn by twelve sampling units."""

    def placed(self, town: Any) -> Any:
        crowd = people(*self.crowd)
        if not self.sampled:
            return town.of(crowd)
        head, rest = town.catalog.split("[variables.id]", 1)
        units = pa.array([str(number % 12) for number in range(len(crowd))])
        catalog = f'{head}\n[sampling]\npsu = "psu"\n[variables.id]{rest}'
        return replace(town, catalog=catalog, people=crowd.append_column("psu", units))

    @property
    def policy(self) -> Policy:
        sections = {name: replace(getattr(NOISY, name), **fields) for name, fields in self.limits.items()}
        return replace(NOISY, **sections)


def table(*rows: str, **words: Any) -> Request[Any]:
    return python_table("people", rows=list(rows), **words)


def model(formula: str, **words: Any) -> Request[Any]:
    return python_regression("people", formula, **words)


MEN, IDLE, ILL, B = {"sex": "m"}, {"work": "no"}, {"ill": "yes"}, {"town": "b1"}
CASES = {
    "gamma": Case(
        "universe.gamma", Stage.UNIVERSE, ((30, {}), (60, MEN)),
        {"universe": {"gamma": 30}}, table("ill", where={"sex": "f"}), table("sex"),
    ),
    "complement": Case(
        "universe.complement", Stage.UNIVERSE, ((60, {}), (30, MEN)),
        {"universe": {"gamma": 30, "complement": True}}, table("ill", where={"sex": "f"}), table("sex"),
    ),
    "gamma star": Case(
        "universe.gamma_star", Stage.UNIVERSE, ((12, {}), (20, MEN), (20, B)),
        {"universe": {"gamma_star": 12}}, table("ill", where=[{"sex": "f"}, {"county": "A"}]), table("sex", "county"),
    ),
    "remainder": Case(
        "universe.remainder", Stage.UNIVERSE, ((40, {}), (10, MEN), (40, B), (40, {**MEN, **B})),
        {"universe": {"remainder": 10}}, table("ill", where={"sex": "f", "county": "A"}), table("sex", "county"),
    ),
    "marginals": Case(
        "universe.marginals", Stage.UNIVERSE, ((40, {}), (3, {"town": "b2"}), (40, MEN)),
        {"universe": {"marginals": True}}, table("ill", where={"sex": "f", "town": "a1"}), table("town"),
    ),
    "sparsity": Case(
        "tables.sparsity", Stage.CELLS, ((5, {}), (5, {"town": "a2"}), (5, B), (5, {"town": "b2"})),
        {"tables": {"sparsity": 0.25, "sparse_below": 5}}, table("town"), table("town"),
    ),
    "mean cell": Case(
        "tables.mean_cell", Stage.CELLS, ((80, {}),), {"tables": {"mean_cell": 16.0}}, table("town"), table("town"),
    ),
    "class disclosure": Case(
        "tables.class_disclosure", Stage.CELLS, ((20, {}), (1, ILL), (20, MEN), (10, {**MEN, **ILL})),
        {"tables": {"class_disclosure": True}}, table("sex", "ill"), table("sex", "ill"),
    ),
    "sparsity of a cross": Case(
        "tables.sparsity", Stage.CROSS_CELLS, ((5, {}), (5, {"town": "a2"}), (5, B), (5, {"town": "b2"})),
        {"tables": {"cross": True, "sparsity": 0.25, "sparse_below": 5}}, table("ill", where={"town": "a1"}), table("town"),
    ),
    "mean cell of a cross": Case(
        "tables.mean_cell", Stage.CROSS, ((40, {}), (40, {"town": "b2"})),
        {"tables": {"cross": True, "mean_cell": 16.0}}, table("county", where={"town": "a1"}), table("town"),
    ),
    "class disclosure of a cross": Case(
        "tables.class_disclosure", Stage.CROSS_CELLS, ((20, {}), (1, ILL), (20, MEN), (10, {**MEN, **ILL})),
        {"tables": {"cross": True, "class_disclosure": True}}, table("sex", where={"ill": "no"}), table("sex", "ill"),
    ),
    "outcomes": Case(
        "models.classes", Stage.OUTCOMES, ((40, {}), (20, ILL)),
        {"models": {"dummy": 20}}, model("ill=yes ~ age", family="binomial"), table("ill"),
    ),
    "interaction": Case(
        "models.interaction", Stage.INTERACTIONS, ((30, {}), (30, IDLE), (30, MEN), (10, {**MEN, **IDLE})),
        {"models": {"interaction": 10}, "tables": {"cross": True}}, model("income ~ sex*work + age"), table("sex", "work"),
    ),
    "saturated": Case(
        "models.saturated", Stage.ABSORBED,
        ((30, {}), (30, IDLE), (30, MEN), (30, {**MEN, **IDLE}), (20, B)),
        {"models": {"dummy": 20}}, model("income ~ sex*work + county"), table("county"),
    ),
    "nested": Case(
        "models.nested", Stage.NESTED,
        ((30, {}), (30, IDLE), (30, MEN), (30, {**MEN, **IDLE}), (20, B), (30, ILL), (30, {**MEN, **ILL})),
        {"models": {"dummy": 20}}, model("income ~ sex*work + county + ill", against="income ~ sex*work + county"),
        table("county"),
    ),
    "implied table": Case(
        "models.implied", Stage.IMPLIED, ((20, {}), (20, MEN), (20, B), (12, {**MEN, **B})),
        {"tables": {"mean_cell": 12.0}}, model("income ~ sex + county"), table("sex", "county"),
    ),
    "implied by a correlation": Case(
        "models.implied", Stage.IMPLIED, ((20, {}), (20, MEN), (20, B), (12, {**MEN, **B})),
        {"tables": {"mean_cell": 12.0}}, python_correlation("people", ["sex", "county"]), table("sex", "county"),
    ),
    "implied totals of few": Case(
        "models.implied", Stage.IMPLIED, ((40, {}), (12, MEN)),
        {"totals": {"units": 12}}, model("income ~ sex"),
        table("sex", measure="total", of="income"),
    ),
    "implied totals of a few large": Case(
        "models.implied", Stage.IMPLIED, ((40, {}), (12, MEN), (2, {**MEN, "income": 6_000.0})),
        {"totals": {"dominance_n": 2, "dominance_k": 59.0}}, model("income ~ sex"),
        table("sex", measure="total", of="income"),
    ),
    "columns": Case(
        "models.classes", Stage.COLUMNS, ((40, {}), (20, MEN)),
        {"models": {"dummy": 20}}, model("income ~ sex"), table("sex"),
    ),
    "columns of a correlation": Case(
        "models.classes", Stage.COLUMNS, ((40, {}), (20, MEN)),
        {"models": {"dummy": 20}}, python_correlation("people", ["age", "sex"]), table("sex"),
    ),
    "fitted": Case(
        "models.unfit", Stage.FITTED, ((40, {}), (20, {**MEN, **IDLE})),
        {"models": {"dummy": 20}}, model("income ~ age + sex + work"), table("sex"),
    ),
    "units": Case(
        "models.units", Stage.UNITS, ((50, {}),), {"models": {"units": 50}}, model("income ~ age"), table("town"),
    ),
    "units of a correlation": Case(
        "models.units", Stage.UNITS, ((50, {}),),
        {"models": {"units": 50}}, python_correlation("people", ["age", "income"]), table("town"),
    ),
    "influence": Case(
        "models.unfit", Stage.INFLUENCE, ((59, {}), (1, {"age": 52.0})),
        {"models": {"leverage_units": 5}}, model("income ~ age"), table("town"),
    ),
    "influence on a correlation": Case(
        "models.unfit", Stage.INFLUENCE, ((59, {}), (1, {"age": 52.0})),
        {"models": {"leverage_units": 5}}, python_correlation("people", ["age", "income"]), table("town"),
    ),
    "sampling units": Case(
        "models.design", Stage.INFLUENCE, ((120, {}),),
        {"models": {"leverage_units": 11}}, model("income ~ age", errors="design"), table("town"), sampled=True,
    ),
}  # fmt: skip


def test_every_rule_that_looks_at_numbers_has_a_case() -> None:
    looking = {(rule.name, stage) for rule in RULES for stage in rule.judges if stage > Stage.SHAPE}
    assert {(case.rule, case.stage) for case in CASES.values()} == looking


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_is_independent_of_the_noise_of_what_is_published(town: Any, name: str) -> None:
    """Chance refuses between a twentieth and nineteen twentieths, and no correlation is beyond 4 / sqrt(200)."""
    case = CASES[name]
    place = case.placed(town)
    engine, dataset = Remembering(place.coded()), place.dataset
    [measure] = case.shown.measure
    truth = Desk(Road(dataset, engine, Shield(alone(), numbered(0)))).consider(case.shown).columns[measure].values
    refused, noise = [], []
    for secret in SECRETS:
        desk = Desk(Road(dataset, engine, Shield(case.policy, numbered(secret))))
        rules = {reason.rule for reason in desk.consider(case.request).reasons}
        assert rules <= {case.rule}
        refused.append(bool(rules))
        noise.append((desk.under(NOISY).consider(case.shown).columns[measure].values - truth).ravel())
    moved = np.array(noise)[:, np.std(noise, axis=0) > 0]
    assert 0.05 < np.mean(refused) < 0.95 and moved.size
    correlations = np.corrcoef(np.column_stack([refused, moved]).T)[0, 1:]
    assert np.abs(correlations).max() < 4 / sqrt(len(SECRETS))
