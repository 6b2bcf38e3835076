"""Every field of a policy does something: with another value some question has another outcome."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest

import confide
import protecting
from asking import Outcome, python_regression, python_table
from confide.answering.service import Service
from confide.errors import Refused
from confide.model.policy import PRESETS, describe, write_policy
from confide.model.request import Request
from confide.web.api import create_app
from edges import EDGES, OFF, people

MANY = ["town", "age", "trade", "sex"]
COUNTS = python_table("people", rows=MANY)
TOTALS = python_table("people", rows=MANY, measure="total", of="income")
"""Hundreds of cells, most of them small."""
BY_KEYS = python_table("people", rows=["town", "job"])
INCOMES = python_table("people", rows=["town", "job"], measure="total", of="income")
COUPLE = python_table("people", rows="ill", where={"town": "a1"})


def told(answer: Outcome) -> object:
    """What a person sees of an answer, but for the words around it."""
    columns = {name: (column.values.tolist(), column.marks.tolist()) for name, column in answer.columns.items()}
    return [reason.rule for reason in answer.reasons], repr(columns), {n: g.rows for n, g in answer.grids.items()}


@dataclass(frozen=True)
class Changed:
    """A field with another value: who is asked what under which policy, and with how many secrets."""

    other: object
    asked: Callable[[Any], tuple[Any, Request[Any]]]
    secrets: int = 1

    def differs(self, town: Any, name: str) -> bool:
        crowd, request = self.asked(town)
        section, field = name.split(".")
        policies = (crowd, crowd.under(**{section: {field: self.other}}))
        assert getattr(getattr(crowd.policy, section), field) != self.other
        one, two = ([told(at.desk(n).consider(request)) for n in range(self.secrets)] for at in policies)
        return one != two


def edge(rule: str, counted: str, number: int, kind: str = "table") -> Callable[[Any], tuple[Any, Request[Any]]]:
    """The question at the edge of a rule, on the refused side."""
    [found] = [one for one in EDGES if (one.rule, one.counted) == (rule, counted)]
    assert found.expected(number) == [rule]
    return partial(found.asked, number=number, kind=kind)


def plain(request: Request[Any], **policy: dict[str, object]) -> Callable[[Any], tuple[Any, Request[Any]]]:
    """A question about the town with hardly any rule in force."""
    return lambda town: (town.under(**OFF).under(**policy), request)


def protected(request: Request[Any], **records: object) -> Callable[[Any], tuple[Any, Request[Any]]]:
    """A question about people with keys, some of them exposed, which is answered exactly from their protected records."""
    policy = protecting.records_policy(mean_cell=1.0)
    crowd = partial(replace, catalog=protecting.CATALOG, people=protecting.people(1500, seed=1), policy=policy)
    quiet = {name: fields for name, fields in OFF.items() if name != "tables"}
    return lambda town: (crowd(town).under(**quiet).under(tables={"cross": False}, records=records), request)


def women(number: int, **universe: object) -> Callable[[Any], tuple[Any, Request[Any]]]:
    """So many women, and a universe of them that must have forty."""
    crowd, request = (
        people((number, {"sex": "f"}), (60, {"sex": "m"})),
        python_table("people", rows="ill", where={"sex": "f"}),
    )
    return lambda town: (town.of(crowd).under(**OFF).under(universe={"gamma": 40, **universe}), request)


def incomes(formula: str, earned: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Any:
    """A model of incomes that are made of sex (0 or 1) and age."""

    def asked(town: Any) -> tuple[Any, Request[Any]]:
        crowd = people((200, {}))
        made = earned(crowd["sex"].to_numpy() == "m", crowd["age"].to_numpy())
        crowd = crowd.set_column(crowd.column_names.index("income"), "income", pa.array(made))
        return town.of(crowd).under(**OFF), python_regression("people", formula)

    return asked


KEYED: dict[str, object] = {"mechanism": "cell-key"}
NOISE = np.random.default_rng(8).integers(0, 100, 200).astype(float)
FIELDS = {
    "universe.decide_on": Changed("protected", women(40), secrets=20),
    "universe.gamma": Changed(74, edge("universe.gamma", "units in a piece", 74)),
    "universe.gamma_star": Changed(24, edge("universe.gamma_star", "units in an overlap", 24)),
    "universe.marginals": Changed(False, edge("universe.marginals", "a margin", 1)),
    "universe.complement": Changed(False, edge("universe.complement", "units outside", 1)),
    "universe.remainder": Changed(9, edge("universe.remainder", "units that a condition leaves out", 9)),
    "universe.variables": Changed(3, edge("universe.variables", "variables", 3)),
    "universe.pieces": Changed(3, edge("universe.pieces", "pieces", 3)),
    "universe.noise_distance": Changed(2, women(42, decide_on="protected", noise_variance=2.0), secrets=100),
    "universe.noise_variance": Changed(0.01, women(40, decide_on="protected"), secrets=20),
    "drop.k": Changed(5, plain(COUNTS)),
    "counts.mechanism": Changed("cell-key", plain(COUNTS)),
    "counts.distance": Changed(3, plain(COUNTS, counts=KEYED)),
    "counts.variance": Changed(3.0, plain(COUNTS, counts=KEYED)),
    "counts.small": Changed(0, plain(COUNTS, counts=KEYED)),
    "counts.stay": Changed(0.5, plain(COUNTS, counts=KEYED)),
    "totals.mechanism": Changed("ma", plain(TOTALS)),
    "totals.beta": Changed(0.1, plain(TOTALS, totals={"mechanism": "ma"})),
    "totals.magnitudes": Changed((0.5, 0.1), plain(TOTALS, totals={"mechanism": "thompson"})),
    "totals.units": Changed(5, plain(TOTALS)),
    "totals.dominance_n": Changed(1, plain(TOTALS, totals={"dominance_k": 60.0})),
    "totals.dominance_k": Changed(60.0, plain(TOTALS)),
    "totals.p_percent": Changed(10.0, plain(TOTALS)),
    "totals.risk_alpha": Changed(0.5, plain(TOTALS, totals={"mechanism": "ma", "risk_limit": 0.25})),
    "totals.risk_limit": Changed(0.25, plain(TOTALS, totals={"mechanism": "ma"})),
    "tables.dimensions": Changed(3, edge("tables.dimensions", "variables", 3)),
    "tables.cells": Changed(15, edge("tables.cells", "cells", 15)),
    "tables.sparse_below": Changed(4, edge("tables.sparsity", "units in most cells", 4)),
    "tables.sparsity": Changed(0.75, edge("tables.sparsity", "small cells", 3)),
    "tables.mean_cell": Changed(7.9, edge("tables.mean_cell", "units", 79)),
    # 360 of 1200 people in two classes, and 1200 in ten cells of the cross
    "tables.cross": Changed(True, plain(COUPLE, tables={"mean_cell": 150.0, "cross": False})),
    "tables.class_disclosure": Changed(False, edge("tables.class_disclosure", "other outcomes in a town", 0)),
    "tables.additive": Changed(True, plain(python_table("people", rows=["town", "trade"]), counts=KEYED)),
    "models.predictors": Changed(4, edge("models.predictors", "predictors", 4, "gaussian")),
    "models.units": Changed(49, edge("models.units", "units", 49, "gaussian")),
    "models.units_per_column": Changed(19, edge("models.units", "units for each column", 59, "gaussian")),
    "models.dummy": Changed(19, edge("models.classes", "units in a class", 19, "gaussian")),
    "models.interaction": Changed(9, edge("models.interaction", "units in a cell", 9, "gaussian")),
    "models.leverage_units": Changed(5, edge("models.unfit", "units with another number", 8, "gaussian")),
    # one of 200 has more than a thousandth of any sum of squares; limits are moved by a tenth at most
    "models.influence": Changed(0.001, incomes("income ~ age", lambda men, ages: NOISE)),
    "models.r_squared": Changed(0.5, incomes("income ~ age", lambda men, ages: 100 * ages + NOISE)),
    "models.class_fit": Changed(0.5, incomes("income ~ sex", lambda men, ages: np.where(men, 100 * NOISE, NOISE))),
    "models.sensitive": Changed("", edge("models.suppressed", "suppressed variables", 1, "correlation")),
    "models.suppressed": Changed((), edge("models.suppressed", "suppressed variables", 1, "correlation")),
    "records.keys": Changed(1, protected(BY_KEYS)),
    "records.alone": Changed(4, protected(BY_KEYS)),
    "records.exchange": Changed(0.0, protected(BY_KEYS)),
    "records.background": Changed(0.2, protected(BY_KEYS)),
    "records.background_exposed": Changed(0.5, protected(BY_KEYS)),
    "records.cell_exchanges": Changed(3.0, protected(BY_KEYS, background_exposed=0.5)),
    "records.partners": Changed(200, protected(BY_KEYS)),
    "records.noise": Changed(0.3, protected(INCOMES)),
    "records.noise_exposed": Changed(0.3, protected(INCOMES)),
    "records.dominance": Changed(0.05, protected(INCOMES)),
    "output.digits": Changed(2, plain(TOTALS, output={"digits": 4})),
}


@pytest.mark.parametrize("name", FIELDS)
def test_another_value_of_a_field_changes_an_outcome(town: Any, name: str) -> None:
    assert FIELDS[name].differs(town, name)


def answered(service: Service, times: int) -> list[str]:
    """What comes of asking the same again and again."""
    found = []
    for _ in range(times):
        try:
            service.answer(python_table("people", rows="sex"))
            found.append("released")
        except Refused as refused:
            found.append(refused.reasons[0].rule)
    return found


def knocked(service: Service, times: int) -> list[int]:
    """What a browser is told that comes again and again."""

    async def knock() -> list[int]:
        transport = httpx.ASGITransport(create_app(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [(await client.get("/api/datasets")).status_code for _ in range(times)]

    return asyncio.run(knock())


QUOTAS: dict[str, Callable[[Service, int], Sequence[object]]] = {"quota.per_day": answered, "quota.per_minute": knocked}


@pytest.mark.parametrize("name", QUOTAS)
@pytest.mark.parametrize("most", [0, 1, 2])
def test_a_quota_lets_exactly_so_many_pass(
    tmp_path: Path, town: Any, name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clocks stand still: no day ends, and nobody is slow enough to be let in again."""
    midday = datetime(2030, 1, 1, 12, tzinfo=UTC)
    monkeypatch.setattr("confide.answering.service.datetime", SimpleNamespace(now=lambda zone: midday))
    monkeypatch.setattr("confide.web.rate_limit.time", SimpleNamespace(monotonic=lambda: 0.0))
    confide.add(town.people, tmp_path, name="people", catalog=town.catalog)
    standard = PRESETS["standard"]
    quota = replace(standard.quota, **{name.removeprefix("quota."): most})
    (tmp_path / "policy.toml").write_text(write_policy(replace(standard, quota=quota), preset="standard"))
    with Service.open(tmp_path) as service:
        passed = [found in ("released", 200) for found in QUOTAS[name](service, 3)]
    assert passed == [True, most != 1, most == 0], "0 is no limit"


def test_every_field_is_tried() -> None:
    """A new field wants a question whose outcome it changes."""
    # the exit status of an attack, and refusals by what was asked before and by time: tests/attacks/test_command.py,
    # test_audited.py, test_growing_space.py, tests/web/test_scheduling.py; what is loaded and which vintages are there:
    # tests/records/test_updates.py, test_stand_ins.py; what waits for a custodian: tests/web/test_reviews.py
    updates = {"updates.least", "updates.few", "updates.stand_ins", "updates.kept", "updates.asked"}
    elsewhere = {
        "red_team.limit",
        "audit.limit",
        "audit.explained",
        "quota.seconds",
        "review.tables",
        "review.models",
        *updates,
    }
    assert {*FIELDS, *QUOTAS, *elsewhere} == {name for name, _, _ in describe()}
