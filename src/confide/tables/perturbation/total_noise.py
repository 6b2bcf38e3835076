"""Noise for cell totals of skewed quantities, and the chance that a differencing attack sees through it.

Both methods keep one contract. `noise` uses `draws` uniforms per cell, derived from the cell's key, so the same
cell always gets the same noise. `spread` is what may be published beside a protected total. `risk` is for the
custodian: the chance that (total - total without the largest contributor), both perturbed, comes within `alpha`
times the largest contribution of it. `total` is signed, `top` absolute and decreasing, one row per cell, padded
with 0; risk takes the contributions of a cell to have one sign.
Reference: Ma, Lin, Chipperfield, Newman & Leaver (2016), LNCS 9867, 210-221.
"""

from dataclasses import dataclass
from math import ceil, isfinite, sqrt

import numpy as np

from confide.arrays import Floats, Ints
from confide.errors import Mistake

__all__ = ["Ma", "Thompson"]


_CHUNK = 512  # cells per pass of the Fourier sum: keeps its working arrays in cache


@dataclass(frozen=True)
class Ma:
    """Noise of `beta` times the total on average, in either direction, and never more than twice that.

    Promise: mean zero, |noise| <= 2 beta |total|. An even number of contributors draws near 0 or near the maximum,
    an odd number in between, so taking one contributor away changes the branch and the two noises seldom cancel.

    >>> Ma(beta=0.1).noise(np.array([110.0]), np.array([6]), np.array([[30.0]]), np.array([[0.75]]))
    array([16.5])
    """

    beta: float

    def __post_init__(self) -> None:
        if not 0 < self.beta <= 0.5:
            raise Mistake("'beta' is the mean relative noise. Give more than 0 and at most 0.5.")

    @property
    def draws(self) -> int:
        return 1

    def noise(self, total: Floats, units: Ints, top: Floats, uniforms: Floats) -> Floats:
        """Give the amounts to add: quantiles of +-U(0, .5) or +-U(1.5, 2) for even units, of +-U(.5, 1.5) for odd."""
        sign, size = _signed(_columns(uniforms, self.draws, "uniforms")[:, 0])
        even = np.where(size < 0.5, size, size + 1)
        return sign * self.beta * np.abs(total) * np.where(units % 2 == 0, even, size + 0.5)

    def spread(self, total: Floats, top: Floats) -> Floats:
        """Give sqrt(4/3) beta |total|: the mean of the branches' second moments, 19/12 and 13/12, hides the parity."""
        return sqrt(4 / 3) * self.beta * np.abs(total)

    def risk(self, total: Floats, units: Ints, top: Floats, *, alpha: float) -> Floats:
        """Give the chance that differencing finds the largest contribution, in closed form for all parameters.

        Tables 2 and 3 of the paper are special cases.

        >>> Ma(beta=0.1).risk(np.array([110.0]), np.array([6]), np.array([[30.0]]), alpha=0.11).round(4)
        array([0.0655])
        """
        _check_alpha(alpha)
        largest = _columns(top, 1, "top")[:, 0]
        whole = self.beta * np.abs(total)
        rest = self.beta * np.abs(np.abs(total) - largest)
        even, odd = np.where(units % 2 == 0, [whole, rest], [rest, whole])
        chance = _below(alpha * largest, even, odd) - _below(-alpha * largest, even, odd)
        return _settled(np.where(even + odd > 0, chance, 1.0), units)


@dataclass(frozen=True)
class Thompson:
    """Noise of fixed shares of the largest contributions: each `magnitude` in a random direction, more or less.

    Promise: mean zero, and noise that grows with the contributors to be hidden, not with the total:
    the sum of m_i D_i H_i y_i, D = -1 or 1, H triangular on 1 +- half_width (Thompson, Broadfoot & Elazar 2013).

    >>> Thompson().noise(np.array([110.0]), np.array([6]), np.array([[30.0, 30, 30]]), np.array([[0.75, 0.25, 0.75]]))
    array([9.])
    """

    magnitudes: tuple[float, ...] = (0.4, 0.3, 0.2)
    half_width: float = 0.3

    def __post_init__(self) -> None:
        if not self.magnitudes or not all(m > 0 and isfinite(m) for m in self.magnitudes):
            raise Mistake("'magnitudes' are relative sizes of noise. Give one or more, each above 0.")
        if not 0 < self.half_width <= 1:
            raise Mistake("'half_width' varies the noise around its magnitude. Give more than 0 and at most 1.")

    @property
    def draws(self) -> int:
        return len(self.magnitudes)

    def noise(self, total: Floats, units: Ints, top: Floats, uniforms: Floats) -> Floats:
        """Give the amounts to add; `top` needs as many columns as there are magnitudes."""
        sign, share = _signed(_columns(uniforms, self.draws, "uniforms"))
        below, above = np.sqrt(2 * share) - 1, 1 - np.sqrt(2 * (1 - share))
        factor = 1 + self.half_width * np.where(share < 0.5, below, above)
        amounts = sign * factor * np.asarray(self.magnitudes) * _columns(top, self.draws, "top")
        return np.asarray(amounts.sum(axis=1))

    def spread(self, total: Floats, top: Floats) -> Floats:
        """Give the square root of (1 + half_width^2 / 6) sum (m_i y_i)^2, as the nearest of 1, 2 and 5 times a power of ten.

        It vanishes beside the totals of large groups. The largest contributors are confidential: more digits would tell them
        where one holds nearly all, and this is off by a factor of 1.6 at most.

        >>> Thompson().spread(np.array([110.0]), np.array([[30.0, 30, 30]]))
        array([20.])
        """
        amounts = np.asarray(self.magnitudes) * _columns(top, self.draws, "top")
        return _coarse(np.sqrt((1 + self.half_width**2 / 6) * np.square(amounts).sum(axis=1)))

    def risk(self, total: Floats, units: Ints, top: Floats, *, alpha: float) -> Floats:
        """Give the chance that differencing finds the largest contribution, to within 1e-5.

        `top` needs one column more than there are magnitudes: without the largest, the next one is used.

        >>> top = np.array([[30.0, 30, 30, 10]])
        >>> Thompson().risk(np.array([110.0]), np.array([6]), top, alpha=0.11).round(3)
        array([0.096])
        """
        _check_alpha(alpha)
        top = _columns(top, self.draws + 1, "top")
        largest = top[:, :1]
        relative = top / np.where(largest > 0, largest, 1)
        sizes = np.hstack([relative[:, :-1], relative[:, 1:]]) * np.tile(self.magnitudes, 2)
        chance = np.ones(len(top))
        for start in range(0, len(top), _CHUNK):
            chance[start : start + _CHUNK] = self._within(alpha, sizes[start : start + _CHUNK])
        return _settled(np.where(largest[:, 0] > 0, chance, 1.0), units)

    def _within(self, bound: float, sizes: Floats) -> Floats:
        """Give P(|sum_j sizes_j D_j H_j| <= bound) by a Fourier series on the support of the sum.

        The characteristic function is a product of cos(s) sinc(half_width s / 2)^2. One term decides how fast the
        series ends: after n terms at most (1/pi) (2 (1 + half_width) / (pi half_width n))^2 is missing.
        """
        half_period = np.maximum((1 + self.half_width) * sizes.sum(axis=1, keepdims=True), bound)
        k = np.arange(1, ceil(115 * (1 + self.half_width) / self.half_width) + 1)
        turns = k / half_period
        terms = np.sin(np.pi * turns * bound) / (np.pi * k)
        for size in sizes.T[:, :, None]:
            terms *= np.cos(np.pi * turns * size) * np.sinc(self.half_width / 2 * turns * size) ** 2
        return np.asarray(bound / half_period[:, 0] + 2 * terms.sum(axis=1))


def _coarse(sizes: Floats) -> Floats:
    """The nearest, by ratio, of 1, 2, 5 and 10 times the power of ten below each size; 0 for 0."""
    steps, edges = np.array([1.0, 2.0, 5.0, 10.0]), np.sqrt([2.0, 10.0, 50.0])
    power = 10.0 ** np.floor(np.log10(np.where(sizes > 0, sizes, 1.0)))
    coarse: Floats = np.where(sizes > 0, steps[np.searchsorted(edges, sizes / power)] * power, 0.0)
    return coarse


def _signed(uniforms: Floats) -> tuple[Floats, Floats]:
    """Split uniforms on [0, 1) into a random sign and an independent uniform on [0, 1]."""
    centred = 2 * uniforms - 1
    return np.where(centred < 0, -1.0, 1.0), np.abs(centred)


def _below(bound: Floats, even: Floats, odd: Floats) -> Floats:
    """Give P(X - Y < bound) for X of Ma's even branch at scale `even`, Y ~ U(.5, 1.5) at scale `odd`.

    X is symmetric, so the sign of the odd branch does not matter to a band around 0.
    """
    low, high = bound + 0.5 * odd, bound + 1.5 * odd
    pieces = ((0.5, -0.5, 0.5), (0.25, 1.5, 2.0), (0.25, -2.0, -1.5))
    parts = [weight * _ramp(low, high, a * even, b * even) for weight, a, b in pieces]
    return np.asarray(sum(parts))


def _ramp(low: Floats, high: Floats, a: Floats, b: Floats) -> Floats:
    """Give the mean over [low, high] of the distribution function of U(a, b): a trapezoid, stable for thin intervals."""
    start, end = np.clip(low, a, b), np.clip(high, a, b)
    length = np.where(high > low, high - low, 1)
    rising = (end - start) / length * (((start - a) + (end - a)) / 2 / np.where(b > a, b - a, 1))
    flat = np.maximum(high - np.maximum(low, b), 0) / length
    point = (start - a) / np.where(b > a, b - a, 1)
    return np.where(high > low, rising + flat, point)


def _settled(chance: Floats, units: Ints) -> Floats:
    """Keep chances in [0, 1], with 0 where there is nobody to attack."""
    return np.where(units > 0, np.clip(chance, 0, 1), 0)


def _columns(array: Floats, count: int, name: str) -> Floats:
    """Give the first `count` columns; a `Mistake` if there are fewer."""
    if array.shape[1] < count:
        raise Mistake(f"'{name}' has too few columns. Give at least {count} per cell, padded with 0 where needed.")
    return array[:, :count]


def _check_alpha(alpha: float) -> None:
    if not 0 < alpha < np.inf:
        raise Mistake("'alpha' says how near a guess must come, relative to the value. Give more than 0.")
