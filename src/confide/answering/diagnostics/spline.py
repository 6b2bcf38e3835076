"""A penalised cubic spline that does not follow single units.

It is a spline in the rank of x, so that a unit far out pulls no more than the last of a row. Safeguards against overfitting:
at least 50 units between two knots; at most 10 effective degrees of freedom and at most one for 50 units; smoothness by
generalised cross-validation that counts each of them 1.4 times. One unit in n then moves the curve by at most about
8 df / n of its own move, at the ends, and 2 df / n in the middle of the range.
References: O'Sullivan (1986), Statist. Sci. 1, 502-518 (the penalty); Kim & Gu (2004), JRSS B 66, 337-356 (the 1.4).
"""

from dataclasses import dataclass

import numpy as np

from confide.arrays import Floats

__all__ = ["Curve", "smooth"]

MOST_DF = 10
UNITS_PER_DF = 50
OVERCOUNT = 1.4
MOST_POINTS = 4096
MOST_QUANTILES = 200


@dataclass(frozen=True)
class Ranks:
    """The rank of x as a share, straight between quantiles with ten or more units from one to the next."""

    values: Floats
    shares: Floats

    def __call__(self, x: Floats) -> Floats:
        return np.interp(x, self.values, self.shares)


@dataclass(frozen=True)
class Curve:
    """A cubic spline in the rank of x; beyond the ends of x it stays level."""

    ranks: Ranks
    knots: Floats
    coefficients: Floats
    df: float

    def __call__(self, x: Floats) -> Floats:
        return np.asarray(basis(self.ranks(x), self.knots) @ self.coefficients)


@dataclass(frozen=True)
class _Points:
    """Means of neighbouring units; `within` is the sum of squares about them."""

    x: Floats
    y: Floats
    weight: Floats
    within: float


def smooth(x: Floats, y: Floats) -> Curve:
    """Give the smooth course of y along ordered x; zero throughout for fewer than 100 units.

    >>> x = np.linspace(0, 1, 1000)
    >>> curve = smooth(x, np.sin(6 * x))
    >>> bool(abs(curve(x) - np.sin(6 * x)).max() < 0.05), curve.df <= 10
    (True, True)
    """
    if x.size < 2 * UNITS_PER_DF:
        return _level(0.0)
    ranks = _ranks(x)
    share = ranks(x)
    breaks = _breaks(share)
    if breaks.size < 2:
        return _level(float(y.mean()))
    knots = np.concatenate([breaks[:1].repeat(3), breaks, breaks[-1:].repeat(3)])
    return _fitted(_points(share, y), ranks, knots)


def _level(height: float) -> Curve:
    unit = np.array([0.0, 1.0])
    return Curve(Ranks(unit, unit), unit.repeat(4), np.full(4, height), 1.0 if height else 0.0)


def _ranks(x: Floats) -> Ranks:
    place = np.linspace(0, x.size - 1, min(MOST_QUANTILES, x.size // 10) + 1).astype(np.int64)
    values, which, counts = np.unique(x[place], return_inverse=True, return_counts=True)
    return Ranks(values, np.bincount(which, place) / counts / (x.size - 1))


def _breaks(share: Floats) -> Floats:
    pieces = min(MOST_DF, share.size // UNITS_PER_DF)
    return np.unique(share[np.linspace(0, share.size - 1, pieces + 1).astype(np.int64)])


def _points(x: Floats, y: Floats) -> _Points:
    starts = np.unique(np.linspace(0, x.size, min(x.size, MOST_POINTS) + 1).astype(np.int64))[:-1]
    weight = np.diff(np.append(starts, x.size)).astype(np.float64)
    mean = np.add.reduceat(y, starts) / weight
    return _Points(np.add.reduceat(x, starts) / weight, mean, weight, max(0.0, float(y @ y - weight @ mean**2)))


def _fitted(points: _Points, ranks: Ranks, knots: Floats) -> Curve:
    """The fit of every smoothness at once, in the coordinates in which data and penalty are both diagonal."""
    columns = basis(points.x, knots)
    gram = columns.T @ (columns * points.weight[:, None])
    roughness = penalty(knots)
    triangle = np.linalg.cholesky(gram + np.eye(len(gram)) * 1e-9 * np.trace(gram) / len(gram))
    inverse = np.linalg.inv(triangle)
    rough, turn = np.linalg.eigh(inverse @ roughness @ inverse.T)
    rough[:2] = 0  # a level and a slope are never penalised, whatever the rounding
    toward = inverse.T @ turn
    along = toward.T @ (columns.T @ (points.weight * points.y))
    strengths = np.logspace(-8, 8, 65) * np.trace(gram) / np.trace(roughness)
    kept = 1 / (1 + strengths[:, None] * rough)
    chosen = _chosen(kept, along, points)
    return Curve(ranks, knots, toward @ (kept[chosen] * along), float(kept[chosen].sum()))


def _chosen(kept: Floats, along: Floats, points: _Points) -> int:
    """Which smoothness: the least generalised cross-validation among those within the degrees of freedom."""
    units = float(points.weight.sum())
    df = kept.sum(axis=1)
    error = points.within + points.weight @ points.y**2 - (kept * (2 - kept)) @ along**2
    score = np.maximum(error, 0) / (units - OVERCOUNT * df) ** 2
    allowed = df <= min(MOST_DF, units / UNITS_PER_DF)
    allowed[-1] = True
    return int(np.argmin(np.where(allowed, score, np.inf)))


def basis(x: Floats, knots: Floats) -> Floats:
    """Give the cubic B-splines at x, one column each (de Boor 1978, ch. X).

    >>> basis(np.array([0.0, 1.0]), np.array([0.0] * 4 + [1.0] * 4))
    array([[1., 0., 0., 0.],
           [0., 0., 0., 1.]])
    """
    span = np.clip(np.searchsorted(knots, x, side="right") - 1, 3, knots.size - 5)
    local = np.zeros((x.size, 4))
    local[:, 0] = 1
    for degree in range(1, 4):
        carried = np.zeros(x.size)
        for place in range(degree):
            right, left = knots[span + place + 1], knots[span + place + 1 - degree]
            share = local[:, place] / (right - left)
            local[:, place] = carried + (right - x) * share
            carried = (x - left) * share
        local[:, degree] = carried
    columns = np.zeros((x.size, knots.size - 4))
    columns[np.arange(x.size)[:, None], span[:, None] + np.arange(-3, 1)] = local
    return columns


def penalty(knots: Floats) -> Floats:
    """Give the quadratic form of the integrated squared second derivative.

    The second derivative is linear between breaks, so its values there (two differences of the coefficients) suffice.

    >>> bool(np.allclose(penalty(np.array([0.0] * 4 + [1.0] * 4)) @ np.arange(4.0), 0))  # a line is not rough
    True
    """
    first = 3 * np.diff(np.eye(knots.size - 4), axis=0) / (knots[4:-1] - knots[1:-4])[:, None]
    second = 2 * np.diff(first, axis=0) / (knots[4:-2] - knots[2:-4])[:, None]
    width = np.diff(knots[3:-3])
    mass = (np.diag(np.append(width, 0) + np.append(0, width)) * 2 + np.diag(width, 1) + np.diag(width, -1)) / 6
    return np.asarray(second.T @ mass @ second)
