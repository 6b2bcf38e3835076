"""Iterative proportional fitting: the table of most even cells that has given margins."""

from collections.abc import Mapping
from math import prod

import numpy as np

from confide.arrays import Floats, Ints

__all__ = ["margin", "proportionally_fitted"]

STEPS, ENOUGH = 500, 1e-9


def proportionally_fitted(margins: Mapping[tuple[int, ...], Floats], shape: tuple[int, ...]) -> Floats:
    """The table with these margins, by the axes that each keeps, that knows no more than they do (Deming and Stephan 1940).

    From equal cells, every margin in turn is met by multiplying, until all are met to within a thousand millionth of the
    total: the maximum likelihood estimate of the log-linear model whose terms the margins are.

    >>> rows, columns = np.array([1.0, 3.0]), np.array([2.0, 2.0])
    >>> proportionally_fitted({(0,): rows, (1,): columns}, (2, 2)).tolist()
    [[0.5, 0.5], [1.5, 1.5]]
    """
    total = float(next(iter(margins.values())).sum())
    table = np.full(shape, total / prod(shape))
    for _ in range(STEPS):
        change = 0.0
        for axes, target in margins.items():
            others = tuple(axis for axis in range(len(shape)) if axis not in axes)
            now = table.sum(axis=others)
            ratio = np.divide(target, now, out=np.zeros_like(target), where=now > 0)
            change = max(change, float(np.abs(now - target).max()))
            table *= np.expand_dims(ratio, others)
        if change <= ENOUGH * total:
            break
    return table


def margin(codes: Ints, weights: Floats, shape: tuple[int, ...]) -> Floats:
    """The weighted count of records in every cell of a table, from the codes of each record."""
    place = np.ravel_multi_index(tuple(codes.T), shape)
    return np.asarray(np.bincount(place, weights, minlength=prod(shape)).reshape(shape), dtype=np.float64)
