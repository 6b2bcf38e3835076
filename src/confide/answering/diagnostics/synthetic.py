"""Synthetic residual plots (Reiter 2003, as in Lucero et al. 2011, sec. 3.2.1).

A synthetic point has a synthetic x, the smooth of the residuals there, and the deviation from the smooth of the real unit
nearest to it: t = b(x) + (t_j - b(x_j)). All of it comes from residuals of noisy responses (see `noise`), the smooth
included, so a plot is no better a guide to a unit than its noisy response is. The seed of a plot moves only x and ties; with
one seed for each predictor, many models do not give many draws of x either.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from confide.answering.diagnostics.arrays import finite, generator, runs
from confide.answering.diagnostics.density import density
from confide.answering.diagnostics.noise import Blurred
from confide.answering.diagnostics.plots import LIMIT, CategoricalPlot, NumericPlot
from confide.answering.diagnostics.spline import smooth
from confide.arrays import Floats, Ints
from confide.errors import Mistake

__all__ = ["categorical_plot", "fitted_plot", "numeric_plot"]

FEWEST = 50
MOST = 5000
GRID = 101
SPAN = 0.1
PERCENTS = (5, 25, 50, 75, 95)
NO_POINTS = np.empty(0)


@dataclass(frozen=True)
class _Synthetic:
    x: Floats
    t: Floats
    course: Callable[[Floats], Floats]


def numeric_plot(
    x: ArrayLike, residuals: Blurred, *, seed: bytes, least: int = 10, units: int | None = None
) -> NumericPlot:
    """Give synthetic residuals along a numeric predictor, with a penalised spline through them.

    Promise: that of `blur` for residuals, that of `density` for x. Mean and spread along x are kept up to the noise. There are
    as many points as `units`, the protected number of units (as there are residuals, if it is not given), at most 5,000.

    >>> from confide.answering.diagnostics.noise import blur
    >>> x = np.linspace(-2, 2, 1000)
    >>> plot = numeric_plot(x, blur(x**2 - 4 / 3, np.arange(1000), seed=b"y", noise=0.5), seed=b"y")
    >>> plot.x.size, bool(plot.t[plot.x < -1.5].mean() > 1 > 0 > plot.t[abs(plot.x) < 0.5].mean())
    (1000, True)
    """
    points = _synthetic(x, residuals, seed=seed, least=least, units=units)
    if points is None:
        return NumericPlot(NO_POINTS, NO_POINTS, NO_POINTS, NO_POINTS, residuals.noise_sd)
    along = _along(points.x)
    return NumericPlot(points.x, points.t, along, _line(points.course(along)), residuals.noise_sd)


def fitted_plot(
    fitted: ArrayLike, residuals: Blurred, *, seed: bytes, least: int = 10, units: int | None = None
) -> NumericPlot:
    """Give synthetic residuals along the fitted values, with a kernel smoother of the synthetic points.

    Promise: as for `numeric_plot`. The smoother sees no real unit.

    >>> from confide.answering.diagnostics.noise import blur
    >>> fitted = np.linspace(0, 1, 500)
    >>> fitted_plot(fitted, blur(np.zeros(500), np.arange(500), seed=b"y", noise=0.5), seed=b"y").t.size
    500
    """
    points = _synthetic(fitted, residuals, seed=seed, least=least, units=units)
    if points is None:
        return NumericPlot(NO_POINTS, NO_POINTS, NO_POINTS, NO_POINTS, residuals.noise_sd)
    along = _along(points.x)
    return NumericPlot(points.x, points.t, along, _line(_kernel(points.x, points.t, along)), residuals.noise_sd)


def categorical_plot(
    places: Ints, residuals: Blurred, classes: Sequence[str], *, seed: bytes, least: int = 10
) -> CategoricalPlot:
    """Give a box of synthetic residuals for each class: a bootstrap sample as large as the data.

    `places` are positions in `classes`. Promise: that of `blur`; a class that has fewer than `least` units, or that the
    bootstrap drew less often than that, is suppressed. Boxes end at percentiles, so that no single draw is shown.

    >>> from confide.answering.diagnostics.noise import blur
    >>> blurred = blur(np.zeros(103), np.arange(103), seed=b"y", noise=0.5)
    >>> categorical_plot(np.repeat([0, 1], [100, 3]), blurred, ["no", "yes"], seed=b"y").suppressed
    array([False,  True])
    """
    size = residuals.values.size
    where = finite(places, "places", size=size).astype(np.int64)
    if size and not (where.min() >= 0 and where.max() < len(classes)):
        raise Mistake("A place has no class.", suggestions=["Give positions in the list of classes."])
    drawn = generator(seed, "bootstrap").integers(size, size=size) if size else np.empty(0, dtype=np.int64)
    order = np.lexsort((residuals.values[drawn], where[drawn]))
    counts = np.bincount(where[drawn], minlength=len(classes))
    suppressed = np.minimum(counts, np.bincount(where, minlength=len(classes))) < least
    boxes = _percents(residuals.values[drawn][order], counts).round(2)
    boxes[suppressed] = np.nan
    low, quarter, median, three_quarters, high = boxes.T
    return CategoricalPlot(tuple(classes), low, quarter, median, three_quarters, high, suppressed, residuals.noise_sd)


def _synthetic(x: ArrayLike, residuals: Blurred, *, seed: bytes, least: int, units: int | None) -> _Synthetic | None:
    given = finite(x, "values", size=residuals.values.size)
    points = min(MOST, given.size if units is None else units)
    if least < 1:
        raise Mistake("A plot needs units.", suggestions=["Take least of 1 or more."])
    if points < max(FEWEST, 4 * least) or given.size < 4 * least:
        return None
    order = np.argsort(given)
    real_x, real_t = given[order], residuals.values[order]
    random = generator(seed, "synthetic")
    drawn = density(real_x, least=least).draw(random, points)
    near = _nearest(real_x, drawn, random)
    course = smooth(real_x, real_t)
    t = course(drawn) + real_t[near] - course(real_x[near])
    return _Synthetic(drawn, np.clip(t, -LIMIT, LIMIT).round(2), course)


def _nearest(ordered: Floats, wanted: Floats, random: np.random.Generator) -> Ints:
    """Where the real value nearest to each wanted one is; one of its units at random if several have it."""
    values, starts, counts = runs(ordered)
    above = np.clip(np.searchsorted(values, wanted), 1, max(1, values.size - 1))
    below = above - 1
    above = np.minimum(above, values.size - 1)
    nearest = np.where(wanted - values[below] <= values[above] - wanted, below, above)
    return np.asarray(starts[nearest] + (random.random(wanted.size) * counts[nearest]).astype(np.int64))


def _along(x: Floats) -> Floats:
    return np.unique(np.concatenate([np.quantile(x, np.linspace(0, 1, GRID)), np.linspace(x[0], x[-1], GRID)]))


def _line(heights: Floats) -> Floats:
    return np.asarray(np.clip(heights, -LIMIT, LIMIT).round(3))


def _kernel(x: Floats, t: Floats, along: Floats) -> Floats:
    """Local lines with normal weights, two deviations reaching the nearest tenth of the points (Fan 1992)."""
    apart = (x[None, :] - along[:, None]) / (float(np.ptp(x)) or 1.0)
    tenth = int(SPAN * (x.size - 1))
    reach = np.partition(np.abs(apart), tenth, axis=1)[:, tenth]
    weight = np.exp(-2 * (apart / np.maximum(reach, 1e-6)[:, None]) ** 2)
    weight /= weight.sum(axis=1, keepdims=True)
    centre, mean = (weight * apart).sum(axis=1), weight @ t
    spread = (weight * apart**2).sum(axis=1) - centre**2
    slope = ((weight * apart) @ t - centre * mean) / np.maximum(spread, 1e-12)
    return np.asarray(mean - slope * centre)


def _percents(ordered: Floats, counts: Ints) -> Floats:
    """The percent points of each class, from values ordered by class and size; classes without any get zeros."""
    starts = np.cumsum(counts) - counts
    place = np.maximum(counts - 1, 0)[:, None] * np.array(PERCENTS) / 100
    lower = place.astype(np.int64)
    upper = np.minimum(lower + 1, np.maximum(counts - 1, 0)[:, None])
    values = np.append(ordered, 0.0)
    low, high = (values[np.minimum(starts[:, None] + at, ordered.size)] for at in (lower, upper))
    return np.asarray(low + (high - low) * (place - lower))
