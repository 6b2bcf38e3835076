"""Distributions of maximum entropy on a few whole numbers with mean 0 and a given variance, and what is feasible.

With mean zero the second moment is extreme on one atom below and one above 0, so what is feasible is found exactly by
looking at pairs, and with the second moment given, at triples. In between there is one small convex program, solved by
Newton's method on its dual. An atom is a point or, where probabilities are to fall on both sides of 0, the uniform
distribution on a run of points from 0 outwards.
"""

from functools import lru_cache
from itertools import combinations

import numpy as np

from confide.arrays import Floats, Ints

__all__ = ["corners", "entropic", "extremes"]


def extremes(x: Ints, *, falling: bool) -> tuple[float, float]:
    """Give the least and the greatest variance of a distribution on x with mean 0.

    >>> extremes(np.array([-1, 2, 3]), falling=False)
    (2.0, 3.0)
    """
    moments = _pairs(x, falling=falling)[1]
    return 0.0 if 0 in x else float(moments.min()), float(moments.max())


def corners(x: Ints, V: float, *, falling: bool) -> Floats:
    """Give the distributions on x with mean 0 and variance V of which all others are mixtures.

    >>> corners(np.array([-1, 0, 1]), 0.5, falling=False).tolist()
    [[0.25, 0.5, 0.25]]
    """
    atoms = _atoms(x, falling=falling)
    if len(atoms) < 3:  # one atom on each side is all there is
        return _pairs(x, falling=falling)[0]
    triples, shares = _mixed(atoms @ np.stack([np.ones(len(x)), x, x**2 / V], axis=1))
    found: Floats = np.einsum("ct,ctx->cx", shares, atoms[triples])
    return found


def entropic(x: Ints, V: float, *, falling: bool, symmetry: float | None = None) -> Floats:
    """Give the maximum-entropy probabilities on x with mean 0 and variance V, falling on both sides of 0 if asked.

    With `symmetry` those of -1 and 1 differ by at most this, or by the least possible to within 1e-6.

    >>> entropic(np.array([-1, 0, 1]), 0.5, falling=False).round(6).tolist()
    [0.25, 0.5, 0.25]
    """
    mixtures, moments = _pairs(x, falling=falling)
    for edge in (moments.argmax(), moments.argmin()):
        # At an extreme variance only this mixture is left and the dual has no finite solution.
        if abs(moments[edge] - V) <= 1e-10 * V and (0 not in x or edge == moments.argmax()):
            only: Floats = mixtures[edge]
            return only
    features = np.column_stack([x / V**0.5, x**2 / V - 1])
    start = np.array([0.0, -0.5 * min(V, 1.0)])
    p = _newton(features, x if falling else None, start)
    tilt = (x == 1).astype(np.float64) - (x == -1)
    if symmetry is None or abs(tilt).sum() < 2 or abs(p @ tilt) <= symmetry:
        return p
    target = _nearest(float(p @ tilt), symmetry, corners(x, V, falling=falling) @ tilt)
    if target is None:
        return p
    return _newton(np.column_stack([features, tilt - target]), x if falling else None, np.append(start, 0.0))


def _nearest(tilt: float, symmetry: float, possible: Floats) -> float | None:
    """What the difference of two probabilities is to be, just inside what is possible; None if it may stay."""
    inside = min(1e-6, np.ptp(possible) / 2)
    target = float(np.clip(np.clip(tilt, -symmetry, symmetry), possible.min() + inside, possible.max() - inside))
    return None if abs(target) >= abs(tilt) or inside < 1e-7 else target


def _mixed(moments: Floats) -> tuple[Ints, Floats]:
    """Give the triples of atoms that can be mixed to moments 1, 0, 1, and the share of each, by Cramer's rule."""
    triples = _triples(len(moments))
    atoms = [moments[triples[:, place]] for place in range(3)]
    goal = np.broadcast_to([1.0, 0.0, 1.0], atoms[0].shape)
    whole = _volume(*atoms)
    sound = np.abs(whole) > 1e-12
    parts = [_volume(*[goal if at == place else atoms[at] for at in range(3)]) for place in range(3)]
    shares = np.stack(parts, axis=1)[sound] / whole[sound, None]
    possible = (shares >= -1e-9).all(axis=1)
    return triples[sound][possible], np.maximum(shares[possible], 0.0)


@lru_cache
def _triples(atoms: int) -> Ints:
    return np.array(list(combinations(range(atoms), 3)))


def _volume(a: Floats, b: Floats, c: Floats) -> Floats:
    determinant: Floats = np.einsum("ij,ij->i", a, np.cross(b, c))
    return determinant


def _atoms(x: Ints, *, falling: bool) -> Floats:
    runs = (abs(x) <= abs(x)[:, None]) & (x * x[:, None] > 0) if falling else np.eye(len(x), dtype=bool)
    runs[x == 0] = x == 0
    atoms: Floats = runs / runs.sum(axis=1, keepdims=True)
    return atoms


def _pairs(x: Ints, *, falling: bool) -> tuple[Floats, Floats]:
    """Give every mean-zero mixture of an atom below and one above 0, and its second moment."""
    atoms = _atoms(x, falling=falling)
    below, above = atoms[x < 0], atoms[x > 0]
    down, up = -(below @ x)[:, None], above @ x
    moments = (up * (below @ x**2)[:, None] + down * (above @ x**2)) / (up + down)
    mixtures = (up[:, None] * below[:, None] + down[..., None] * above) / (up + down)[..., None]
    return mixtures.reshape(-1, len(x)), moments.ravel()


def _newton(features: Floats, falling: Ints | None, theta: Floats) -> Floats:
    """Give the maximum-entropy probabilities under which the features have mean 0, by Newton on the dual."""
    value, p, slope, curve = _dual(features, falling, theta)
    for _ in range(200):
        if abs(slope).max() < 1e-13:
            break
        step = -np.linalg.solve(curve + 1e-15 * np.trace(curve) * np.eye(len(theta)), slope)
        while _dual(features, falling, theta + step)[0] > value + 1e-4 * slope @ step + 1e-15:
            step = step / 2
        theta = theta + step
        value, p, slope, curve = _dual(features, falling, theta)
    return p


def _dual(features: Floats, falling: Ints | None, theta: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Give the log of the normalising sum, the probabilities, and the gradient and Hessian of the former.

    If probabilities on the points `falling` must fall on both sides of 0, they are the exponential of the isotonic
    regression of the exponent (stationarity of the entropy on each pool of equal probabilities).
    """
    starts = np.arange(len(features)) if falling is None else _pools(features @ theta, falling)
    sizes = np.diff(starts, append=len(features))
    pooled = np.add.reduceat(features, starts) / sizes[:, None]
    exponent = pooled @ theta
    weight = sizes * np.exp(exponent - exponent.max())
    share = weight / weight.sum()
    slope = share @ pooled
    curve = (share[:, None] * (pooled - slope)).T @ (pooled - slope)
    return float(exponent.max() + np.log(weight.sum())), np.repeat(share / sizes, sizes), slope, curve


def _pools(exponent: Floats, x: Ints) -> Ints:
    """Give where the pools start when adjacent violators are pooled: values rise below 0 and fall above it."""
    sizes = _falling(exponent[x < 0][::-1])[::-1] + [1] * int((x == 0).sum()) + _falling(exponent[x > 0])
    return np.cumsum([0, *sizes[:-1]])


def _falling(values: Floats) -> list[int]:
    pools: list[tuple[float, int]] = []
    for value in values:
        total, size = float(value), 1
        while pools and pools[-1][0] * size < total * pools[-1][1]:
            sum_before, size_before = pools.pop()
            total, size = total + sum_before, size + size_before
        pools.append((total, size))
    return [size for _, size in pools]
