"""What Drop q protects: how often two tables that differ in one unit give that unit away.

Each table loses q units at random, q uniform on 2..k. The intruder subtracts the tables of n and of n - 1 units; they are
right when both lost the same number from every cell. All figures hold for large n (drawing with replacement).
Reference: Lucero et al. (2011), section 4.
"""

from collections.abc import Sequence
from math import comb, factorial

import numpy as np

from confide.arrays import Floats
from confide.errors import Mistake

__all__ = ["apparent_probability", "disclosure_bounds", "disclosure_probability", "padding_probability"]


# (k!)**2 and its inverse stay within double precision up to here.
GREATEST_K = 80


def disclosure_probability(shares: Sequence[float], *, k: int) -> float:
    """Give the probability that the difference of two tables is exactly the one unit; shares are those of the cells.

    Formula (5), as a product of one truncated polynomial per cell instead of its sum over all drops.

    >>> round(disclosure_probability([0.25, 0.25, 0.25, 0.25], k=5), 4)
    0.0152
    """
    return float(_same_drops(_checked(shares, k), k)[2:].sum() / (k - 1) ** 2)


def disclosure_bounds(cells: int, *, k: int) -> tuple[float, float]:
    """Give the least and the greatest disclosure probability of any table with so many cells: formula (6).

    Least when all cells are equal, greatest (equal numbers dropped) when one cell has everything.

    >>> disclosure_bounds(4, k=5)[1]
    0.25
    """
    if cells < 1:
        raise Mistake(f"A table cannot have {cells} cells.", suggestions=["Give the number of its cells, 1 or more."])
    return disclosure_probability([1 / cells] * cells, k=k), 1 / (k - 1)


def apparent_probability(shares: Sequence[float], *, k: int) -> tuple[float, float]:
    """Give the probability that the difference shows a single unit, and that it is then in the right cell.

    The unit is in the rarest cell, where an intruder has most reason to trust what they see. They see it in cell s
    instead of its cell t when the second drop has one more from s and one fewer from t than the first.

    >>> [round(figure, 3) for figure in apparent_probability([0.25, 0.25, 0.25, 0.25], k=5)]
    [0.039, 0.387]
    """
    ordered = np.sort(_checked(shares, k))
    correct = disclosure_probability(shares, k=k)
    apparent = correct + float(_misplaced(ordered[0], ordered[1:], k)[2:].sum()) / (k - 1) ** 2
    return apparent, correct / apparent


def padding_probability(shares: Sequence[float], *, n: int, pad: int, k: int) -> float:
    """Give the disclosure probability when the n units are asked for together with `pad` units of other cells.

    The pad soaks up the drops, so plain Drop q fails when it is large: drop in every piece of a universe. Without pad,
    formula (5).

    >>> [round(padding_probability([0.25] * 4, n=978, pad=pad, k=5), 3) for pad in (0, 978, 9780, 97800)]
    [0.015, 0.053, 0.534, 0.933]
    """
    if n < 1 or pad < 0:
        raise Mistake("A universe cannot have that size.", suggestions=["Take n of 1 or more and pad of 0 or more."])
    same = _same_drops(_checked(shares, k), k)
    taken = np.zeros(k + 1)
    for q in range(2, k + 1):
        taken[: q + 1] += _binomial(q, n / (n + pad)) / (k - 1)
    return float(taken**2 @ same)


def _checked(shares: Sequence[float], k: int) -> Floats:
    given = np.asarray(shares, dtype=np.float64)
    if given.ndim != 1 or not (given >= 0).all() or not abs(given.sum() - 1) <= 1e-6:
        raise Mistake("The shares do not add up to 1.", suggestions=["Divide the count of each cell by their total."])
    if not 2 <= k <= GREATEST_K:
        raise Mistake(f"k={k} is out of range.", suggestions=[f"Take k from 2 to {GREATEST_K}."])
    return given


def _same_drops(shares: Floats, k: int) -> Floats:
    """Give, for q = 0..k, the probability that two drops of q units agree in every cell."""
    product = np.eye(1, k + 1)[0]
    for share in shares:
        product = _times(product, _cell(share, k, shift=0))
    same: Floats = product * _factorials(k) ** 2
    return same


def _misplaced(rarest: float, others: Floats, k: int) -> Floats:
    """Give, for q = 0..k, the probability that the second drop is one fewer in the rarest cell, one more elsewhere."""
    none = np.append(0.0, _cell(rarest, k, shift=1)[:-1])
    one = np.zeros(k + 1)
    for share in others:
        same, more = _cell(share, k, shift=0), _cell(share, k, shift=1)
        none, one = _times(none, same), _times(one, same) + _times(none, more)
    return one * _factorials(k) ** 2


def _cell(share: float, k: int, *, shift: int) -> Floats:
    """Give share^(2x + shift) / (x! (x + shift)!) for x = 0..k: x units in one drop and x + shift in the other."""
    each = _factorials(k + shift)
    return share ** (2.0 * np.arange(k + 1) + shift) / (each[: k + 1] * each[shift:])


def _times(left: Floats, right: Floats) -> Floats:
    return np.convolve(left, right)[: len(left)]


def _factorials(k: int) -> Floats:
    return np.array([factorial(x) for x in range(k + 1)], dtype=np.float64)


def _binomial(size: int, chance: float) -> Floats:
    return np.array([comb(size, x) * chance**x * (1 - chance) ** (size - x) for x in range(size + 1)])
