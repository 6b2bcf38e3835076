"""The hot loops of models in which a record has several linear predictors: of classes, of thresholds, of periods.

As in `kernels`, sums run over records in their stored order, one accumulator for each half of the units. With K predictors a
record costs K^2 times what it costs with one. Reference: Yee (2015), Vector Generalized Linear and Additive Models, ch. 3.
"""

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np

from confide.arrays import Floats
from confide.data.compiling import compiled
from confide.engines.sums.kernels import (
    HALF_BIT,
    TINY,
    Batch,
    Layout,
    MomentSums,
    Places,
    SpreadSums,
    _active,
    end_unit,
)

__all__ = [
    "MULTINOMIAL",
    "ORDERED",
    "SURVIVAL",
    "Predictors",
    "add_several",
    "add_several_spread",
    "several_spread_sums",
]

MULTINOMIAL, ORDERED, SURVIVAL = 0, 1, 2


class Predictors(NamedTuple):
    """How many linear predictors and outcomes there are; `beta` by predictor and column, `calibration` by outcome and column."""

    many: int
    outcomes: int
    beta: Floats
    calibration: Floats


def several_spread_sums(layout: Layout, plan: Predictors, clusters: int) -> SpreadSums:
    """Nothing added up yet, and no score of so many sampling units."""
    p, width = layout.columns, layout.columns * plan.many
    return SpreadSums(
        np.zeros((width, width)),
        np.zeros((len(layout.sizes), int(layout.sizes.max(initial=0)), 2)),
        np.zeros(5),
        np.zeros(3, np.int64),
        np.zeros(width),
        np.zeros(width, np.int64),
        np.zeros(width, np.bool_),
        np.zeros((plan.outcomes, width, p)),
        np.zeros((clusters, width)),
    )


@compiled
def _share(eta: float) -> float:
    return 1.0 / (1.0 + exp(-max(min(eta, 700.0), -700.0)))


@compiled
def _multinomial(y: int, eta: Floats, slope: Floats, weight: Floats) -> tuple[float, float]:
    """Log odds of the levels from 1 on against level 0: derivatives and weights; gives deviance and squared residuals."""
    most = 0.0
    for k in range(len(eta)):
        most = max(most, eta[k])
    total = exp(-most)
    for k in range(len(eta)):
        slope[k] = exp(eta[k] - most)
        total += slope[k]
    first = exp(-most) / total
    own = first if y == 0 else slope[y - 1] / total
    square = (first - (y == 0)) ** 2
    for k in range(len(eta)):
        slope[k] /= total
    for k in range(len(eta)):
        for j in range(len(eta)):
            weight[k, j] = -slope[k] * slope[j]
        weight[k, k] += slope[k]
    for k in range(len(eta)):
        slope[k] = (y == k + 1) - slope[k]
        square += slope[k] * slope[k]
    return -2.0 * log(max(own, TINY)), square


@compiled
def _ordered(y: int, eta: Floats, slope: Floats, weight: Floats) -> tuple[float, float]:
    """Log odds of being at level k or below: derivatives and expected weights; gives deviance and squared residuals."""
    own, square, below, dense_below = TINY, 0.0, 0.0, 0.0
    weight[:] = 0.0
    slope[:] = 0.0
    for j in range(len(eta) + 1):
        above = _share(eta[j]) if j < len(eta) else 1.0
        dense = above * (1.0 - above)
        p = max(above - below, TINY)
        square += (p - (y == j)) ** 2
        if j < len(eta):
            weight[j, j] += dense * dense / p
        if j > 0:
            weight[j - 1, j - 1] += dense_below * dense_below / p
        if 0 < j < len(eta):
            weight[j, j - 1] = weight[j - 1, j] = -dense * dense_below / p
        if y == j:
            own = p
            if j < len(eta):
                slope[j] += dense / p
            if j > 0:
                slope[j - 1] -= dense_below / p
        below, dense_below = above, dense
    return -2.0 * log(own), square


@compiled
def _survival(y: int, eta: Floats, slope: Floats, weight: Floats) -> tuple[float, float]:
    """Log odds that it happens in a period to those it had not happened to: a yes or no for each period up to the last."""
    last, happened = y // 2, y % 2
    deviance = square = 0.0
    weight[:] = 0.0
    slope[:] = 0.0
    for k in range(last + 1):
        share = min(max(_share(eta[k]), TINY), 1.0 - TINY)
        yes = 1.0 if k == last and happened else 0.0
        slope[k] = yes - share
        weight[k, k] = share * (1.0 - share)
        square += slope[k] * slope[k]
        deviance -= 2.0 * log(share if yes else 1.0 - share)
    return deviance, square


@compiled
def _derived(family: int, y: int, eta: Floats, slope: Floats, weight: Floats) -> tuple[float, float]:
    if family == MULTINOMIAL:
        return _multinomial(y, eta, slope, weight)
    if family == ORDERED:
        return _ordered(y, eta, slope, weight)
    return _survival(y, eta, slope, weight)


@compiled
def _predicted(family: int, plan: Predictors, found: int, column: Places, value: Floats, eta: Floats) -> None:
    """The linear predictors of a record; at the start those of equal shares."""
    for k in range(plan.many):
        eta[k] = log((k + 1.0) / (plan.many - k)) if family == ORDERED and len(plan.beta) == 0 else 0.0
        if len(plan.beta):
            for a in range(found):
                eta[k] += plan.beta[k, column[a]] * value[a]


@compiled
def _times(plan: Predictors, y: int, found: int, column: Places, value: Floats) -> float:
    """How often a record counts by the calibration."""
    times = 1.0
    if len(plan.calibration):
        for a in range(found):
            times += plan.calibration[y, column[a]] * value[a]
    return times


@compiled
def add_several(half: int, family: int, layout: Layout, batch: Batch, plan: Predictors, to: MomentSums) -> None:
    """Add the records of one half of the units. The gram gets its lower triangle only."""
    gram, score, sums, counts, support, seen = to.gram, to.score, to.sums, to.counts, to.support, to.seen
    column, value = np.empty(len(layout.offset), np.uintp), np.empty(len(layout.offset))
    many, p = plan.many, layout.columns
    eta, slope, weight = np.empty(many), np.empty(many), np.empty((many, many))
    for i in range(len(batch.unit)):
        unit = batch.unit[i]
        if (unit >> HALF_BIT) & 1 != half or not batch.wanted[i]:
            continue
        found = _active(layout, batch, i, column, value)
        y = int(batch.response[i])
        _predicted(family, plan, found, column, value, eta)
        deviance, _ = _derived(family, y, eta, slope, weight)
        times = _times(plan, y, found, column, value)
        w = batch.weight[i] * times
        sums[1] += w * deviance
        sums[2] += w
        sums[3] += times
        if counts[0] == 0 or unit != counts[3]:  # records of a unit follow one another
            counts[1] += 1
            counts[3] = unit
        counts[0] += 1
        counts[2] ^= np.int64(batch.key[i])
        for k in range(many):
            towards = slope[k]
            for j in range(many):
                towards += weight[k, j] * eta[j]
            for a in range(found):
                at = k * p + column[a]
                if seen[at] != counts[1]:
                    seen[at] = counts[1]
                    support[at] += 1
                score[at] += w * value[a] * towards
                for j in range(k + 1):
                    if weight[k, j] == 0.0:
                        continue
                    wv = w * weight[k, j] * value[a]
                    for b in range(found if j < k else a + 1):
                        gram[at, j * p + column[b]] += wv * value[b]


@compiled
def add_several_spread(
    half: int, family: int, layout: Layout, batch: Batch, plan: Predictors, inverse: Floats, to: SpreadSums
) -> None:
    """Add the records of one half of the units; records of a unit follow one another, and `end_unit` closes the last."""
    column, value = np.empty(len(layout.offset), np.uintp), np.empty(len(layout.offset))
    many, p = plan.many, layout.columns
    eta, slope, weight = np.empty(many), np.empty(many), np.empty((many, many))
    for i in range(len(batch.unit)):
        unit = batch.unit[i]
        if (unit >> HALF_BIT) & 1 != half or not batch.wanted[i]:
            continue
        if unit != to.state[0] or to.state[2] == 0:
            end_unit(to)
            to.state[0] = unit
            to.state[2] = 1
        found = _active(layout, batch, i, column, value)
        y = int(batch.response[i])
        _predicted(family, plan, found, column, value, eta)
        _, square = _derived(family, y, eta, slope, weight)
        plain, times = batch.weight[i], _times(plan, y, found, column, value)
        # who counts twice is two units with that score, and not one with twice the score
        w, own = plain * times, plain * sqrt(max(times, 0.0))
        to.sums[0] += w * square
        to.sums[2] += w * square
        for k in range(many):
            for a in range(found):
                at = k * p + column[a]
                if not to.marked[at]:
                    to.marked[at] = True
                    to.touched[to.state[1]] = at
                    to.state[1] += 1
                to.own[at] += own * slope[k] * value[a]
                if len(to.scores):
                    to.scores[batch.cluster[i], at] += own * slope[k] * value[a]
                for b in range(found):
                    to.pull[y, at, column[b]] += plain * slope[k] * value[a] * value[b]
                    for j in range(many):
                        to.sums[1] += w * weight[k, j] * value[a] * value[b] * inverse[at, j * p + column[b]]
        for c in range(len(layout.sizes)):
            to.fits[c, batch.classes[c, i], 0] += w * square
            to.fits[c, batch.classes[c, i], 1] += w
