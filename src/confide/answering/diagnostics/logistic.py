"""Residual plots of logistic models: means over groups of synthetic outcomes (after Reiter & Kohnen 2005).

The residual of one unit is y - p, and p is known from the model: any plot of single residuals, even of moved ones, shows two
bands and with them the outcomes. So outcomes are synthetic (turned round at random, see `flip`) and only means of groups
are shown, the binned residuals of Landwehr, Pregibon & Shoemaker (1984) and Gelman & Hill (2007, sec. 5.6).
"""

import numpy as np
from numpy.typing import ArrayLike

from confide.answering.diagnostics.arrays import finite, runs
from confide.answering.diagnostics.noise import Flipped
from confide.answering.diagnostics.plots import GroupedPlot
from confide.arrays import Floats, Ints
from confide.errors import Mistake

__all__ = ["logistic_plot"]

MOST_GROUPS = 40


def logistic_plot(
    x: ArrayLike, outcomes: Flipped, fitted: ArrayLike, *, least: int = 50, units: int | None = None
) -> GroupedPlot:
    """Give mean residuals of groups along x, a numeric predictor or the fitted probabilities themselves.

    The mean of (y* - c) / (1 - 2c) - p in each group, y* being turned round with chance c: its expectation is that of
    y - p. The bound is two standard errors of it if the model holds, the turning included. Promise: that of `flip`; groups
    have `least` units or more and stand at their median, to three digits; the bound is that of groups of `units`, the
    protected number of units, so that it does not tell the true one. Along a categorical predictor of the
    model the likelihood equations make all means zero: there is nothing to plot.

    >>> from confide.answering.diagnostics.noise import flip
    >>> outcomes = flip(np.arange(1000) % 2, np.arange(1000), seed=b"y", chance=0.1)
    >>> plot = logistic_plot(np.arange(1000.0), outcomes, np.full(1000, 0.5), least=100)
    >>> plot.x.size, float(plot.bound[0])
    (10, 0.125)
    """
    given = finite(x, "values", size=outcomes.values.size)
    chances = finite(fitted, "fitted probabilities", size=given.size)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise Mistake("A fitted probability is not from 0 to 1.", suggestions=["Give probabilities, not logits."])
    if least < 1:
        raise Mistake("A group needs units.", suggestions=["Take least of 1 or more."])
    order = np.argsort(given, kind="stable")
    edges = _edges(given[order], least)
    residual, variance = _moments(outcomes, chances)
    sizes = np.diff(edges)
    bound = 2 * np.sqrt(_sums(variance[order], edges) * given.size / max(units or given.size, 1)) / sizes
    middle = given[order][(edges[:-1] + edges[1:] - 1) // 2]
    return GroupedPlot(
        _digits(middle), (_sums(residual[order], edges) / sizes).round(4), bound.round(4), outcomes.chance
    )


def _moments(outcomes: Flipped, chances: Floats) -> tuple[Floats, Floats]:
    """Residuals of turned outcomes, unbiased for real ones, and their variances if the model holds."""
    kept = 1 - 2 * outcomes.chance
    turned = outcomes.chance + kept * chances
    return (outcomes.values - outcomes.chance) / kept - chances, turned * (1 - turned) / kept**2


def _edges(ordered: Floats, least: int) -> Ints:
    """Where groups begin, and the end: nearly equal groups that never part equal values."""
    groups = min(MOST_GROUPS, ordered.size // least)
    if not groups:
        return np.zeros(1, dtype=np.int64)
    _, starts, _ = runs(ordered)
    wanted = np.linspace(0, ordered.size, groups + 1)[1:-1].astype(np.int64)
    edges = [0]
    for edge in starts[np.searchsorted(starts, wanted, side="right") - 1].tolist():
        if edge - edges[-1] >= least and ordered.size - edge >= least:
            edges.append(edge)
    return np.array([*edges, ordered.size])


def _sums(values: Floats, edges: Ints) -> Floats:
    return np.add.reduceat(values, edges[:-1]) if edges.size > 1 else np.empty(0)


def _digits(values: Floats) -> Floats:
    return np.array([float(f"{value:.3g}") for value in values.tolist()])
