"""Columns of two files as the columns of a model, the same in both; and the logistic fit that several measures share."""

from dataclasses import dataclass

import numpy as np

from confide.arrays import Floats
from confide.measures.pairs import Both, Pair

__all__ = ["ModelMatrix", "chances"]

STEPS, ENOUGH = 100, 1e-10
FARTHEST = 30.0
"""Linear predictors stay this near to 0: where files can be told apart perfectly, the fit has no end."""


@dataclass(frozen=True)
class ModelMatrix:
    """An intercept, numbers, and 0-1 columns of all categories but the commonest; `names` say which they are."""

    names: tuple[str, ...]
    original: Floats
    released: Floats

    @classmethod
    def of(cls, pair: Pair) -> "ModelMatrix":
        """The design of both files; of a missing number there is a mark, and the number is the original's mean."""
        names: list[str] = ["intercept"]
        parts = [tuple(np.ones((rows, 1)) for rows in pair.rows)]
        for column in pair.columns:
            more, part = _numbers(column) if column.numeric else _classes(column)
            names += more
            parts.append(part)
        original, released = (np.hstack([part[side] for part in parts]) for side in (0, 1))
        return cls(tuple(names), original, released)

    def crossed(self) -> "ModelMatrix":
        """The design with all products of two of its columns, squares among them."""
        first, second = np.triu_indices(len(self.names) - 1)
        pairs = [(a + 1, b + 1) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
        names = (*self.names, *(f"{self.names[a]}:{self.names[b]}" for a, b in pairs))
        sides = (
            np.hstack([x, np.stack([x[:, a] * x[:, b] for a, b in pairs], axis=1)])
            for x in (self.original, self.released)
        )
        return ModelMatrix(names, *sides) if pairs else self


def _numbers(column: Both) -> tuple[list[str], tuple[Floats, Floats]]:
    known = column.original[~np.isnan(column.original)]
    filled = float(known.mean()) if len(known) else 0.0
    blank = [np.isnan(side) for side in (column.original, column.released)]
    sides = [np.where(gap, filled, side) for gap, side in zip(blank, (column.original, column.released), strict=True)]
    if not any(gap.any() for gap in blank):
        return [column.name], (sides[0][:, None], sides[1][:, None])
    marked = tuple(np.column_stack([side, gap]).astype(np.float64) for side, gap in zip(sides, blank, strict=True))
    return [column.name, f"{column.name} is missing"], (marked[0], marked[1])


def _classes(column: Both) -> tuple[list[str], tuple[Floats, Floats]]:
    labels = [*(column.labels or ()), "missing"]
    sides = [np.where(side < 0, len(labels) - 1, side) for side in (column.original, column.released)]
    counts = np.bincount(sides[0], minlength=len(labels))
    there = [c for c in np.unique(np.append(*sides)).tolist() if c != int(counts.argmax())]
    marks = tuple((side[:, None] == np.array(there, np.int64)[None, :]).astype(np.float64) for side in sides)
    return [f"{column.name}={labels[c]}" for c in there], (marks[0], marks[1])


def chances(design: Floats, outcome: Floats, weight: Floats | None = None) -> Floats:
    """The fitted probabilities of a logistic regression, by Newton's steps; columns should be independent."""
    share = np.ones(len(design)) if weight is None else weight
    coefficients = np.zeros(design.shape[1])
    probability = np.full(len(design), 0.5)
    for _ in range(STEPS):
        curved = np.maximum(share * probability * (1 - probability), 1e-14)
        gram = (design * curved[:, None]).T @ design
        step = np.linalg.lstsq(gram, design.T @ (share * (outcome - probability)), rcond=None)[0]
        coefficients = coefficients + step
        after = 1 / (1 + np.exp(-np.clip(design @ coefficients, -FARTHEST, FARTHEST)))
        change, probability = float(np.abs(after - probability).max()), after
        if change < ENOUGH:
            break
    return probability
