"""What synthetic plots protect (R7): no estimate of a response is better than `least_error` says.

The intruder knows every predictor, the published model, the smooth, even which unit each synthetic point was made from. He
does not know the seed. Each attack is also tried where it works, so that it fails here for the reason given.
"""

import numpy as np
from numpy.typing import NDArray

from confide.answering.diagnostics.arrays import generator
from confide.answering.diagnostics.density import density
from confide.answering.diagnostics.logistic import logistic_plot
from confide.answering.diagnostics.noise import blur, flip, least_error, most_odds
from confide.answering.diagnostics.plots import NumericPlot
from confide.answering.diagnostics.spline import smooth
from confide.answering.diagnostics.synthetic import _nearest, numeric_plot

Floats = NDArray[np.float64]
UNITS, NOISE = 2000, 0.5
KEYS = np.arange(UNITS)


def population(seed: int = 1) -> tuple[Floats, Floats]:
    """Twenty predictors and a response: the first explains much of it."""
    random = np.random.default_rng(seed)
    predictors = random.standard_normal((20, UNITS))
    return predictors, 1.5 * predictors[0] + random.standard_normal(UNITS)


def residuals(y: Floats, predictors: Floats) -> Floats:
    columns = np.column_stack([np.ones(y.size), *predictors])
    return np.asarray(y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0])


def lucero(x: Floats, t: Floats) -> NumericPlot:
    """The paper's plot: standardised residuals, noise that belongs to the synthetic point, one seed."""
    order = np.argsort(x)
    random = generator(b"y", "synthetic")
    drawn = density(x[order], least=10).draw(random, x.size)
    near = _nearest(x[order], drawn, random)
    course = smooth(x[order], t[order])
    made = course(drawn) + t[order][near] - course(x[order][near]) + NOISE * random.standard_normal(x.size)
    return NumericPlot(drawn, made, drawn, course(drawn), NOISE)


def readings(x: Floats, plot: NumericPlot) -> tuple[Floats, Floats]:
    """Sum and number of what the plot says of each unit's residual, with its seed used only to match points to units."""
    order = np.argsort(x)
    random = generator(b"y", "synthetic")
    near = _nearest(x[order], density(x[order], least=10).draw(random, x.size), random)
    slope = np.interp(x[order][near], plot.smooth_x, plot.smooth_t) - np.interp(plot.x, plot.smooth_x, plot.smooth_t)
    unit = order[near]
    return np.bincount(unit, plot.t + slope, x.size), np.bincount(unit, minlength=x.size).astype(np.float64)


def error(guess: Floats, truth: Floats) -> float:
    return float(np.sqrt(np.mean((guess - truth) ** 2)))


def bound(units: int, spread: float = 1.0) -> float:
    """The stated bound less three standard errors of a root mean square over so many units."""
    return least_error(NOISE, spread) * (1 - 3 / np.sqrt(2 * units))


def plotted(x: Floats, e: Floats) -> NumericPlot:
    return numeric_plot(x, blur(e, KEYS, seed=b"y", noise=NOISE), seed=b"y")


def shrunk(reading: Floats) -> Floats:
    """The posterior mean of a residual with unit spread: the best estimate there is from one noisy reading."""
    return reading / (1 + NOISE**2)


def test_the_nearest_synthetic_point_is_no_better_than_the_bound() -> None:
    predictors, y = population()
    e = residuals(y, predictors[:1])
    plot = plotted(predictors[0], e)
    near = np.abs(predictors[0][:, None] - plot.x[None, :]).argmin(axis=1)
    assert error(shrunk(plot.t[near]), e) > bound(UNITS)


def test_all_points_of_a_unit_are_no_better_than_the_bound() -> None:
    predictors, y = population()
    e = residuals(y, predictors[:1])
    total, number = readings(predictors[0], plotted(predictors[0], e))
    several = number >= 3
    mean = total[several] / number[several]
    inner = abs(mean) < 3
    assert error(shrunk(mean)[inner], e[several][inner]) > bound(inner.sum())
    assert error(mean[inner], e[several][inner]) > NOISE * (1 - 3 / np.sqrt(2 * inner.sum()))
    total, number = readings(predictors[0], lucero(predictors[0], e))
    assert error(total[several] / number[several], e[several]) < NOISE / np.sqrt(2.5)


def test_the_plots_of_twenty_predictors_are_no_better_than_one() -> None:
    predictors, y = population()
    e = residuals(y, predictors)
    ours, theirs = [np.sum([readings(x, make(x, e)) for x in predictors], axis=0) for make in (plotted, lucero)]
    seen = ours[1] > 0
    assert error(shrunk(ours[0][seen] / ours[1][seen]), e[seen]) > bound(seen.sum(), e.std())
    assert error(theirs[0][seen] / theirs[1][seen], e[seen]) < 0.3 * NOISE


def test_twenty_models_of_one_response_are_no_better_than_one() -> None:
    predictors, y = population()
    random = np.random.default_rng(2)
    noisy, known = [], []
    for _ in range(20):
        fitted = y - residuals(y, predictors[random.random(20) < 0.5])
        noisy.append(blur(y - fitted, KEYS, seed=b"y", noise=NOISE, scale=10).values * 10 + fitted)
        known.append(blur(y - fitted, KEYS, seed=random.bytes(8), noise=NOISE, scale=10).values * 10 + fitted)
    assert np.ptp(noisy, axis=0).max() < 1e-9
    assert error(np.mean(noisy, axis=0), y) > NOISE * (1 - 3 / np.sqrt(2 * UNITS))
    assert error(np.mean(known, axis=0), y) < 1.1 * NOISE / np.sqrt(20)


def test_two_models_with_different_spread_do_not_cancel_the_noise() -> None:
    """t = (y - f)/s + noise and t' = (y - f')/s' + the same noise give y; noise in the units of y leaves no equation."""
    predictors, y = population()
    small, large = residuals(y, predictors[:2]), residuals(y, predictors[1:2])
    s, r = small.std(), large.std()
    x = predictors[1]
    theirs = [readings(x, lucero(x, e / e.std())) for e in (small, large)]
    seen = theirs[0][1] > 0
    difference = (theirs[0][0] - theirs[1][0])[seen] / theirs[0][1][seen]
    solved = (difference + ((y - small) / s - (y - large) / r)[seen]) / (1 / s - 1 / r)
    assert error(solved, y[seen]) < 0.05
    ours = [blur(e, KEYS, seed=b"y", noise=NOISE, scale=e.std()) for e in (small, large)]
    inner = (abs(ours[0].values) < 4) & (abs(ours[1].values) < 4)
    noisy = [b.values * e.std() + (y - e) for b, e in zip(ours, (small, large), strict=True)]
    assert abs(noisy[0] - noisy[1])[inner].max() < 1e-9


def test_the_smooth_line_does_not_follow_a_unit() -> None:
    """Moving one response by ten spreads moves the line by less than a fiftieth of a spread almost everywhere."""
    predictors, y = population()
    x, e = predictors[0], residuals(y, predictors[:1])
    moved = e.copy()
    moved[7] += 10
    one, other = plotted(x, e), plotted(x, moved)
    assert np.quantile(abs(one.smooth_t - other.smooth_t), 0.9) < 0.02


def test_an_outlier_is_neither_seen_nor_placed() -> None:
    predictors, y = population()
    x, e = predictors[0].copy(), residuals(y, predictors[:1])
    x[3], e[3] = 1e6, 50.0
    plot = plotted(x, e)
    assert abs(plot.t).max() <= 4 and plot.x.max() < np.sort(x)[-10]
    again = e.copy()
    again[3] = 5000.0
    assert (plotted(x, again).t == plot.t).all()


def test_outcomes_keep_the_stated_odds_over_many_models() -> None:
    """Even an intruder who reads y* itself, from as many models as he likes, is right with probability 1 - chance."""
    random = np.random.default_rng(4)
    outcomes = random.random(UNITS) < 0.5
    seen = [flip(outcomes, KEYS, seed=b"y", chance=0.2).values for _ in range(20)]
    right = (np.mean(seen, axis=0).round() == outcomes).mean()
    assert abs(right - 0.8) < 3 * np.sqrt(0.16 / UNITS)
    assert right / (1 - right) < most_odds(0.2) * (1 + 4 / np.sqrt(0.16 * UNITS))


def test_groups_differ_by_the_synthetic_outcome_of_a_unit_only() -> None:
    """The strongest difference: all other outcomes known. What is left is y*, whatever y is."""
    x = np.linspace(0, 1, UNITS)
    fitted = np.full(UNITS, 0.5)
    plots = {}
    for y in (False, True):
        outcomes = x > 0.5
        outcomes[17] = y
        turned = flip(outcomes, KEYS, seed=b"y", chance=0.2)
        plots[bool(turned.values[17])] = logistic_plot(x, turned, fitted).residual
    assert plots.keys() == {False, True}
    assert abs(plots[True] - plots[False]).max() < 1.01 / 0.6 / 50
