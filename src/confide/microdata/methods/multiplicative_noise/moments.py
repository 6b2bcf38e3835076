"""Moments of files under multiplicative noise: what masking does to them, and back, for users who are told k."""

from collections.abc import Callable, Mapping
from functools import cache
from itertools import product
from math import comb, prod, sqrt
from typing import Any

import numpy as np

from confide.errors import Mistake
from confide.microdata.records import Records
from confide.microdata.released import frame_of

__all__ = ["masked_moment", "original_moment"]

Powers = tuple[int, ...]
Moment = Callable[[Powers], float]


def masked_moment(frame: Any, powers: Mapping[str, int], *, k: float) -> float:
    """Moments after multiplicative noise (Oganian 2011): the expected mean of a product of powers of columns.

    It is of MultiplicativeNoise by z-scores, on columns that are not negative, in one zone and no chain: Oganian (2011),
    formula 26, with E[XjXl] + k E[Xj] E[Xl] as denominator of the cross terms. Records that miss a column are left out.

    >>> import pyarrow as pa
    >>> frame = pa.table({"a": [1.0, 2.0, 6.0], "b": [0.0, 1.0, 2.0]})
    >>> round(masked_moment(frame, {"a": 1, "b": 1}, k=0.15), 4), round(masked_moment(frame, {"a": 2, "b": 1}, k=0.15), 4)
    (4.6667, 26.6029)
    """
    moment, wanted = _moments(frame, powers, k)
    return _factor(moment, wanted, k) * sum(weight * moment(i) for i, weight in _terms(moment, wanted, k))


def original_moment(frame: Any, powers: Mapping[str, int], *, k: float) -> float:
    """Moments before multiplicative noise (Oganian 2011): the mean of a product of powers, estimated from the masked file.

    First and second moments are those of the masked file; higher ones follow from formula 26 solved for the original
    moment, one order after the other. See `masked_moment` for which files it holds.

    >>> import pyarrow as pa
    >>> round(original_moment(pa.table({"a": [1.0, 2.0, 6.0]}), {"a": 3}, k=0.15), 4)
    71.3392
    """
    seen, wanted = _moments(frame, powers, k)

    @cache
    def moment(i: Powers) -> float:
        if sum(i) <= 2:
            return seen(i)
        lower = sum(weight * moment(j) for j, weight in _terms(seen, i, k) if j != i)
        return seen(i) * sqrt(1 + k) ** sum(i) / _spread(seen, i, k) - lower

    return moment(wanted)


def _moments(frame: Any, powers: Mapping[str, int], k: float) -> tuple[Moment, Powers]:
    """The moments of the columns that are named, by their powers; and the powers that are wanted."""
    if not powers or any(type(power) is not int or power < 1 for power in powers.values()):
        raise Mistake("Name columns with their powers, whole numbers from 1, as in {'income': 2, 'tax': 1}.")
    if not k > 0:
        raise Mistake(f"k must be more than 0, not {k!r}.")
    table = frame_of(frame).table(list(powers))
    x = Records(table, tuple(powers)).numbers()
    x = x[~np.isnan(x).any(axis=1)]
    if not len(x):
        raise Mistake("No record has all these columns known.")
    if (x < 0).any():
        raise Mistake(f"{list(powers)[int(np.argmax((x < 0).any(axis=0)))]!r} has negative values.")

    @cache
    def moment(i: Powers) -> float:
        return float(np.mean(np.prod(x ** np.array(i), axis=1)))

    return moment, tuple(powers.values())


def _terms(moment: Moment, powers: Powers, k: float) -> list[tuple[Powers, float]]:
    """The original moments that a masked one is made of, and the weight of each within the sum of formula 26."""
    means = [moment(_unit(len(powers), j)) for j in range(len(powers))]
    return [
        (i, prod(comb(p, q) * ((sqrt(1 + k) - 1) * m) ** (p - q) for p, q, m in zip(powers, i, means, strict=True)))
        for i in product(*(range(p + 1) for p in powers))
    ]


def _factor(moment: Moment, powers: Powers, k: float) -> float:
    return _spread(moment, powers, k) / sqrt(1 + k) ** sum(powers)


def _spread(moment: Moment, powers: Powers, k: float) -> float:
    """A of formula 26: the mean of the product of powers of the noise."""
    size, value = len(powers), 1.0
    for j in range(size):
        for i in range(j, size):
            one, other = _unit(size, j), _unit(size, i)
            both = moment(tuple(a + b for a, b in zip(one, other, strict=True)))
            times = powers[j] * (powers[j] - 1) / 2 if j == i else powers[j] * powers[i]
            if times:
                value *= ((1 + k) * both / (both + k * moment(one) * moment(other))) ** times
    return value


def _unit(size: int, place: int) -> Powers:
    return tuple(int(j == place) for j in range(size))
