"""People whose trade follows from age, sex and town: for models of several classes, of classes in their order, of durations."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from asking import Desk, python_regression
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.engines.columns.engine import ColumnsEngine
from confide.engines.columns.store import write_columns
from confide.model.policy import PRESETS, CountRules, Policy, TableRules

__all__ = [
    "EXACT",
    "LIMITS_OPEN",
    "POLICY",
    "SIZE",
    "TOWNS",
    "TRADES",
    "WORDS",
    "ask",
    "columns_of",
    "desks_of",
    "matrix",
    "people",
]

SIZE = 900
LOOSE = TableRules(sparsity=1.0, mean_cell=0.0, class_disclosure=False)
POLICY = replace(PRESETS["tablebuilder"], tables=LOOSE)
EXACT = replace(POLICY, counts=CountRules(mechanism="none"))
TOWNS = ["a1", "a2", "a9", "b1", "b2"]
TRADES = ["p", "q", "r"]
LIMITS_OPEN = {
    "units": 0, "units_per_column": 1, "dummy": 0, "interaction": 0, "leverage_units": 1,
    "influence": 1.0, "r_squared": 1.0, "class_fit": 0.0,
}  # fmt: skip
WORDS: dict[str, dict[str, Any]] = {
    "multinomial": {"family": "multinomial"},
    "ordered": {"family": "ordered"},
    "survival": {"family": "survival", "event": "ill=yes"},
}


def people(*, weighted: bool = False) -> pa.Table:
    """A trade that follows from age, sex and town, by a latent number; some incomes are missing."""
    rng, at = np.random.default_rng(3), np.arange(SIZE)
    towns = rng.choice(["a1", "a2", "b1", "b2"], SIZE, p=[0.4, 0.3, 0.2, 0.1])
    ages, sex = rng.integers(0, 100, SIZE).astype(float), rng.choice(["f", "m"], SIZE)
    latent = 0.02 * ages + 0.6 * (sex == "f") - 0.5 * (towns == "b1") + rng.logistic(size=SIZE)
    income = rng.integers(500, 1500, SIZE).astype(float)
    columns = {
        "id": at.astype(str),
        "w": rng.integers(50, 200, SIZE) / 100 if weighted else np.ones(SIZE),
        "sex": sex,
        "county": np.char.upper(towns.astype("<U1")),
        "town": towns,
        "age": ages,
        "ill": rng.choice(["yes", "no"], SIZE, p=[0.6, 0.4]),
        "work": rng.choice(["yes", "no"], SIZE),
        "trade": np.array(TRADES)[np.digitize(latent, [0.7, 2.2])],
    }
    return pa.table(columns).append_column("income", pa.array(income, mask=rng.random(SIZE) < 0.1))


def ask(desk: Desk, formula: str, **words: Any) -> Any:
    answer = desk.consider(python_regression("people", formula, **words))
    assert not answer.reasons, answer.reasons
    return answer


def matrix(labels: Any, columns: dict[str, Any]) -> Any:
    """The columns of a design by their labels, the intercept's first."""
    return np.column_stack([np.prod([_factor(one, columns) for one in label.split(":")], axis=0) for label in labels])


def _factor(text: str, columns: dict[str, Any]) -> Any:
    if text == "(Intercept)":
        return np.ones(SIZE)
    if "=" in text:
        name, code = text.split("=")
        return (columns[name] == code).astype(float)
    function, _, name = text.rstrip(")").rpartition("(")
    values = columns[name].astype(float)
    return np.log(values) if function == "log" else values**2 if function == "square" else values


def columns_of(table: pa.Table) -> dict[str, Any]:
    return {name: table[name].to_numpy() for name in table.column_names}


def desks_of(town: Any, folder: Path) -> Callable[..., Desk]:
    """Opens a desk under each secret and policy, on columns."""
    here, path = town.of(people()), folder / "people.columns"
    write_columns(here.coded(), path)
    engine = ColumnsEngine(path)

    @cache
    def desk(secret: int, policy: Policy = POLICY) -> Desk:
        return Desk(Road(here.dataset, engine, Shield(policy, here.secret(secret))))

    return desk
