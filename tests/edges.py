"""The edges of every rule, for every kind of question it concerns: each rule alone in force, on true counts.

An entry builds people, or a question, with a judged number; its verdicts stand at the limit, one beside it, and at 0, 1 and 2.
`place` moves what is few: to another axis, class or piece of the universe.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from asking import python_correlation, python_regression, python_table
from confide.answering.mechanisms.safe.base import Base
from confide.model.request import Request

__all__ = ["EDGES", "MODELS", "OFF", "Edge", "people"]

OFF: dict[str, dict[str, object]] = {
    "universe": {
        "decide_on": "true",
        "gamma": 0,
        "gamma_star": 0,
        "marginals": False,
        "complement": False,
        "remainder": 0,
        "variables": 8,
        "pieces": 8,
    },
    "drop": {"k": 0},
    "counts": {"mechanism": "none"},
    "totals": {"mechanism": "none", "units": 0, "dominance_k": 100.0, "p_percent": 0.0, "risk_limit": 1.0},
    "tables": {"dimensions": 6, "cells": 1_000_000, "sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False},
    "models": {
        "predictors": 50,
        "units": 0,
        "units_per_column": 1,
        "dummy": 0,
        "interaction": 0,
        "leverage_units": 1,
        "influence": 1.0,
        "r_squared": 1.0,
        "class_fit": 0.0,
    },
}
"""No rule in force but those that no policy can switch off."""

MODELS = ("gaussian", "binomial", "poisson")
EVERY = ("table", *MODELS, "correlation")
TOWNS = ("a1", "b1", "b2")
FEW = {0: True, 1: True, 2: True}
NONE_OR_MANY = {0: False, 1: True, 2: True}
"""Verdicts on the least counts: too few, or only if there are any."""


def people(*groups: tuple[int, dict[str, Any]], visits: int = 1) -> pa.Table:
    """So many people of each kind, in all else crossed and mixed; each stands in the file `visits` times."""
    rng, rows = np.random.default_rng(5), list[dict[str, Any]]()
    for number, kind in groups:
        for at in range(number):
            mixed = {"sex": "fm"[at % 2], "ill": ("no", "yes")[at // 4 % 2], "work": ("yes", "no")[at // 2 % 2]}
            alike = {"town": "a1", "trade": "pqr"[at % 3], "age": float(rng.integers(0, 100)), "w": 1.0}
            rows.append({"id": str(len(rows)), **mixed, **alike, **kind})
    names = rows[0] if rows else {}
    columns = {name: [row[name] for row in rows for _ in range(visits)] for name in names}
    columns["county"] = [name[0].upper() for name in columns["town"]]
    columns["income"] = rng.integers(500, 1500, len(rows) * visits).astype(float)
    return pa.table(columns)


def ask(
    kind: str,
    *,
    rows: Any = "ill",
    measure: Any = "count",
    predictors: str = "age",
    against: str = "",
    errors: str = "model",
    variables: Sequence[str] = ("age", "income"),
    where: Any,
) -> Request[Any]:
    """A question of a kind: a table by these rows, a model by these predictors, or correlations of these variables."""
    if kind == "table":
        return python_table("people", rows=rows, measure=measure, where=where)
    if kind == "correlation":
        return python_correlation("people", list(variables), where=where)
    response = "ill=yes" if kind == "binomial" else "income"
    more = {"against": f"{response} ~ {against}"} if against else {}
    return python_regression("people", f"{response} ~ {predictors}", family=kind, where=where, errors=errors, **more)


Groups = Sequence[tuple[int, dict[str, Any]]]
CROWD: Groups = [(100, {"town": name}) for name in (*TOWNS, "a2")]


@dataclass(frozen=True)
class Edge:
    """A rule at a limit: what people and what question have a judged number, and the verdict on each number."""

    rule: str
    counted: str
    policy: Mapping[str, Mapping[str, object]]
    refused: Mapping[int, bool]
    groups: Callable[[int, int], Groups] = lambda number, place: CROWD
    words: Callable[[int, int], dict[str, Any]] = lambda number, place: {}
    kinds: tuple[str, ...] = EVERY
    places: int = 1
    instead: Mapping[int, str] = field(default_factory=dict)
    """Another rule that refuses a number which this one lets pass: nothing can be fitted to it."""
    base: Base | None = None
    design: str = ""
    """How units were drawn, as a section of the description."""

    def asked(self, town: Any, number: int, *, kind: str, place: int = 0, visits: int = 1) -> tuple[Any, Request[Any]]:
        """The people and the policy, and the question of a kind about them."""
        crowd = people(*self.groups(number, place), visits=visits)
        request = ask(kind, **{"where": None, **self.words(number, place)})
        if self.design:
            town = replace(town, catalog=town.catalog.replace("[variables.id]", f"{self.design}\n[variables.id]", 1))
        return town.under(**OFF).under(**self.policy).of(crowd), request

    def expected(self, number: int) -> list[str]:
        if number in self.instead:
            return [self.instead[number]]
        return [self.rule] if self.refused[number] else []


def around(limit: int, *, below: bool = True) -> dict[int, bool]:
    """Verdicts beside a limit: refused below it, or above."""
    return {n: (n < limit if below else n > limit) for n in (limit - 1, limit, limit + 1)}


def few_of(place: int, number: int, *, rest: int = 100, **more: Any) -> Groups:
    """People of three towns, few in one of them."""
    return [(number if i == place else rest, {"town": name, **more}) for i, name in enumerate(TOWNS)]


OVERLAPS = (
    {"sex": "f", "work": "yes", "town": "a1"},
    {"sex": "f", "work": "no", "town": "b1"},
    {"sex": "m", "work": "yes", "town": "b1"},
)
CONDITIONS = {"sex": ["f"], "work": ["yes"], "county": ["A"]}
CELLS = [{"sex": sex, "work": work} for sex in "fm" for work in ("yes", "no")]
ORDERS = (["town"], ["town", "ill"], ["ill", "town"])
"""A variable alone, on the first axis and on the last."""

BASE = Base(("ill", "sex", "county"), np.zeros((0, 3), np.int64), np.zeros(0, np.int64), (1.0,) * 4, "empty")
OF_TOWNS: dict[str, Any] = {"predictors": "age + town", "variables": ["age", "town"]}

EDGES = (
    Edge(
        "universe.variables",
        "variables",
        {"universe": {"variables": 2}},
        around(2, below=False),
        # in one piece, or each in a piece of its own
        words=lambda number, place: {
            "where": [dict(list(CONDITIONS.items())[:number]), [{n: c} for n, c in list(CONDITIONS.items())[:number]]][
                place
            ]
        },
        places=2,
    ),
    Edge(
        "universe.pieces",
        "pieces",
        {"universe": {"pieces": 2}},
        around(2, below=False),
        words=lambda number, place: {"where": [{"town": name} for name in TOWNS[:number]]},
    ),
    Edge(
        "universe.marginals",
        "a margin",
        {"universe": {"marginals": True}},
        {**NONE_OR_MANY, 3: False},
        # few men, or few without work: the margin of the first variable or of the last
        groups=lambda number, place: [
            (100, {"sex": "f", "work": "yes"}),
            (100, [{"sex": "f", "work": "no"}, {"sex": "m", "work": "yes"}][place]),
            (number, [{"sex": "m", "work": "yes"}, {"sex": "f", "work": "no"}][place]),
        ],
        words=lambda number, place: {"where": {"sex": "f", "work": "yes"}},
        places=2,
    ),
    Edge(
        "universe.gamma",
        "units in a piece",
        {"universe": {"gamma": 75}},
        {**FEW, **around(75)},
        groups=lambda number, place: [*few_of(place, number), (100, {"town": "a2"})],
        words=lambda number, place: {"where": [{"town": name} for name in TOWNS]},
        places=3,
    ),
    Edge(
        "universe.gamma_star",
        "units in an overlap",
        {"universe": {"gamma_star": 25}},
        {**NONE_OR_MANY, **around(25)},
        # the overlap of the first two pieces, of the first and the last, of the last two
        groups=lambda number, place: [
            (100, {"sex": "f", "work": "no", "town": "a1"}),
            (100, {"sex": "m", "work": "yes", "town": "a1"}),
            (100, {"sex": "m", "work": "no", "town": "b1"}),
            (number, OVERLAPS[place]),
        ],
        words=lambda number, place: {"where": [{"sex": "f"}, {"work": "yes"}, {"town": "b1"}]},
        places=3,
    ),
    Edge(
        "universe.complement",
        "units outside",
        {"universe": {"gamma": 75, "complement": True}},
        {**NONE_OR_MANY, **around(75)},
        groups=lambda number, place: few_of(place, number),
        words=lambda number, place: {"where": [{"town": name} for i, name in enumerate(TOWNS) if i != place]},
        places=3,
    ),
    Edge(
        "universe.remainder",
        "units that a condition leaves out",
        {"universe": {"remainder": 10}},
        {**NONE_OR_MANY, **around(10)},
        groups=lambda number, place: [
            *[(100, {"town": name, "sex": "f"}) for name in (*TOWNS, "a2")],
            *few_of(place, number, sex="m"),
        ],
        words=lambda number, place: {"where": [{"town": name, "sex": "f"} for name in TOWNS]},
        places=3,
    ),
    Edge(
        "tables.dimensions",
        "variables",
        {"tables": {"dimensions": 2}},
        around(2, below=False),
        words=lambda number, place: {"rows": ["sex", "ill", "work"][:number]},
        kinds=("table",),
    ),
    Edge(
        "tables.cells",
        "cells",
        {"tables": {"cells": 10}},
        {6: False, 10: False, 15: True},
        words=lambda number, place: {
            "rows": {6: ["sex", "ill"], 10: ["town", "ill"], 15: ["town", "sex"]}[number][:: 1 - 2 * place]
        },
        kinds=("table",),
        places=2,
    ),
    Edge(
        "tables.exclusion",
        "variables of a group",
        {},
        {1: False, 2: True},
        # so many of the two variables of a group: both in the question, or one in the universe or in a later piece of it
        words=lambda number, place: {
            "rows": [*(["work"] if number > 1 and not place else []), "trade"],
            "predictors": "age + trade" + (" + work" if number > 1 and not place else ""),
            "variables": ["age", "trade", *(["work"] if number > 1 and not place else [])],
            "where": [None, {"work": "yes"}, [{"sex": "f"}, {"work": "yes"}]][place if number > 1 else 0],
        },
        places=3,
    ),
    Edge(
        "counts.base",
        "variables beyond the base",
        {"counts": {"mechanism": "safe"}, "records": {"noise": 0.1}},
        {0: False, 1: True, 2: True},
        # in the question, or in the universe
        words=lambda number, place: {
            "rows": ["ill", *["work", "town"][: number * (1 - place)]],
            "predictors": " + ".join(["age", "sex", *["work", "town"][: number * (1 - place)]]),
            "variables": ["age", "sex", *["work", "town"][: number * (1 - place)]],
            "where": {"county": "A", **dict([("work", "yes"), ("town", "a1")][:number])} if place else None,
        },
        places=2,
        base=BASE,
    ),
    Edge(
        "counts.base",
        "measures beyond the base",
        {"counts": {"mechanism": "safe"}},
        {0: False, 1: True},
        words=lambda number, place: {"measure": ["count", "weighted_count"][: number + 1]},
        kinds=("table",),
        base=BASE,
    ),
    Edge(
        "tables.sparsity",
        "units in most cells",
        {"tables": {"sparsity": 0.5, "sparse_below": 5}},
        {**NONE_OR_MANY, **around(5)},
        # three of four towns are that small, and all the rest is empty
        groups=lambda number, place: [*few_of(3, 0, rest=number, ill="no"), (100, {"town": "a2", "ill": "no"})],
        words=lambda number, place: {"rows": ORDERS[place]},
        kinds=("table",),
        places=3,
    ),
    Edge(
        "tables.sparsity",
        "small cells",
        {"tables": {"sparsity": 0.5, "sparse_below": 5}},
        around(2, below=False),
        # so many of four towns are small
        groups=lambda number, place: [
            (4 if i < number else 100, {"town": name, "ill": "no"}) for i, name in enumerate((*TOWNS, "a2"))
        ],
        words=lambda number, place: {"rows": ORDERS[place]},
        kinds=("table",),
        places=3,
    ),
    Edge(
        "tables.mean_cell",
        "units",
        {"tables": {"mean_cell": 8.0}},
        {1: True, 2: True, **around(80)},
        # two by five declared cells, of which nearly all are empty
        groups=lambda number, place: [(number, {"ill": "no"})],
        words=lambda number, place: {"rows": ORDERS[place + 1]},
        kinds=("table",),
        places=2,
    ),
    Edge(
        "tables.class_disclosure",
        "other outcomes in a town",
        {"tables": {"class_disclosure": True}},
        {0: True, 1: False, 2: False},
        # so many of the first or the last town are ill
        groups=lambda number, place: [
            (100, {"town": TOWNS[-(place // 2)], "ill": "no"}),
            (number, {"town": TOWNS[-(place // 2)], "ill": "yes"}),
            (100, {"town": "a2"}),
        ],
        words=lambda number, place: {"rows": ORDERS[1 + place % 2]},
        kinds=("table",),
        places=4,
    ),
    Edge(
        "tables.mean_cell",
        "units for the cross",
        {"tables": {"cross": True, "mean_cell": 8.0}},
        around(80),
        # five towns of a term, by the two conditions of work
        groups=lambda number, place: [(number - 60, {}), *((20, {"town": name}) for name in ("a2", "b1", "b2"))],
        words=lambda number, place: {**OF_TOWNS, "where": {"work": "yes"}},
        kinds=("gaussian", "poisson", "correlation"),
    ),
    Edge(
        "tables.mean_cell",
        "units for the cross with the outcome",
        {"tables": {"cross": True, "mean_cell": 4.0}},
        around(80),
        groups=lambda number, place: [(number - 60, {}), *((20, {"town": name}) for name in ("a2", "b1", "b2"))],
        words=lambda number, place: {**OF_TOWNS, "where": {"work": "yes"}},
        kinds=("binomial",),
    ),
    Edge(
        "tables.sparsity",
        "small classes of a term",
        {"tables": {"cross": True, "sparsity": 0.5, "sparse_below": 5}},
        around(2, below=False),
        groups=lambda number, place: [
            (4 if i < number else 100, {"town": name}) for i, name in enumerate((*TOWNS, "a2"))
        ],
        words=lambda number, place: OF_TOWNS,
        kinds=("gaussian", "poisson", "correlation"),
    ),
    Edge(
        "tables.sparsity",
        "small classes of a term with the outcome",
        {"tables": {"cross": True, "sparsity": 0.5, "sparse_below": 5}},
        around(2, below=False),
        # four of each outcome where towns are small
        groups=lambda number, place: [
            (8 if i < number else 100, {"town": name}) for i, name in enumerate((*TOWNS, "a2"))
        ],
        words=lambda number, place: OF_TOWNS,
        kinds=("binomial",),
    ),
    Edge(
        "tables.class_disclosure",
        "other outcomes in a town of the universe",
        {"tables": {"cross": True, "class_disclosure": True}},
        {0: True, 1: False, 2: False},
        groups=lambda number, place: [
            (100, {"town": TOWNS[-place], "ill": "no"}),
            (number, {"town": TOWNS[-place], "ill": "yes"}),
            *((100, {"town": name}) for name in TOWNS if name != TOWNS[-place]),
        ],
        # the classes of the term or of the outcome, by the towns
        words=lambda number, place: {
            "predictors": "age + ill",
            "variables": ["age", "ill"],
            "where": {"town": list(TOWNS)},
        },
        kinds=("gaussian", "poisson", "correlation"),
        places=2,
    ),
    Edge(
        "tables.class_disclosure",
        "other outcomes of a model in a town of the universe",
        {"tables": {"cross": True, "class_disclosure": True}},
        {0: True, 1: False, 2: False},
        groups=lambda number, place: [
            (100, {"town": TOWNS[-place], "ill": "no"}),
            (number, {"town": TOWNS[-place], "ill": "yes"}),
            *((100, {"town": name}) for name in TOWNS if name != TOWNS[-place]),
        ],
        words=lambda number, place: {"where": {"town": list(TOWNS)}},
        kinds=("binomial",),
        places=2,
    ),
    Edge(
        "models.hierarchy",
        "parts of an interaction",
        {},
        {0: True, 1: True, 2: False},
        # so many of the two parts of an interaction, the first of them or the last
        words=lambda number, place: {
            "predictors": " + ".join([*["age", "sex"][:: 1 - 2 * place][:number], "age:sex", "work"])
        },
        kinds=MODELS,
        places=2,
    ),
    Edge(
        "models.saturated",
        "classes beside those that interact",
        {"tables": {"cross": False}},
        {0: True, 1: False},
        words=lambda number, place: {"predictors": ["sex*work + age", "sex*work + county + age"][number]},
        kinds=MODELS,
    ),
    Edge(
        "models.saturated",
        "units in a class",
        {"models": {"dummy": 20}, "tables": {"cross": False}},
        {**FEW, **around(20)},
        # a county of so many people, the first or the last, has no column, and what is left is a table
        groups=lambda number, place: [(number, {"town": ["a1", "b1"][place]}), (300, {"town": ["b1", "a1"][place]})],
        words=lambda number, place: {"predictors": "sex*work + county"},
        kinds=MODELS,
        places=2,
    ),
    Edge(
        "models.nested",
        "classes beside those that interact, in a model to compare with",
        {"tables": {"cross": False}},
        {0: True, 1: False},
        words=lambda number, place: {
            "predictors": "sex*work + county + age",
            "against": ["sex*work + age", "sex*work + county"][number],
        },
        kinds=MODELS,
    ),
    Edge(
        "models.design",
        "sampling units, less one",
        {"models": {"leverage_units": 10}},
        # the limit is moved by at most a tenth
        {1: True, 2: True, 8: True, 12: False, 13: False},
        groups=lambda number, place: [(400 // (number + 1), {"psu": at}) for at in range(number + 1)],
        words=lambda number, place: {"errors": "design"},
        kinds=MODELS,
        design='[sampling]\npsu = "psu"\n',
    ),
    Edge(
        "models.design",
        "sampling units, less one, beside the columns of a model",
        {},
        {1: True, 3: True, 6: False},
        groups=lambda number, place: [(400 // (number + 1), {"psu": at}) for at in range(number + 1)],
        words=lambda number, place: {"errors": "design", "predictors": "age + age^2 + sex + work"},
        kinds=MODELS,
        design='[sampling]\npsu = "psu"\n',
    ),
    Edge(
        "models.interaction",
        "units in a cell",
        {"models": {"interaction": 10}},
        {**NONE_OR_MANY, **around(10)},
        # half of each cell in either county
        groups=lambda number, place: [
            (((number if i == place else 100 + i) + half) // 2, {**cell, "town": ("a1", "b1")[half]})
            for i, cell in enumerate(CELLS)
            for half in (0, 1)
        ],
        words=lambda number, place: {"predictors": "sex*work + county + age"},
        kinds=MODELS,
        places=4,
        instead={0: "models.unfit"},
    ),
    Edge(
        "models.predictors",
        "predictors",
        {"models": {"predictors": 3}},
        around(3, below=False),
        words=lambda number, place: {
            "predictors": " + ".join(["age", "sex", "work", "county"][:number]),
            "variables": ["age", "income", "sex", "work"][:number],
        },
        kinds=(*MODELS, "correlation"),
    ),
    Edge(
        "models.suppressed",
        "suppressed variables",
        {"models": {"sensitive": "income", "suppressed": ("town",)}},
        {0: False, 1: True},
        # beside the sensitive variable a suppressed one, in the question or in a later piece of the universe
        words=lambda number, place: {
            "predictors": "income + age" + (" + town" if number and not place else ""),
            "variables": ["income", "age", *(["town"] if number and not place else [])],
            "where": [{"sex": "f"}, {"county": "A"}] if number and place else None,
        },
        kinds=("binomial", "correlation"),
        places=2,
    ),
    Edge(
        "models.suppressed",
        "suppressed variables of a table",
        {"models": {"sensitive": "ill", "suppressed": ("town",)}},
        {0: False, 1: True, 2: True},
        words=lambda number, place: {"rows": [["ill"], ["ill", "town"], ["county", "ill"]][number]},
        kinds=("table",),
    ),
    Edge(
        "models.suppressed",
        "suppressed predictors",
        {"models": {"sensitive": "income", "suppressed": ("town",)}},
        {0: False, 1: True, 2: True},
        words=lambda number, place: {"predictors": ["age", "age + town", "age + county"][number]},
        kinds=("gaussian", "poisson"),
    ),
    Edge(
        "models.classes",
        "units in a class",
        {"models": {"dummy": 20}},
        {**FEW, **around(20)},
        # so many in the first class or in the last
        groups=lambda number, place: [(number, {"sex": "fm"[place]}), (200, {"sex": "mf"[place]})],
        words=lambda number, place: {"predictors": "sex", "variables": ["sex", "income"]},
        kinds=(*MODELS, "correlation"),
        places=2,
    ),
    Edge(
        "models.classes",
        "units with an outcome",
        {"models": {"dummy": 20}},
        {**FEW, **around(20)},
        # so many with one outcome or with the other
        groups=lambda number, place: [(number, {"ill": ["no", "yes"][place]}), (200, {"ill": ["yes", "no"][place]})],
        kinds=("binomial",),
        places=2,
    ),
    Edge(
        "models.implied",
        "units in the table",
        {"tables": {"mean_cell": 40.0}},
        around(400),
        groups=lambda number, place: [(100, {"town": name}) for name in TOWNS] + [(number - 300, {"town": "a2"})],
        words=lambda number, place: {
            "predictors": ["town + work", "work + town"][place],
            "variables": ["town", "work"][:: 1 - 2 * place],
        },
        kinds=(*MODELS, "correlation"),
        places=2,
    ),
    Edge(
        "models.implied",
        "units behind a total",
        {"totals": {"units": 30}, "models": {"dummy": 20}},
        {19: False, 20: True, **around(30)},
        # a town with a column of its own whose total would be withheld
        groups=lambda number, place: few_of(place, number),
        words=lambda number, place: {"predictors": "town"},
        kinds=("gaussian", "poisson"),
        places=3,
    ),
    Edge(
        "models.units",
        "units",
        {"models": {"units": 50}},
        around(50),
        groups=lambda number, place: [(number, {})],
        kinds=(*MODELS, "correlation"),
    ),
    Edge(
        "models.units",
        "units for each column",
        {"models": {"units_per_column": 20}},
        around(60),
        groups=lambda number, place: [(number, {})],
        words=lambda number, place: {"predictors": "age + work"},
        kinds=(*MODELS, "correlation"),
    ),
    Edge(
        "models.unfit",
        "units with another number",
        {"models": {"leverage_units": 10}},
        {**FEW, 8: True, 15: False},
        # an age of so many people; the limit of 10 is moved by up to a tenth
        groups=lambda number, place: [(number, {"age": 50.0}), (200, {"age": 10.0})],
        kinds=(*MODELS, "correlation"),
    ),
    Edge(
        "models.unfit",
        "units in a class",
        {"models": {"leverage_units": 10}},
        {**FEW, **around(10)},
        # so many in a class, or outside it
        groups=lambda number, place: [(number, {"sex": "fm"[place]}), (200, {"sex": "mf"[place]})],
        words=lambda number, place: {"variables": ["sex", "income"]},
        kinds=("correlation",),
        places=2,
        instead={0: "models.classes"},
    ),
)
