"""Diagnostics of a fitted model from synthetic points (Reiter 2003; Lucero et al. 2011, sec. 3.2.1): charts and their data.

Promise: see `confide.answering.diagnostics.noise`. A plot shows a unit's response only with noise that belongs to the unit and the
response; the noise is a share of the spread of the response over the whole data set, never of a universe or a model.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from confide.answering.diagnostics.charts import categorical_chart, fitted_chart, grouped_chart, numeric_chart
from confide.answering.diagnostics.logistic import logistic_plot
from confide.answering.diagnostics.noise import Blurred, Flipped, blur, flip
from confide.answering.diagnostics.plots import CategoricalPlot, GroupedPlot, NumericPlot
from confide.answering.diagnostics.several import several_outcomes, several_rows
from confide.answering.diagnostics.synthetic import categorical_plot, fitted_plot, numeric_plot
from confide.answering.regressions.judged import JudgedRegression
from confide.answering.regressions.several.judged import JudgedSeveral
from confide.arrays import Floats, Ints
from confide.model.catalog.dataset import Dataset
from confide.model.design import Design, Number
from confide.model.evidence import Rows, Step
from confide.model.model_release import PLOT, Grid
from confide.model.request import Family
from confide.site.secret import Secret

__all__ = ["Diagnosed", "diagnose", "key_range"]

Chart = dict[str, Any]
Plot = NumericPlot | CategoricalPlot | GroupedPlot
Plots = dict[str, tuple[Plot, Chart]]

MOST_UNITS = 200_000
"""Plots are drawn from about so many units at most: those with keys in a range that the secret picks for the response."""

TRANSFORMS = 4
"""Ways a response can enter a model: each is another reading of it, so the noise is larger by the root of their number."""

NOISE = 0.25
"""Noise of a response, as a share of its spread over the whole data set, for one reading of it."""

CHANCE = 0.25
"""Chance that the outcome of a unit is turned round."""


@dataclass(frozen=True)
class Diagnosed:
    """Charts and the synthetic data behind them, by name."""

    charts: dict[str, Chart]
    grids: dict[str, Grid]


def key_range(units: int, secret: Secret, response: str) -> tuple[int, int]:
    """A range of unit keys expected to hold at most so many units; the same for every model of the response."""
    blocks = 1
    while units / blocks > MOST_UNITS:
        blocks *= 2
    place = int.from_bytes(secret.digest("diagnostics range", response.encode())[:8], "little") % blocks
    width = (1 << 64) // blocks
    return place * width - (1 << 63), (place + 1) * width - (1 << 63) - 1


def diagnose(judged: JudgedRegression) -> Diagnosed:
    """Synthetic residuals along every predictor and along the fitted values."""
    model, sums, name = judged.fitted, judged.sums, judged.response
    assert model is not None
    secret, step = sums.shield.secret, replace(model.question, beta=tuple(model.fitted.beta.tolist()))
    low, high = key_range(model.fitted.moments.units, secret, name)
    if isinstance(judged, JudgedSeveral):
        return _diagnosed(_several(judged, low, high))
    taken = _one_a_unit(sums.selection.rows(step, model.fitted.inverse, low, high))
    seed = secret.digest("diagnostics", name.encode())
    units = _published(judged, taken)
    if step.family is Family.BINOMIAL:
        outcomes = flip(taken.response > 0.5, taken.unit, seed=seed, chance=CHANCE)
        plots: Plots = _logistic(step, taken, outcomes, units)
    else:
        residual = taken.response - taken.fitted
        root = np.sqrt(np.mean(residual**2)) if len(residual) else 1.0
        if step.family is Family.POISSON:
            scale = np.sqrt(np.maximum(taken.fitted, 1e-9))
        else:
            scale = root * np.sqrt(np.maximum(1 - taken.leverage, 1e-3))
        noise = NOISE * float(np.sqrt(TRANSFORMS)) * _spread_of_everyone(judged)
        blurred = blur(residual, taken.unit, seed=seed, noise=noise, scale=np.maximum(scale, 1e-12))
        plots = _residuals(step, judged.question.dataset, taken, blurred, secret, units)
    return _diagnosed(plots)


def _diagnosed(plots: Plots) -> Diagnosed:
    charts = {key: chart for key, (_, chart) in plots.items()}
    return Diagnosed(charts, {key: _grid(key, plot) for key, (plot, _) in plots.items()})


def _published(judged: JudgedRegression, rows: Rows) -> int:
    """As many units as plots are drawn from, of the protected number of all."""
    assert judged.fitted is not None
    return round(len(rows.unit) * judged.published / max(judged.fitted.fitted.moments.units, 1))


def _spread_of_everyone(judged: JudgedRegression) -> float:
    """The standard deviation of the response over the whole data set, whatever the universe."""
    design = judged.compiled.design
    alone = replace(design, blocks=design.blocks[:1], numbers=(), classes=())
    everyone = judged.sums.selection.moments(Step(alone, Family.GAUSSIAN))
    mean = everyone.response / everyone.weight
    return float(np.sqrt(max(everyone.response_square / everyone.weight - mean**2, 0.0)))


def _one_a_unit(rows: Rows) -> Rows:
    """The first record of each unit: thresholds of plots count units."""
    return _these(rows, _first_of_units(rows))


def _first_of_units(rows: Rows) -> Ints:
    return np.unique(rows.unit, return_index=True)[1]


def _these(rows: Rows, at: Ints) -> Rows:
    return Rows(*(getattr(rows, name)[at] for name in ("unit", "fitted", "response", "leverage", "numbers", "classes")))


def _residuals(step: Step, dataset: Dataset, rows: Rows, blurred: Blurred, secret: Secret, units: int) -> Plots:
    along = fitted_plot(rows.fitted, blurred, seed=secret.digest("diagnostics x", b"fitted"), units=units)
    plots: Plots = {"fitted": (along, fitted_chart(along))}
    for column, number in enumerate(step.design.numbers):
        name = _named(number)
        seed = secret.digest("diagnostics x", name.encode())
        plot = numeric_plot(rows.numbers[:, column], blurred, seed=seed, units=units)
        plots[name] = (plot, numeric_chart(plot, name=name))
    for column, name in enumerate(step.design.classes):
        codes = dataset.variables[name].codes
        assert codes is not None
        seed = secret.digest("diagnostics x", name.encode())
        boxes = categorical_plot(rows.classes[:, column], blurred, list(codes.names), seed=seed)
        plots[name] = (boxes, categorical_chart(boxes, name=name))
    return plots


def _several(judged: JudgedSeveral, low: int, high: int) -> Plots:
    """Those of a yes or no for each class of the response, or for the event."""
    found, by_predictor = several_rows(judged, low, high)
    first, secret, plots = _first_of_units(found), judged.sums.shield.secret, Plots()
    rows = _these(found, first)
    along, units = _numbers(judged.compiled.design, rows), _published(judged, rows)
    for outcome in several_outcomes(judged, rows, by_predictor[first]):
        for name, plot in outcome.plots(along, rows, secret, chance=CHANCE, units=units):
            plots[name] = (plot, grouped_chart(plot, name=name))
    return plots


def _numbers(design: Design, rows: Rows) -> dict[str, Floats]:
    return {_named(number): rows.numbers[:, at] for at, number in enumerate(design.numbers)}


def _logistic(step: Step, rows: Rows, outcomes: Flipped, units: int) -> Plots:
    plots = Plots()
    for name, values in {"fitted": rows.fitted, **_numbers(step.design, rows)}.items():
        plot = logistic_plot(values, outcomes, rows.fitted, units=units)
        plots[name] = (plot, grouped_chart(plot, name=name))
    return plots


def _named(number: Number) -> str:
    return f"{number.transform}({number.variable})" if number.transform else number.variable


def _grid(name: str, plot: Plot) -> Grid:
    """The data of a plot: one row a point or a class."""
    columns: tuple[str, ...]
    arrays: tuple[Floats, ...]
    if isinstance(plot, NumericPlot):
        columns, arrays = ("x", "residual"), (plot.x, plot.t)
    elif isinstance(plot, GroupedPlot):
        columns, arrays = ("x", "residual", "bound"), (plot.x, plot.residual, plot.bound)
    else:
        boxes = (plot.low, plot.quarter, plot.median, plot.three_quarters, plot.high)
        rows = tuple(
            (code, *(None if np.isnan(v) else float(v) for v in values))
            for code, values in zip(plot.classes, np.column_stack(boxes).tolist(), strict=True)
        )
        return Grid(
            f"{PLOT}{name}", f"Synthetic residuals by {name}", ("class", "p5", "p25", "median", "p75", "p95"), rows
        )
    points = tuple(tuple(float(v) for v in row) for row in np.column_stack(arrays).tolist())
    return Grid(f"{PLOT}{name}", f"Synthetic residuals along {name}", columns, points)
