"""Random questions about the people of the demonstration: tables, regressions, correlations, in universes of 0 to 3 conditions.

Of ten questions five are tables by one to three variables (a third of these of totals and means), three are regressions with
two to four predictors, two are correlations. Each condition takes a random half of the codes of its variable, at least one.
"""

from typing import Any

import numpy as np

from asking import python_correlation, python_regression, python_table
from confide.model.catalog.dataset import Dataset
from confide.model.request import Request

__all__ = ["questions"]

CLASSES = ("region", "age_group", "sex", "marital", "education", "employment", "industry", "occupation_major")
NUMBERS = ("income", "wages", "taxes", "age", "children")
RESPONSES = {
    "income": "gaussian", "log(wages)": "gaussian", "taxes": "gaussian", "children": "poisson",
    "employment=employed": "binomial", "employment=retired": "binomial",
}  # fmt: skip


def questions(dataset: Dataset, number: int, *, seed: int) -> list[Request[Any]]:
    """So many questions, the same for the same seed."""
    random = np.random.default_rng(seed)
    return [_question(dataset, random) for _ in range(number)]


def _question(dataset: Dataset, random: np.random.Generator) -> Request[Any]:
    kind = random.choice(["table", "regression", "correlation"], p=[0.5, 0.3, 0.2])
    classes = random.permutation(CLASSES).tolist()
    taken = classes[: random.integers(0, 4)]
    where = {name: _codes(dataset, name, random) for name in taken} or None
    free = [name for name in classes if name not in taken]
    if kind == "table":
        amounts = {"measure": ["count", "total", "mean"], "of": "income"} if random.random() < 1 / 3 else {}
        return python_table("people", rows=free[: random.integers(1, 4)], where=where, **amounts)
    numbers = [name for name in random.permutation(NUMBERS).tolist() if not (name == "age" and "age_group" in taken)]
    if kind == "correlation":
        return python_correlation("people", [*numbers[:2], *free[: random.integers(0, 2)]], where=where)
    response = random.choice(list(RESPONSES))
    explained = response.replace("log(", "").rstrip(")").split("=")[0]
    predictors = [name for name in random.permutation([*numbers[:3], *free[:3]]).tolist() if name != explained]
    formula = f"{response} ~ {' + '.join(predictors[: random.integers(2, 5)])}"
    return python_regression("people", formula, family=RESPONSES[response], where=where)


def _codes(dataset: Dataset, name: str, random: np.random.Generator) -> list[str]:
    codes = [code.code for code in dataset.variables[name].codes or ()]
    chosen = np.flatnonzero(random.random(len(codes)) < 0.5)
    return [codes[at] for at in chosen] or [codes[int(random.integers(len(codes)))]]
