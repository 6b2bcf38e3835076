"""The risk of sample uniques from a log-linear model of how many people have each combination of keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any, Literal

import numpy as np
from scipy.special import hyp1f1

from confide.arrays import Bools, Floats, Ints
from confide.data.proportional_fitting import margin, proportionally_fitted
from confide.errors import Mistake
from confide.measures.records import weights_of
from confide.measures.risk.classes import keyed

__all__ = ["ModelRisk", "Terms", "model_risk"]

Terms = Literal["main", "pairs"]

CELLS = 1 << 24
"""Fitting pairs needs the whole table of the keys; it may have so many cells, 128 MB for each copy of it."""


@dataclass(frozen=True)
class ModelRisk:
    """Of each record, the risk E(1 / F) and the probability of being alone in the population; by the fitted model."""

    risk: Floats
    unique: Floats
    alone: Bools

    @property
    def population_uniques(self) -> float:
        """How many sample uniques are expected to be unique in the population (tau 1)."""
        return float(self.unique[self.alone].sum())

    @property
    def expected(self) -> float:
        """How many sample uniques an intruder is expected to re-identify (tau 2)."""
        return float(self.risk[self.alone].sum())


def model_risk(frame: Any, *, keys: str | Sequence[str], weight: str, terms: Terms = "pairs") -> ModelRisk:
    """Risk by a Poisson log-linear model (Skinner and Shlomo 2008), which borrows strength from similar combinations of keys.

    The people of each cell are Poisson; a log-linear model with main effects, or with all pairs of keys, is fitted by
    iterative proportional fitting to the weighted counts (pseudo maximum likelihood), zeros included. Given f in the
    sample at sampling fraction q, the people of a cell are f plus a Poisson variable of mean h = (1 - q) times the
    fitted count: a sample unique is unique in the population with probability exp(-h), and its risk is (1 - exp(-h)) / h.
    A record with a missing key has no cell and gets no risk.

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": list("ffmm"), "town": list("AABB"), "w": [1.0, 1.0, 1.0, 1.0]})
    >>> found = model_risk(people, keys=["sex", "town"], weight="w")
    >>> found.risk.round(3).tolist(), found.population_uniques
    ([0.5, 0.5, 0.5, 0.5], 0.0)
    """
    if terms not in ("main", "pairs"):
        raise Mistake(f"A model has 'main' effects or all 'pairs', not {terms!r}.")
    codes, weights = keyed(frame, keys), weights_of(frame, weight)
    assert weights is not None
    known = (codes >= 0).all(axis=1)
    risk, unique, alone = np.zeros(len(codes)), np.zeros(len(codes)), np.zeros(len(codes), np.bool_)
    if known.any():
        cell, count, people = _cells(codes[known], weights[known])
        fitted = _fitted(codes[known], weights[known], terms)[cell]
        h = fitted * (1 - np.minimum(1.0, count / people))
        risk[known] = hyp1f1(1.0, count + 1.0, -h) / count
        unique[known], alone[known] = np.where(count == 1, np.exp(-h), 0.0), count == 1
    return ModelRisk(risk, unique, alone)


def _cells(codes: Ints, weights: Floats) -> tuple[Ints, Floats, Floats]:
    """Where each record stands among the cells that are not empty; the sample and the weighted count there."""
    _, cell = np.unique(codes, axis=0, return_inverse=True)
    cell = cell.ravel().astype(np.int64)
    count, people = np.bincount(cell).astype(np.float64), np.bincount(cell, weights).astype(np.float64)
    return cell, count[cell], people[cell]


def _fitted(codes: Ints, weights: Floats, terms: str) -> Floats:
    """The fitted weighted count of each cell that is not empty, in their order."""
    cells = np.unique(codes, axis=0)
    if terms == "main" or codes.shape[1] == 1:
        total = weights.sum()
        shares = [np.bincount(column, weights) / total for column in codes.T]
        return np.asarray(
            total * np.prod([share[column] for share, column in zip(shares, cells.T, strict=True)], axis=0)
        )
    shape = tuple(int(column.max()) + 1 for column in codes.T)
    if prod(shape) > CELLS:
        raise Mistake(
            f"The table of all keys has {prod(shape):,} cells, too many for a model with all pairs.",
            suggestions=["Use terms='main', or fewer or coarser keys."],
        )
    pairs = combinations(range(len(shape)), 2)
    margins: dict[tuple[int, ...], Floats] = {
        pair: margin(codes[:, pair], weights, tuple(shape[axis] for axis in pair)) for pair in pairs
    }
    return np.asarray(proportionally_fitted(margins, shape)[tuple(cells.T)])
