"""Models and correlations of a store whose numbers carry noise are corrected for what the store says of it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import Desk, python_correlation, python_regression
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.data.noise_law import factors
from confide.engines.memory.engine import MemoryEngine
from confide.model.policy import PRESETS, ModelRules

SIZE, NOISE = 2000, 0.3
LOOSE = replace(PRESETS["open"], models=ModelRules(leverage_units=1))


@pytest.fixture(scope="module")
def desks(town: Any, people_of: Any) -> dict[str, Desk]:
    """True records; protected ones of which the store says so; and protected ones of which it says nothing."""
    rng = np.random.default_rng(5)
    people = people_of(size=SIZE, seed=5)
    income = rng.lognormal(6, 0.5, SIZE).round()
    ages = np.clip(20 + income / 20 + rng.normal(0, 10, SIZE), 0, 119).round()
    noisy = (income * factors(rng.random(SIZE), NOISE)).round()

    def desk(values: Any, noise: dict[str, float]) -> Desk:
        table = people.set_column(people.schema.get_field_index("age"), "age", pa.array(ages))
        table = table.set_column(table.schema.get_field_index("income"), "income", pa.array(values))
        coded = town.of(table).coded()
        engine = MemoryEngine(replace(coded, facts=replace(coded.facts, noise=noise)))
        return Desk(Road(town.dataset, engine, Shield(LOOSE, town.secret())))

    return {"true": desk(income, {}), "told": desk(noisy, {"income": NOISE}), "silent": desk(noisy, {})}


def slope(desk: Desk, formula: str, label: str, **words: Any) -> tuple[float, float]:
    answer = desk.consider(python_regression("people", formula, **words))
    assert not answer.reasons, answer.reasons
    told = answer.model.fitted.inference
    at = answer.model.compiled.labels.index(label)
    return told.estimates[at], told.errors[at]


@pytest.mark.parametrize(
    ("formula", "label", "family"),
    [
        ("age ~ income + sex", "income", "gaussian"),
        ("age ~ log(income) + sex", "log(income)", "gaussian"),
        ("ill=yes ~ income + sex", "income", "binomial"),
        ("age ~ income + sex", "income", "poisson"),
    ],
)
def test_slopes_are_corrected_where_the_store_tells_its_noise(
    desks: Any, formula: str, label: str, family: str
) -> None:
    """Within two standard errors of the slope of the true records, nearer than without, and with larger errors."""
    (true, _), (told, error), (silent, small) = (
        slope(desks[name], formula, label, family=family) for name in ("true", "told", "silent")
    )
    assert abs(told - true) < 2 * error and error > small
    assert abs(told) > abs(silent) * 1.05


def test_correlations_are_corrected_too(desks: Any) -> None:
    found = {
        name: desk.consider(python_correlation("people", ["age", "income"])).model.correlated.correlations[0, 1]
        for name, desk in desks.items()
    }
    assert abs(found["told"] - found["true"]) < 2 / SIZE**0.5 < abs(found["silent"] - found["true"])
