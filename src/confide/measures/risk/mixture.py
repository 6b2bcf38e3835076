"""Fellegi and Sunter's mixture of linked and unlinked pairs, fitted by EM under the order that likeness is evidence."""

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.measures.risk.comparisons import LEVELS, Patterns

__all__ = ["STARTS", "fitted", "ratios", "start"]

STEPS, ENOUGH = 200, 1e-5
"""EM stops after so many steps, or when no probability changes by more than this."""

LEAST = 1e-6
"""So much of a strict order is mixed into the probabilities of linked pairs: no level of an attribute rules a link out,
and each level weighs more than the next, however little."""

STARTS = (0.25, 0.5, 0.8)
"""EM starts from these: the likelihood ratio of a level in units of that of the level before. It ends where the likelihood is
greatest. From one start alone a file whose numbers were all moved a little, or not at all, ends in the wrong place."""


def fitted(patterns: Patterns, unlinked: Floats, *, share: float) -> Floats:
    """How often each level occurs among linked pairs, which are this share of all: one row an attribute.

    The mixture share prod m + (1 - share) prod u has the greatest likelihood of all in which m / u falls from each level to
    the next. Without that order EM may end with "linked" pairs that are less alike than any two, where attributes depend on
    each other: a file against itself was then linked nowhere.
    """
    found = [_climbed(patterns, unlinked, start(unlinked, fall), share) for fall in STARTS]
    return max(found, key=lambda end: end[1])[0]


def start(unlinked: Floats, fall: float = 0.5) -> Floats:
    """Where EM starts: each level is evidence for a link by so much of the one before."""
    return _sums_to_one(unlinked * fall ** np.arange(len(LEVELS)))


def _climbed(patterns: Patterns, unlinked: Floats, linked: Floats, share: float) -> tuple[Floats, float]:
    """Where EM ends from a start, and the logarithm of the likelihood there in units of that without links."""
    likelihood = 0.0
    for _ in range(STEPS):
        total = np.zeros((len(linked), len(LEVELS) + 1))
        likelihood = _expected(patterns.levels, patterns.count, ratios(linked, unlinked), share, total)
        after = _ordered(total[:, :-1], unlinked)
        change, linked = float(np.abs(after - linked).max(initial=0.0)), after
        if change < ENOUGH:
            break
    return linked, likelihood


def ratios(linked: Floats, unlinked: Floats) -> Floats:
    """m / u of each level of each attribute; that of a missing value, in the last column, is 1."""
    found = np.ones((len(linked), len(LEVELS) + 1))
    seen = unlinked > 0
    found[:, :-1][seen] = linked[seen] / unlinked[seen]
    return found


@compiled
def _expected(levels: NDArray[np.int8], count: Ints, ratio: Floats, share: float, total: Floats) -> float:
    """Add up the expected numbers of linked pairs by attribute and level; gives the logarithm of the likelihood."""
    likelihood = 0.0
    for i in range(len(count)):
        product = share
        for k in range(levels.shape[1]):
            product *= ratio[k, levels[i, k]]
        both = product + 1 - share
        likelihood += count[i] * np.log(both)
        for k in range(levels.shape[1]):
            total[k, levels[i, k]] += count[i] * product / both
    return likelihood


def _ordered(total: Floats, unlinked: Floats) -> Floats:
    """The likeliest probabilities m of these (expected) counts such that m / u falls from level to level.

    Pool-adjacent-violators of the ratios with u as weights (Barlow et al. 1972), then a little of a strict order.
    """
    strict = _sums_to_one(unlinked * np.arange(len(LEVELS), 0, -1))
    pooled = np.array([_pooled(*row) for row in zip(total, unlinked, strict=True)])
    return (1 - LEAST) * _sums_to_one(pooled) + LEAST * strict


def _pooled(total: Floats, unlinked: Floats) -> Floats:
    """Counts shared out among neighbouring levels wherever a level would be stronger evidence than the one before."""
    seen = np.flatnonzero(unlinked > 0)
    blocks: list[tuple[float, float, list[int]]] = []
    for level in seen.tolist():
        blocks.append((total[level], unlinked[level], [level]))
        while len(blocks) > 1 and blocks[-1][0] * blocks[-2][1] > blocks[-2][0] * blocks[-1][1]:
            last, before = blocks.pop(), blocks.pop()
            blocks.append((last[0] + before[0], last[1] + before[1], before[2] + last[2]))
    found = np.zeros(len(unlinked))
    for sum_, weight, levels in blocks:
        found[levels] = sum_ * unlinked[levels] / weight
    return found if found.sum() > 0 else unlinked


def _sums_to_one(rows: Floats) -> Floats:
    return np.asarray(rows / np.maximum(rows.sum(axis=1), 1e-300)[:, None])
