"""What synthetic plots keep: a curved, a fanned and a good model are told apart by them. Units: 20,000; noise: half of s."""

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.answering.diagnostics.logistic import logistic_plot
from confide.answering.diagnostics.noise import blur, flip
from confide.answering.diagnostics.plots import NumericPlot
from confide.answering.diagnostics.synthetic import categorical_plot, fitted_plot, numeric_plot

Floats = NDArray[np.float64]
UNITS, NOISE = 20_000, 0.5
KINDS = ["curved", "fanned", "good"]


def model(kind: str, seed: int) -> tuple[Floats, Floats, Floats]:
    """A predictor, the fitted values of a line through the response, and the standardised residuals."""
    random = np.random.default_rng(seed)
    x = random.gamma(3.0, 2.0, UNITS)
    spread = 0.3 + 0.15 * x if kind == "fanned" else 1.0
    y = x + (0.04 * (x - 6) ** 2 if kind == "curved" else 0.0) + spread * random.standard_normal(UNITS)
    slope, level = np.polyfit(x, y, 1)
    residuals = y - level - slope * x
    return x, level + slope * x, residuals / residuals.std()


def local(x: Floats, t: Floats, edges: Floats) -> tuple[Floats, Floats]:
    """Means and spreads of t in 15 groups along x."""
    group = np.searchsorted(edges, x)
    parts = [t[group == g] for g in range(edges.size + 1)]
    return np.array([p.mean() for p in parts]), np.array([p.std() for p in parts])


def courses(kind: str, seed: int, by_fitted: bool = False) -> tuple[NumericPlot, list[Floats]]:
    x, fitted, t = model(kind, seed)
    along, draw = (fitted, fitted_plot) if by_fitted else (x, numeric_plot)
    plot = draw(along, blur(t, np.arange(UNITS), seed=b"%d" % seed, noise=NOISE), seed=b"%d" % seed)
    edges = np.quantile(along, np.arange(1, 15) / 15)
    return plot, [*local(along, t, edges), *local(plot.x, plot.t, edges)]


def verdict(plot: NumericPlot) -> str:
    """What a reader sees, from the plot alone: 15 groups of 333 points, so means to 0.06 and spreads to 4 percent."""
    means, spreads = local(plot.x, plot.t, np.quantile(plot.x, np.arange(1, 15) / 15))
    if np.ptp(means) > 0.6:
        return "curved"
    return "fanned" if spreads.max() / spreads.min() > 1.4 else "good"


@pytest.mark.parametrize("by_fitted", [False, True], ids=["predictor", "fitted"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_of_the_synthetic_plot_names_the_fault(kind: str, by_fitted: bool) -> None:
    assert {verdict(courses(kind, seed, by_fitted)[0]) for seed in range(6)} == {kind}


def test_the_local_mean_of_a_curved_model_is_kept() -> None:
    _, (mean, _, synthetic, _) = courses("curved", 1)
    assert np.corrcoef(mean, synthetic)[0, 1] > 0.98
    assert abs(mean - synthetic).max() < 4 * 1.12 / np.sqrt(5000 / 15)


def test_the_local_spread_of_a_heteroscedastic_model_is_kept_with_the_noise_on_top() -> None:
    _, (_, spread, _, synthetic) = courses("fanned", 1)
    assert np.corrcoef(spread, synthetic)[0, 1] > 0.95
    assert abs(synthetic / np.hypot(spread, NOISE) - 1).max() < 4 / np.sqrt(2 * 5000 / 15)


def test_a_good_model_stays_level_and_even() -> None:
    plot, (_, _, mean, spread) = courses("good", 1)
    assert abs(mean).max() < 4 * 1.12 / np.sqrt(5000 / 15)
    assert abs(spread / np.hypot(1, NOISE) - 1).max() < 4 / np.sqrt(2 * 5000 / 15)
    assert abs(plot.smooth_t).max() < 0.2


@pytest.mark.parametrize("by_fitted", [False, True], ids=["spline", "kernel"])
def test_the_line_follows_the_real_local_mean(by_fitted: bool) -> None:
    x, fitted, _ = model("curved", 2)
    along = fitted if by_fitted else x
    plot, (mean, *_) = courses("curved", 2, by_fitted)
    line = local(along, np.interp(along, plot.smooth_x, plot.smooth_t), np.quantile(along, np.arange(1, 15) / 15))[0]
    assert np.corrcoef(mean, line)[0, 1] > 0.98 and abs(mean - line).max() < 4 * 1.12 / np.sqrt(5000 / 15)


def test_boxes_show_classes_that_lie_off_or_spread_more() -> None:
    random = np.random.default_rng(3)
    places = np.repeat(np.arange(3), 3000)
    t = random.standard_normal(9000) * np.array([1, 1, 2])[places] + np.array([0, 1, 0])[places]
    plot = categorical_plot(places, blur(t, np.arange(9000), seed=b"y", noise=NOISE), list("abc"), seed=b"y")
    assert abs(plot.median - [0, 1, 0]).max() < 4 * 1.25 * 2.1 / np.sqrt(3000)
    length = (plot.three_quarters - plot.quarter) / 1.349
    assert abs(length / np.hypot([1, 1, 2], NOISE) - 1).max() < 0.1
    assert (plot.low < plot.quarter).all() and (plot.three_quarters < plot.high).all()


@pytest.mark.parametrize("curved", [True, False])
def test_groups_of_a_logistic_model_leave_the_band_only_if_it_is_wrong(curved: bool) -> None:
    random = np.random.default_rng(5)
    x = random.standard_normal(UNITS)
    fitted = 1 / (1 + np.exp(-x))
    truth = 1 / (1 + np.exp(-x - 0.5 * (x**2 - 1))) if curved else fitted
    outcomes = random.random(UNITS) < truth
    plot = logistic_plot(x, flip(outcomes, np.arange(UNITS), seed=b"y", chance=0.1), fitted)
    outside = (abs(plot.residual) > plot.bound).mean()
    assert plot.x.size == 40
    assert outside > 0.5 if curved else outside <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 40)
    if curved:
        real = local(x, outcomes - fitted, np.quantile(x, np.arange(1, 40) / 40))[0]
        assert np.corrcoef(real, plot.residual)[0, 1] > 0.95
