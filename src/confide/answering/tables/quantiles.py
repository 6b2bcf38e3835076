"""Medians and other quantiles of a table, read off the protected numbers of its cells by the bins of the number.

Promise: everything comes from counts and means that the table by the same bins releases, with the same rules, so a quantile tells
nothing that this table does not; nobody's number is picked out.

Within a bin numbers are spread evenly on either side of the bin's mean, which then is their mean. Noise of records widens a
distribution and moves its middle down, as its law tells (`confide.data.noise_law`): among positive numbers that is taken back
on the scale of logarithms, by as much as the distance between the quartiles shows room for.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.data.noise_law import log_mean, log_variance
from confide.model.catalog.dataset import Variable

__all__ = ["Distributions", "QuantileBins"]

QUARTILES = 1.349
"""The distance between the quartiles of a normal distribution, in standard deviations."""

LEAST_LEFT = 0.25
"""At least this share of a variance is taken to be no noise of records, however close the quartiles of a cell are."""

READING = 0.1
"""What reading between cutpoints may be off by, as a share of the distance between them. Chosen on the demonstration data, where
then 95 of 100 quantiles of numbers of people and of firms are off by at most twice the noise that is stated."""

NORMAL = 1.959964
"""The ends of an interval that holds 95 of 100, in standard errors."""

EDGE = 0.05
"""A mean nearer to the end of its bin than this share of the width, as noise may make it, is taken to be there."""


@dataclass(frozen=True, eq=False)
class QuantileBins:
    """The least and the largest number of each bin, infinite where it is open; numbers are multiples of the step."""

    low: Floats
    high: Floats
    step: float

    @classmethod
    def of(cls, variable: Variable) -> "QuantileBins":
        least = -np.inf if variable.minimum is None else variable.minimum
        most = np.inf if variable.maximum is None else variable.maximum
        ends = [*pairwise((least, *variable.cutpoints)), (variable.cutpoints[-1], most)]
        step = 10.0**-variable.decimals
        highest = [*(high - step for _, high in ends[:-1]), most]
        return cls(np.array([low for low, _ in ends]), np.array(highest), step)


@dataclass(frozen=True, eq=False)
class Distributions:
    """How a number is distributed in each cell. The last axis of `counts`, their `noise` and `means` are the bins.

    `units` are those of each cell; `spread` is that of the noise in the logarithm of the number, 0 if it has none.
    """

    bins: QuantileBins
    counts: Floats
    noise: Floats
    means: Floats
    units: Floats
    spread: float

    @cached_property
    def whole(self) -> Floats:
        return np.asarray(self.counts.sum(axis=-1))

    @property
    def _divisor(self) -> Floats:
        return np.where(self.whole > 0, self.whole, 1.0)

    @cached_property
    def _below(self) -> Floats:
        return np.cumsum(self.counts, axis=-1)

    def values(self, share: float) -> Floats:
        """The quantiles of the numbers; NaN where there are none, or where one lies in an open bin."""
        shares = np.full(self.whole.shape, share)
        return self._corrected(self._read(shares), shares)

    def errors(self, share: float) -> tuple[Floats, Floats]:
        """The standard deviation of what protection moves a quantile by, and its standard error, which sampling makes too."""
        sampled = share * (1 - share) / np.maximum(self.units, 1)
        counted = self._rank_noise(share) ** 2
        noise = self._reach(share, np.sqrt(counted + self.widening * sampled))
        noise = np.hypot(noise, (self.values(share) - self._read(np.full(self.whole.shape, share))) / 2)
        noise = np.hypot(noise, READING * self._width(share))
        return noise, np.hypot(noise, self._reach(share, np.sqrt(sampled)))

    def standard_error(self, share: float, effect: Floats) -> Floats:
        """The standard error by Woodruff's interval: the distance of the quantiles at its ends over twice 1.96.

        NaN where both lie in open bins. `effect` is what the design makes of the variance of the share below, beside a simple sample
        of the published units.
        """
        sampled = effect * share * (1 - share) / np.maximum(self.units, 1)
        up, down = self._ends(share, NORMAL * np.sqrt(sampled))
        return np.hypot(self.errors(share)[0], (up - down) / (2 * NORMAL))

    def around(self, share: float) -> tuple[Ints, Ints]:
        """The last bin below a quantile, -1 if there is none, and the bin it lies in."""
        place = self._place(share * self.whole)
        return place - 1, place

    def _read(self, shares: Floats) -> Floats:
        """The number below which these shares of all are."""
        wanted = shares * self.whole
        place = self._place(wanted)
        inside, low, high = self._at(self.counts, place), self.bins.low[place], self.bins.high[place]
        part = np.clip((wanted - self._at(self._below, place) + inside) / np.where(inside > 0, inside, 1.0), 0.0, 1.0)
        closed = np.isfinite(low) & np.isfinite(high) & (self.whole > 0)
        low, high = np.where(closed, low, 0.0), np.where(closed, high, 0.0)
        return np.where(closed, _within(low, high, self._at(self.means, place), part), np.nan)

    def _corrected(self, read: Floats, shares: Floats) -> Floats:
        """With the noise of records taken back, among positive numbers."""
        if not self.spread:
            return read
        middle, kept = self._middle, np.sqrt(1 - self.widening)
        positive = (read > 0) & (middle > 0)
        logs = np.log(np.where(positive, read / np.where(positive, middle, 1.0), 1.0))
        moved = middle * np.exp(kept * logs - log_mean(self.spread))
        lowest, highest = self.bins.low[0], self.bins.high[-1]
        return np.where(positive, np.clip(moved, lowest, highest), read)

    @cached_property
    def _middle(self) -> Floats:
        """The median of the positive numbers."""
        return self._of_positive(0.5)

    @cached_property
    def widening(self) -> Floats:
        """The share of noise in the variance of the logarithms of positive numbers."""
        if not self.spread:
            return np.zeros(self.whole.shape)
        upper, lower = self._of_positive(0.75), self._of_positive(0.25)
        known = (upper > lower) & (lower > 0)
        ratio = np.where(known, upper, np.e) / np.where(known, lower, 1.0)
        variance = (np.log(ratio) / QUARTILES) ** 2
        return np.where(known, np.minimum(log_variance(self.spread) / variance, 1 - LEAST_LEFT), 0.0)

    def _of_positive(self, share: float) -> Floats:
        positive: Bools = self.bins.high > 0
        none = self.counts[..., ~positive].sum(axis=-1) / self._divisor
        return self._read(none + share * (1 - none))

    def _rank_noise(self, share: float) -> Floats:
        """The spread of the share below a quantile that the noise of counts makes: of those below it and of those above."""
        squares = np.cumsum(self.noise**2, axis=-1)
        below = self._at(squares, self._place(share * self.whole))
        variance = (1 - share) ** 2 * below + share**2 * (squares[..., -1] - below)
        return np.asarray(np.sqrt(variance) / self._divisor)

    def _reach(self, share: float, spread: Floats) -> Floats:
        """What a spread of the share below is as one of the number: half the way from a deviation less to one more."""
        up, down = self._ends(share, spread)
        return np.nan_to_num((up - down) / 2)

    def _ends(self, share: float, spread: Floats) -> tuple[Floats, Floats]:
        """The quantiles so much above and below; as far as the other where one lies in an open bin, NaN where both do."""
        here = self._read(np.full(self.whole.shape, share))
        up, down = (self._read(np.clip(share + sign * spread, 0.0, 1.0)) for sign in (1, -1))
        return np.where(np.isnan(up), 2 * here - down, up), np.where(np.isnan(down), 2 * here - up, down)

    def _width(self, share: float) -> Floats:
        """Of the bin that a quantile lies in."""
        place = self._place(share * self.whole)
        return self.bins.high[place] - self.bins.low[place] + self.bins.step

    def _place(self, wanted: Floats) -> Ints:
        """The bin in which so many of all are reached."""
        return np.asarray(np.minimum((self._below < wanted[..., None]).sum(axis=-1), self.counts.shape[-1] - 1))

    @staticmethod
    def _at(values: Floats, place: Ints) -> Floats:
        return np.take_along_axis(values, place[..., None], axis=-1)[..., 0]


def _within(low: Floats, high: Floats, mean: Floats, part: Floats) -> Floats:
    """The number below which this part of a bin is, spread evenly on either side of its mean; the middle if it is not told.

    >>> low, high = np.zeros(3), np.full(3, 10.0)
    >>> _within(low, high, np.array([5.0, 2.5, np.nan]), np.array([0.5, 0.75, 0.1])).tolist()
    [5.0, 2.5, 1.0]
    """
    width = high - low
    centre = np.where(np.isnan(mean), low + width / 2, np.clip(mean, low + EDGE * width, high - EDGE * width))
    first = np.where(width > 0, (high - centre) / np.where(width > 0, width, 1.0), 1.0)
    lower = low + (centre - low) * part / first
    upper = centre + (high - centre) * (part - first) / np.where(first < 1, 1 - first, 1.0)
    return np.asarray(np.where(part <= first, lower, upper))
