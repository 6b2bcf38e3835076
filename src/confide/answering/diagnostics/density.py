"""Synthetic predictor values: a kernel density estimate, with values that many units share kept as point masses.

Promise: a real value is shown only if at least `least` units have it. Every other synthetic value is spread over the
distance that its neighbours span, `least` to each side; none lies outside the means of the `least` values next to the
`least` lowest and highest.
References: Lucero et al. (2011, sec. 3.2.1), who have no point masses; Silverman (1986, sec. 3.4.2, 5.3 and 6.4.1).
"""

from dataclasses import dataclass

import numpy as np

from confide.answering.diagnostics.arrays import runs
from confide.arrays import Floats

__all__ = ["Density", "density"]


@dataclass(frozen=True)
class Density:
    """A mixture of point masses (each as often as it occurs) and of normal kernels about the other values."""

    masses: Floats
    centres: Floats
    widths: Floats

    def draw(self, random: np.random.Generator, size: int) -> Floats:
        """Give ordered draws: the inverse cdf of the mixture at ordered uniforms, then the deviate of its kernel.

        Drawing a kernel and then from it is drawing from the estimate exactly; a cdf on a grid would lose long tails.
        """
        components = np.concatenate([self.masses, self.centres])
        place = (random.random(size) * components.size).astype(np.int64)
        deviate = random.standard_normal(size)
        smoothed = place >= self.masses.size
        drawn = components[place]
        inner = place[smoothed] - self.masses.size
        drawn[smoothed] = self._reflected(self.centres[inner] + self.widths[inner] * deviate[smoothed])
        return np.sort(drawn)

    def _reflected(self, values: Floats) -> Floats:
        """Values beyond the ends, mirrored at them: no mass is lost and none heaps up at an end."""
        if not values.size:
            return values
        low, high = self.centres[0], self.centres[-1]
        mirrored = np.where(values < low, 2 * low - values, np.where(values > high, 2 * high - values, values))
        return np.clip(mirrored, low, high)


def density(ordered: Floats, *, least: int) -> Density:
    """Give the density of ordered values; those that fewer than `least` share become kernels, or nothing if too few.

    >>> income = np.append(np.zeros(60), np.linspace(100, 900, 40))
    >>> drawn = density(income, least=10).draw(np.random.default_rng(1), 1000)
    >>> bool(0.5 < (drawn == 0).mean() < 0.7)
    True
    """
    _, _, counts = runs(ordered)
    shared = np.repeat(counts >= least, counts)
    rest = ordered[~shared]
    if rest.size < 4 * least:
        return Density(ordered[shared], rest[:0], rest[:0])
    low, high = rest[least : 2 * least].mean(), rest[-2 * least : -least].mean()
    return Density(ordered[shared], np.clip(rest, low, high), _widths(rest, least))


def _widths(rest: Floats, least: int) -> Floats:
    """Half of what 2 * least neighbours span, and at least Silverman's rule: wide kernels where units are few."""
    middle = float(np.diff(np.quantile(rest, [0.25, 0.75]))[0])
    common = 0.9 * min(float(rest.std()), middle / 1.34) * rest.size**-0.2
    place = np.arange(rest.size)
    start = np.clip(place - least, 0, rest.size - 1 - 2 * least)
    return np.asarray(np.maximum(common, (rest[start + 2 * least] - rest[start]) / 2))
