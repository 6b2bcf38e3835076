"""Plots of synthetic residuals as a reader meets them: in words, and as a short table of what they show."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from confide.formats.about import shown_value
from confide.formats.charts.theme import distinct, short
from confide.formats.models.words import factor_words, grid_name
from confide.model.catalog.dataset import Dataset
from confide.model.model_release import Grid
from confide.model.request import RegressionRequest

__all__ = ["Table", "in_words", "plot_words", "residual_table"]

Chart = dict[str, Any]
Table = tuple[list[tuple[str, str]], list[list[str]]]
"""Columns as words and kind, and rows of texts."""

PARTS = 10
"""Points along a number are told in so many parts of about the same size."""


def plot_words(request: RegressionRequest, dataset: Dataset) -> dict[str, str]:
    """Give what each plot is along, by its name."""
    words = {"fitted": "the fitted values"}
    for factor in (factor for term in request.formula.terms for factor in term):
        words[grid_name((factor,))] = factor_words(factor, dataset)
    if not request.family.several or request.event is not None:
        return words
    codes = dataset.variables[request.formula.response.variable].codes or ()
    return {f"{code.code}: {name}": f"{told} ({code.label})" for code in codes for name, told in words.items()}


def in_words(chart: Chart, *, name: str, words: str, labels: Mapping[str, str]) -> Chart:
    """Give the chart of a plot with labels instead of names and codes; its title is the page's business.

    Long labels are cut, and equal ones told apart by numbers.
    """
    known = dict(zip(labels, distinct(labels.values()), strict=True))
    told = {key: part for key, part in chart.items() if key != "title"}
    told["description"] = (
        chart["description"]
        .replace(f"along {name}", f"along {short(words)}")
        .replace(f"by {name}", f"by {short(words)}")
    )
    told["layer"] = [_layer(layer, name, words, known) for layer in chart["layer"]]
    return told


def _layer(layer: Chart, name: str, words: str, labels: Mapping[str, str]) -> Chart:
    values = [
        {**row, "class": _label(row["class"], labels)} if "class" in row else row for row in layer["data"]["values"]
    ]
    encoding = dict(layer["encoding"])
    if "x" in encoding:
        encoding["x"] = x = {**encoding["x"], "title": short(words)}
        if x["field"] == "class":
            x["scale"] = {"domain": [_label(code, labels) for code in x["scale"]["domain"]]}
    return {**layer, "data": {"values": values}, "encoding": encoding}


def _label(code: str, labels: Mapping[str, str]) -> str:
    return labels.get(code, short(code))


def residual_table(grid: Grid, *, words: str, labels: Mapping[str, str]) -> Table:
    """Give what a plot shows: the quartiles of its points in parts along a number, or by class; means of groups as they are."""
    if grid.columns[0] == "class":
        columns = [(words, ""), *((name, "number") for name in ("5 %", "25 %", "Median", "75 %", "95 %"))]
        return columns, [[labels.get(str(row[0]), str(row[0])), *map(_short, row[1:])] for row in grid.rows]
    if "bound" in grid.columns:
        columns = [(words, ""), ("Mean residual", "number"), ("Range of chance", "number")]
        return columns, [[_short(x), _short(y), f"± {_short(bound)}"] for x, y, bound in grid.rows]
    columns = [(words, ""), *((name, "number") for name in ("Points", "25 %", "Median", "75 %"))]
    return columns, list(_parts(grid))


def _parts(grid: Grid) -> Iterator[list[str]]:
    points = np.array(grid.rows, dtype=np.float64).reshape(-1, 2)
    for part in np.array_split(points, min(PARTS, max(1, len(points) // 20))):
        if len(part):
            quartiles = np.percentile(part[:, 1], [25, 50, 75]).tolist()
            yield [f"{_short(part[0, 0])} to {_short(part[-1, 0])}", f"{len(part):,}", *map(_short, quartiles)]


def _short(value: Any) -> str:
    return shown_value(None if value is None else float(f"{float(value):.3g}"))
