"""What a split into free and suppressed variables risks, and what it is worth.

ρ is the R² of the sensitive variable on the free variables, k the number of suppressed columns. The
measures take numbers or arrays. Reference: Gomatam et al. (2004), section 5.2 and Result 2.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from confide.answering.frontier.ellipsoid import strip
from confide.arrays import Bools, Floats, Ints

__all__ = ["Simulated", "attained", "r_pred", "r_res", "simulate", "u_rsq", "u_rsqwt", "volume"]


def r_pred(released: ArrayLike, hidden: ArrayLike) -> Floats:
    """Give the mean R² of full models drawn from the ellipsoid: (k + 2ρ) / (k + 2).

    For comparison only: it is the R² that such a model would have if it were true, not what it attains. It rises with
    suppression whenever the variable taken away explains less than 1/(k + 3) of the variance left without it.

    >>> r_pred(0.4506, 3).round(4)
    np.float64(0.7802)
    """
    rho, k = np.asarray(released), np.asarray(hidden)
    return np.asarray((k + 2 * rho) / (k + 2))


def attained(released: ArrayLike, hidden: ArrayLike) -> Floats:
    """Give the expected R² on the true data of a full model drawn from the ellipsoid: ((2k + 2)ρ - k) / (k + 2).

    It never falls when a variable is freed. It is at most ρ, which an intruder who uses the released regression of the
    sensitive variable on the free ones attains without any draw, so that a limit on it is no limit on ρ.

    >>> attained(0.5, [0, 2])
    array([0.5 , 0.25])
    """
    rho, k = np.asarray(released), np.asarray(hidden)
    return np.asarray(((2 * k + 2) * rho - k) / (k + 2))


def r_res(squares: ArrayLike, units: float) -> Floats:
    """Give the reciprocal of the root mean squared residual of the target units; infinite where they fit exactly.

    Residuals are those of the regression on the free variables.

    >>> float(r_res(100.0, 4))
    0.2
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(np.divide(units, np.maximum(squares, 0))))


def u_rsq(cross: Floats, *, response: int, free: tuple[int, ...]) -> float:
    """Give ρ, the R² of the response on the free variables: s' S⁻¹ s / s00.

    >>> round(u_rsq(np.array([[4, 1.2], [1.2, 1]]), response=0, free=(1,)), 4)
    0.36
    """
    columns = list(free)
    with_response = cross[columns, response]
    explained = with_response @ np.linalg.solve(cross[np.ix_(columns, columns)], with_response)
    return float(explained / cross[response, response])


def u_rsqwt(released: ArrayLike, free: Bools, weights: Floats) -> Floats:
    """Give ρ + Σ w_i over the free variables; `free` has one row per split.

    >>> u_rsqwt(0.5, np.array([True, False]), np.array([0.2, 0.3]))
    array(0.7)
    """
    return np.asarray(released + sum(weight * free[..., i] for i, weight in enumerate(weights)))


def volume(free: Bools) -> Ints:
    """Count the free variables of each split.

    >>> volume(np.array([[True, False, True]]))
    array([2])
    """
    return np.asarray(np.sum(free, axis=-1, dtype=np.int64))


@dataclass(frozen=True)
class Simulated:
    """What draws from the ellipsoid give: the R² each model would have if true, and the R² it attains."""

    model: Floats
    attained: Floats


def simulate(
    cross: Floats, *, response: int, hidden: tuple[int, ...], draws: int, generator: np.random.Generator
) -> Simulated:
    """Let an intruder draw full models from the ellipsoid and see how they do: the check of `r_pred` and `attained`.

    Formula: with b = S⁻¹ s*, the model claims b' S b / s00 and attains (2 b' s - b' S b) / s00.

    >>> found = simulate(np.eye(4), response=0, hidden=(1, 2), draws=4000, generator=np.random.default_rng(1))
    >>> abs(found.model.mean() - r_pred(0, 2)) < 0.02, abs(found.attained.mean() - attained(0, 2)) < 0.02
    (np.True_, np.True_)
    """
    others = [i for i in range(len(cross)) if i != response]
    strips = np.tile(cross[others, response], (draws, 1))
    drawn = strip(cross, response=response, hidden=hidden).sample(draws, generator=generator)
    strips[:, [others.index(i) for i in hidden]] = drawn
    slopes = np.linalg.solve(cross[np.ix_(others, others)], strips.T).T
    claimed = np.sum(slopes * strips, axis=1)
    scale = cross[response, response]
    return Simulated(claimed / scale, (2 * slopes @ cross[others, response] - claimed) / scale)
