"""Models to draw a column from others: by trees or by regressions.

A variable is an array of float64 with NaN for missing; a category is its code. What is drawn is a known value for each new
record. Missing values of predictors are a value of their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, ndtr, ndtri
from scipy.stats import rankdata

from confide.arrays import Bools, Floats, Ints
from confide.microdata.synthesis.trees import BINS, grow, leaves

__all__ = [
    "MODELS",
    "Draw",
    "DrawingTask",
    "SynthesisPredictors",
    "SynthesisVariable",
    "by_regressions",
    "by_trees",
    "quantiles",
]


@dataclass(frozen=True)
class SynthesisVariable:
    """A column: its values, and how many categories it has, or 0 if it holds numbers."""

    values: Floats
    categories: int = 0

    def at(self, rows: Ints) -> "SynthesisVariable":
        return SynthesisVariable(self.values[rows], self.categories)


@dataclass(frozen=True)
class SynthesisPredictors:
    """What columns are drawn by: of the records, and of the `size` new ones."""

    old: Sequence[SynthesisVariable]
    new: Sequence[SynthesisVariable]
    size: int

    def at(self, rows: Ints) -> "SynthesisPredictors":
        """Of some of the records, and of all new ones."""
        return SynthesisPredictors([one.at(rows) for one in self.old], self.new, self.size)


@dataclass(frozen=True)
class DrawingTask:
    """What to draw: a target, known in all records. `rare` says which of its numbers few records have.

    Leaves of trees have `least` records or more.
    """

    target: SynthesisVariable
    rare: Bools
    by: SynthesisPredictors
    least: int


Draw = Callable[[DrawingTask, np.random.Generator], Floats]


def by_trees(task: DrawingTask, rng: np.random.Generator) -> Floats:
    """The value of a record that fell into the same leaf; rare numbers are blurred.

    A rare number is moved by normal noise with the bandwidth of Silverman's rule in the leaf, or the distance to the next
    other number if that is more, so that it is not released as it stands.
    """
    target, size, many = task.target, task.by.size, max(task.target.categories, 1)
    code = target.values.astype(np.int64) if target.categories else np.zeros(len(target.values), np.int64)
    amount = np.ones(len(code)) if target.categories else _standardised(target.values)
    pairs = [_binned(one, other, code, amount, many) for one, other in zip(task.by.old, task.by.new, strict=True)]
    tree = grow(_stacked([a for a, _ in pairs], len(code)), code, amount, width=many, least=task.least)
    leaf = leaves(tree, _stacked([b for _, b in pairs], size))
    count = (tree.stop - tree.start)[leaf]
    donor = tree.order[tree.start[leaf] + np.minimum((rng.random(size) * count).astype(np.int64), count - 1)]
    drawn: Floats = target.values[donor]
    if target.categories:
        return drawn
    width = np.array([_bandwidth(target.values[tree.order[a:b]]) for a, b in zip(tree.start, tree.stop, strict=True)])
    floor = 0.01 * float(target.values.std())  # a leaf may hold one record drawn several times
    moved = drawn + np.maximum(np.maximum(width[leaf], floor), _gaps(target.values)[donor]) * rng.standard_normal(size)
    ends = float(target.values.min()), float(target.values.max())
    return np.where(task.rare[donor], _reflected(moved, *ends), drawn)


def _reflected(values: Floats, low: float, high: float) -> Floats:
    """Values beyond the ends thrown back inside, so that none piles up at an end, which is somebody's value."""
    span = max(high - low, 1e-300)
    place = np.mod(values - low, 2 * span)
    return np.asarray(low + np.where(place > span, 2 * span - place, place))


def _bandwidth(values: Floats) -> float:
    quartiles = np.quantile(values, [0.25, 0.75])
    spread = min(float(values.std()), float(quartiles[1] - quartiles[0]) / 1.34) or float(values.std())
    return float(0.9 * spread * len(values) ** -0.2)


def _gaps(values: Floats) -> Floats:
    """How far each number is from the nearest other one."""
    value, place = np.unique(values, return_inverse=True)
    if len(value) < 2:
        return np.zeros(len(values))
    apart = np.diff(value)
    return np.asarray(np.minimum(np.append(np.inf, apart), np.append(apart, np.inf))[place])


def _standardised(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / (values.std() or 1.0))


def _stacked(columns: Sequence[NDArray[np.uint8]], size: int) -> NDArray[np.uint8]:
    return np.ascontiguousarray(np.column_stack(columns)) if columns else np.zeros((size, 0), np.uint8)


def _binned(
    old: SynthesisVariable, new: SynthesisVariable, code: Ints, amount: Floats, many: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A predictor of the records and of the new ones in the same bins; 0 is missing."""
    values, others = old.values, new.values
    if old.categories:
        rank = _ranks(old, code, amount, many)
        values, others = (rank[np.nan_to_num(one, nan=old.categories).astype(np.int64)] for one in (values, others))
    known = values[~np.isnan(values)]
    edges = np.unique(known)
    if len(edges) > BINS - 2:
        edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS)[1:-1], method="lower"))
    first, second = (
        np.where(np.isnan(one), 0, 1 + np.searchsorted(edges, one)).astype(np.uint8) for one in (values, others)
    )
    return first, second


def _ranks(predictor: SynthesisVariable, code: Ints, amount: Floats, many: int) -> Floats:
    """Categories in the order in which a cut between neighbours serves the target best; the last entry is missing.

    By the mean of an amount; of classes by the first principal component of their shares (Coppersmith et al. 1999).
    """
    known = ~np.isnan(predictor.values)
    own = predictor.values[known].astype(np.int64)
    table = np.zeros((predictor.categories, many))
    np.add.at(table, (own, code[known]), amount[known])
    count = np.bincount(own, minlength=predictor.categories)
    share = table / np.maximum(count, 1)[:, None]
    centred = (share - np.average(share, axis=0, weights=np.maximum(count, 1e-9))) * np.sqrt(count)[:, None]
    direction = np.linalg.svd(centred, full_matrices=False)[2][0] if many > 1 else np.ones(1)
    rank = rankdata(share @ direction, method="ordinal").astype(np.float64)
    return np.append(rank, np.nan)


def by_regressions(task: DrawingTask, rng: np.random.Generator) -> Floats:
    """A draw from a normal regression of the ranks of a number, or from a multinomial logit of a category.

    Numbers are made normal by their ranks and brought back between the values there are, so their distribution stays.
    """
    target, size, n = task.target, task.by.size, len(task.target.values)
    design, others = _designs(task.by, n)
    if target.categories:
        chance = np.exp(log_softmax(others @ _logit(design, target.values.astype(np.int64), target.categories), axis=1))
        below = (np.cumsum(chance, axis=1) < rng.random((size, 1))).sum(axis=1)
        return np.asarray(np.minimum(below, target.categories - 1), np.float64)
    score = ndtri((rankdata(target.values) - 0.5) / n)
    weights = np.linalg.solve(design.T @ design + 1e-6 * np.eye(design.shape[1]), design.T @ score)
    spread = np.sqrt(np.sum((score - design @ weights) ** 2) / max(1, n - design.shape[1]))
    share = ndtr(others @ weights + spread * rng.standard_normal(size))
    return quantiles(share, target.values, task.rare)


def quantiles(share: Floats, values: Floats, rare: Bools) -> Floats:
    """The values below which these shares lie: between rare numbers and never on them, and on others as often as they are."""
    value, first, count = np.unique(values, return_index=True, return_counts=True)
    last = np.cumsum(count)
    ends = np.column_stack([last - count + 0.5, last - 0.5]) / len(values)
    ends = np.where(rare[first][:, None], ends.mean(axis=1, keepdims=True), ends)
    places = ends.ravel()
    return np.interp(_reflected(share, places[0], places[-1]), places, np.repeat(value, 2))


def _designs(by: SynthesisPredictors, n: int) -> tuple[Floats, Floats]:
    """The predictors as columns of a regression: 1, numbers standardised, categories and what is missing as 0 and 1."""
    first, second = [np.ones((n, 1))], [np.ones((by.size, 1))]
    for one, other in zip(by.old, by.new, strict=True):
        if one.categories:
            width = one.categories + 1
            for part, variable in ((first, one), (second, other)):
                part.append(np.eye(width)[np.nan_to_num(variable.values, nan=width - 1).astype(np.int64)])
            continue
        known = one.values[~np.isnan(one.values)]
        mean, spread = (known.mean(), known.std() or 1.0) if len(known) else (0.0, 1.0)
        for part, variable in ((first, one), (second, other)):
            blank = np.isnan(variable.values)
            part.append(np.column_stack([np.where(blank, 0.0, (variable.values - mean) / spread), blank]))
    return np.hstack(first), np.hstack(second)


def _logit(design: Floats, code: Ints, many: int) -> Floats:
    """Weights of a multinomial logit with a slight ridge, so that they exist where classes can be told apart."""
    hit = np.eye(many)[code]

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(design.shape[1], many)
        logs = log_softmax(design @ weights, axis=1)
        slope = design.T @ (np.exp(logs) - hit) + 0.1 * weights
        return float(-logs[np.arange(len(code)), code].sum() + 0.05 * np.sum(flat**2)), slope.ravel()

    start = np.zeros(design.shape[1] * many)
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x).reshape(design.shape[1], many)


MODELS: dict[str, Draw] = {"trees": by_trees, "regressions": by_regressions}
