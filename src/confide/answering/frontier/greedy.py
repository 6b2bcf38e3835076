"""Good splits where there are too many to try them all, and a ceiling that says how good a split can be.

Paths lead from nothing free to everything free and back, one variable at a time, each led by another exchange rate
between utility and risk; every split met on the way is kept. The ceiling bounds what no path has seen.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from confide.answering.frontier import measures
from confide.answering.frontier.setting import Setting
from confide.answering.frontier.splits import Risk, Splits, Utility, these_splits, weights
from confide.arrays import Bools, Floats

__all__ = ["UtilityCeiling", "ceiling", "walk"]


RATES = (0.0, 0.5, 0.7, 1.0, 1.4, 2.0, np.inf)
SLICES = 500


def walk(setting: Setting, *, risk: Risk, utility: Utility) -> Splits:
    """Evaluate the splits that greedy paths meet: at most about 7 d² of them instead of 2^d.

    >>> setting = Setting(np.eye(4), {"y": (0,), "a": (1,), "b": (2,), "c": (3,)}, "y")
    >>> len(walk(setting, risk="attained", utility="volume").free)
    8
    """
    ends = these_splits(setting, np.array([[False], [True]]).repeat(len(setting.others), axis=1))
    price = _span(ends.risk(risk)) / _span(ends.utility(utility))
    guides = [_Guide(risk, utility, rate * price) for rate in RATES]
    paths = [steps for guide in guides for forward in (True, False) for steps in _path(setting, guide, forward)]
    return these_splits(setting, np.unique(np.concatenate([ends.free, *paths]), axis=0))


@dataclass(frozen=True)
class _Guide:
    """Prefers the split with the highest rate × utility - risk; at an infinite rate, with the highest utility."""

    risk: Risk
    utility: Utility
    rate: float

    def best(self, splits: Splits) -> int:
        worth = splits.utility(self.utility)
        return int(np.argmax(worth if np.isinf(self.rate) else self.rate * worth - splits.risk(self.risk)))


def _span(ends: Floats) -> float:
    """How far the measure moves from nothing free to everything free; 1 where it does not move."""
    span = float(abs(ends[1] - ends[0]))
    return span if 0 < span < np.inf else 1.0


def _path(setting: Setting, guide: _Guide, forward: bool) -> Iterator[Bools]:
    """Free (or suppress) the best variable until none is left; give the choices met at each step."""
    here = np.full(len(setting.others), not forward)
    while np.any(here != forward):
        turns = np.flatnonzero(here != forward)
        steps = np.tile(here, (len(turns), 1))
        steps[np.arange(len(turns)), turns] = forward
        yield steps
        here = steps[guide.best(these_splits(setting, steps))]


@dataclass(frozen=True)
class UtilityCeiling:
    """Points on the risk-utility map: for every split there is one with no more risk and no less utility."""

    risk: Floats
    utility: Floats


def ceiling(setting: Setting, *, risk: Risk, utility: Utility) -> UtilityCeiling:
    """Bound all splits from the outside, so that the gap of a choice to the unknown optimum can be stated.

    Promise: no split lies beyond all the points. For each number m of free variables ρ lies between two bounds; the
    range is cut into slices, and a slice gives the risk of its lower and the utility of its upper end.

    >>> setting = Setting(np.eye(3), {"y": (0,), "a": (1,), "b": (2,)}, "y")
    >>> float(ceiling(setting, risk="released", utility="volume").utility.max())
    2.0
    """
    low, high = _range(setting)
    cuts = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, SLICES + 1)
    return UtilityCeiling(
        _least_risk(setting, cuts[:, :-1], risk).ravel(), _most_utility(setting, cuts[:, 1:], utility).ravel()
    )


def _range(setting: Setting) -> tuple[Floats, Floats]:
    """Give the least and the greatest ρ that m free variables can have, for m from 0 to d.

    ρ grows with every variable, so that it is at least the ρ of each free variable alone and at most the ρ without any
    suppressed one; and Σ r² / λ_max ≤ ρ ≤ Σ r² / λ_min over the free columns, by interlacing eigenvalues.
    """
    count = len(setting.others)
    single = np.eye(count, dtype=bool)
    alone, without = (np.sort(these_splits(setting, free).released) for free in (single, ~single))
    whole = these_splits(setting, np.ones((1, count), dtype=bool)).released
    smallest, largest, strength = _spectrum(setting)
    low = np.maximum(np.append(0, alone), _sums(np.sort(strength)) / largest)
    high = np.minimum(np.append(without, whole), _sums(np.sort(strength)[::-1]) / smallest)
    return np.minimum(low, high), high


def _spectrum(setting: Setting) -> tuple[float, float, Floats]:
    """Give the extreme eigenvalues of the other columns' correlations, and Σ r² for each of the other variables."""
    scale = np.sqrt(np.diag(setting.cross))
    correlation = setting.cross / np.outer(scale, scale)
    columns = [column for block in setting.blocks for column in block]
    values = np.linalg.eigvalsh(correlation[np.ix_(columns, columns)])
    squared = correlation[setting.response] ** 2
    return float(values[0]), float(values[-1]), np.array([squared[list(block)].sum() for block in setting.blocks])


def _sums(ordered: Floats) -> Floats:
    return np.append(0.0, np.cumsum(ordered))


def _least_risk(setting: Setting, released: Floats, kind: Risk) -> Floats:
    """All measures grow with ρ; the number of suppressed columns is taken where it makes the risk least."""
    sizes = np.sort([float(len(block)) for block in setting.blocks])
    if kind == "attained":
        return measures.attained(released, (sizes.sum() - _sums(sizes))[:, None])
    if kind == "predicted":
        return measures.r_pred(released, (sizes.sum() - _sums(sizes[::-1]))[:, None])
    if kind == "residual" and setting.target is not None:
        # the target's squared residuals are a part of all squared residuals
        everything = (1 - released) * setting.cross[setting.response, setting.response]
        return measures.r_res(everything, setting.target.units)
    return released


def _most_utility(setting: Setting, released: Floats, kind: Utility) -> Floats:
    if kind == "rsqwt":
        return np.asarray(released + _sums(np.sort(weights(setting))[::-1])[:, None])
    if kind == "volume":
        return np.arange(len(released), dtype=np.float64)[:, None] + np.zeros_like(released)
    return released
