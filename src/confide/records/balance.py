"""Noise that keeps low margins: moved a little, until it cancels in every large group of a table by one or two variables.

Sums of a number, and of its logarithm, over groups of many units then hardly change, and with them class means and the
coefficients of models; the noise of each unit stays what it was but for a small share. Small groups, and those of which a few
units hold much, are left alone: there the sum would tell the number.
Alternating projections: one table after the other takes out what is left in its groups (von Neumann 1949).
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.noise_law import log_mean

__all__ = ["balanced"]

EFFECTIVE = 60
"""Groups are balanced that have as many units as this, counted by how evenly they share the sum of squared noise."""

SWEEPS = 3
MOST_CELLS = 2_000
"""Tables by two variables with more cells than this are left out: hardly a group in them is large enough."""


def balanced(logs: Floats, spread: Floats, amounts: Floats, weights: Floats, classes: Sequence[Ints]) -> Floats:
    """The logarithms of factors, balanced. `amounts` are weighted contributions, `classes` the places of each variable."""
    usual = log_mean(spread)
    groups = list(_groups(classes))
    for _ in range(SWEEPS):
        for group in groups:
            logs = logs - spread**2 * _excess(group, weights * (logs - usual), weights * spread**2)
            factors = np.exp(logs)
            logs = logs - spread**2 * _excess(group, amounts * (factors - 1), amounts * factors * spread**2)
    return logs


def _groups(classes: Sequence[Ints]) -> Iterator[Ints]:
    sizes = [int(places.max(initial=0)) + 1 for places in classes]
    yield from classes
    for (a, first), (b, second) in itertools.combinations(enumerate(classes), 2):
        if sizes[a] * sizes[b] <= MOST_CELLS:
            yield first * sizes[b] + second


def _excess(group: Ints, noise: Floats, share: Floats) -> Floats:
    """What to take from each unit so that its group's noise is gone, in proportion to its share; 0 where groups are small."""
    sums, shares, squares = (np.bincount(group, part) for part in (noise, share, share**2))
    even = shares**2 >= EFFECTIVE * squares
    return np.asarray(np.divide(sums, shares, out=np.zeros_like(sums), where=even & (shares > 0))[group])
