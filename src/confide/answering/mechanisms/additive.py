"""Making protected counts add up (Giessing and Höhne 2011, section 5), fast enough for an answer.

Promise: only protected counts are looked at, so nothing is told that they would not tell; every total is the sum of its
parts; no count from 1 to js appears; inner zeros stay; the same protected table gives the same answer for ever.
"""

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.model.catalog.dataset import Dataset
from confide.model.policy import CountRules, Policy
from confide.model.request import TableRequest
from confide.site.secret import Secret

if TYPE_CHECKING:
    from confide.tables.table.inner_cells import InnerCells

__all__ = ["additive", "restores", "table_shape"]


MOST = 25_000
"""Cells, with all margins, up to which a table is made to add up: beyond, the search would take longer than an answer may."""

MOVES = 800_000
"""Moves of a search, at most 400 a cell and at least 100. Four times as many bring the counts nearer by a hundredth."""


def restores(policy: Policy, shape: tuple[int, ...]) -> bool:
    """Whether the policy makes the counts of a table of that shape, totals with it, add up."""
    return policy.tables.additive and policy.counts.mechanism != "none" and math.prod(shape) <= MOST


def table_shape(request: TableRequest, dataset: Dataset) -> tuple[int, ...]:
    """The number of classes of each variable, and one for its total."""
    return tuple(len(dataset.classifier(name).codes or ()) + 1 for name in request.by)


def additive(counts: NDArray[np.generic], rules: CountRules, secret: Secret) -> Ints:
    """The nearest counts that add up; the total stands last on each axis.

    >>> rules, secret = CountRules(distance=3), Secret(bytes(32))
    >>> additive(np.array([[3, 4, 8], [5, 0, 5], [9, 4, 12]]), rules, secret).tolist()
    [[3, 4, 7], [5, 0, 5], [8, 4, 12]]
    """
    # Here, so that a site whose policy does not ask for this need not wait for compiled searches to load.
    from confide.tables.annealing.additivity import CountLimits, additive_counts

    noisy = np.ascontiguousarray(counts, dtype=np.int64)
    seed = int.from_bytes(secret.digest("additive", noisy.astype("<i8").tobytes())[:8], "little")
    limits = CountLimits(noisy.ravel(), D=max(rules.distance, rules.small), js=rules.small)
    sweeps = min(400.0, max(100.0, MOVES / noisy.size))
    return additive_counts(noisy.ravel(), _inner(noisy.shape), limits, seed=seed, sweeps=sweeps).reshape(noisy.shape)


@lru_cache(maxsize=64)
def _inner(shape: tuple[int, ...]) -> "InnerCells":
    """The cells of a table of that shape, each total the sum along its axis."""
    from confide.tables.table.inner_cells import inner_cells
    from confide.tables.table.relations import Relations

    numbers = np.arange(math.prod(shape)).reshape(shape)
    lines = []
    for axis, _ in enumerate(shape):
        along = np.moveaxis(numbers, axis, -1)
        lines += [(int(line[-1]), line[:-1].tolist()) for line in along.reshape(-1, along.shape[-1])]
    inner = inner_cells(Relations.of(lines, cells=numbers.size))
    assert inner is not None
    return inner
