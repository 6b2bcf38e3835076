"""The mean share of every class of a response, or of those it happens to in a period, among the calibrated records.

They follow from sums that engines give anyway. With coefficients b the score is gram b + sum w g x, and the derivatives g are
outcomes less fitted shares: its entries at the intercepts tell the means of the shares, those of the gram how these move.
In an ordered model g is not so: there the same records are asked as durations in which everyone is there at every threshold and
nothing happens, and g is less the share at or below it.
"""

from dataclasses import replace

import numpy as np

from confide.answering.regressions.several.calibration import Calibration
from confide.answering.selection import Selection
from confide.arrays import Floats
from confide.model.design import Category, Duration
from confide.model.evidence import Moments, Step
from confide.model.request import Family

__all__ = ["MeanShares", "mean_shares", "periods"]

MeanShares = tuple[Floats, Floats]
"""The means (one for each share), and how they move with the coefficients of every linear predictor (a row for each share)."""


def mean_shares(step: Step, calibration: Calibration, selection: Selection) -> MeanShares:
    """The shares that a model gives at the coefficients of a step."""
    if step.family is Family.ORDERED:
        return _ordered(step, selection)
    sums, totals = selection.moments(step), calibration.totals
    if step.family is Family.MULTINOMIAL:
        means, moves = _fitted(sums, step, totals[1:])
        return _with_first(means / sums.weight, moves / sums.weight)
    happened, lived = periods(totals)
    means, moves = _fitted(sums, step, happened)
    there = (happened + lived).sum()
    return means.sum(keepdims=True) / there, moves.sum(axis=0, keepdims=True) / there


def _fitted(sums: Moments, step: Step, outcomes: Floats) -> MeanShares:
    """The sums of the fitted shares of every predictor, and how they move; `outcomes` are the weights of those who have it."""
    at = np.arange(step.design.predictors) * step.design.columns
    return outcomes - (sums.score[at] - sums.gram[at] @ np.array(step.beta)), sums.gram[at]


def _with_first(means: Floats, moves: Floats) -> MeanShares:
    """The first class has what the others leave of everyone."""
    return np.append(1 - means.sum(), means), np.vstack([-moves.sum(axis=0), moves])


def _ordered(step: Step, selection: Selection) -> MeanShares:
    """The share at or below each threshold, class by class of the response, since each is calibrated by itself; then of classes."""
    response = step.design.response
    assert isinstance(response, Category)
    parts = [_at_or_below(step, response, level, selection) for level in range(response.outcomes)]
    weight = sum(part[0] for part in parts)
    below = np.sum([part[1] for part in parts], axis=0) / weight
    moves = np.sum([part[2] for part in parts], axis=0) / weight
    return np.diff(below, prepend=0.0, append=1.0), np.diff(moves, axis=0, prepend=0.0, append=0.0)


def _at_or_below(step: Step, response: Category, level: int, selection: Selection) -> tuple[float, Floats, Floats]:
    """Of the records of one class: their weight, the sums of the shares at or below each threshold, and how these move."""
    last = response.predictors - 1
    levels = tuple(last if own == level else -1 for own in response.levels)
    everyone = Duration(response.variable, levels, response.variable, ())
    rows = [(0.0,) * step.design.columns] * everyone.outcomes
    if step.calibration:
        rows[2 * last] = step.calibration[level]
    asked = replace(
        step,
        design=replace(step.design, response=everyone),
        family=Family.SURVIVAL,
        calibration=tuple(rows) if step.calibration else (),
    )
    sums = selection.moments(asked)
    return sums.weight, *_fitted(sums, asked, np.zeros(response.predictors))


def periods(whole: Floats) -> tuple[Floats, Floats]:
    """Of each period the weight of those it happened to in it, and of those who were there and it did not."""
    both = whole.reshape(-1, 2)
    there = np.cumsum(both.sum(axis=1)[::-1])[::-1]
    return both[:, 1], there - both[:, 1]
