"""The picture of an answer, for notebooks and files."""

import json
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from confide.errors import Mistake
from confide.formats.charts.tables import table_chart
from confide.formats.charts.theme import dressed, lettered
from confide.formats.frames import library
from confide.formats.models.charts import coefficient_chart, correlation_chart
from confide.formats.models.words import INTERCEPT, Coefficient, TermGroup
from confide.model.formula import write_term
from confide.model.model_release import ModelRelease
from confide.model.release import Release

__all__ = ["AnswerPlot", "plot_charts", "plot_model", "plot_table"]

WIDTH = 540
"""Pixels across."""


class AnswerPlot:
    """A chart as Vega-Lite, with its data inside. A notebook shows it; `save` writes it to a file."""

    def __init__(self, chart: dict[str, Any]) -> None:
        self.spec = dressed(chart, dark=False, width=WIDTH) | {"background": "white"}

    def to_svg(self) -> str:
        """The picture as SVG; needs the extra `charts`."""
        return lettered(_drawer().vegalite_to_svg(self.spec, allowed_base_urls=[]))

    def save(self, file: str | Path) -> None:
        """Write it, as the ending says: .svg, .png (which need the extra `charts`), or .json for Vega-Lite."""
        path = Path(file)
        if path.suffix == ".json":
            path.write_text(json.dumps(self.spec, ensure_ascii=False), encoding="utf-8")
        elif path.suffix == ".svg":
            path.write_text(self.to_svg(), encoding="utf-8")
        elif path.suffix == ".png":
            path.write_bytes(_drawer().svg_to_png(self.to_svg(), scale=2))
        else:
            raise Mistake(
                f"A plot is not written as {path.suffix or path.name!r}.", suggestions=["End in .svg, .png or .json."]
            )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"application/vnd.vegalite.v5+json": self.spec, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<plot: {self.spec.get('description', '')}>"


def _drawer() -> Any:
    return library("vl_convert", needed="A picture", install="'confide[charts]'")


def plot_table(release: Release) -> AnswerPlot:
    """The first measure of a table as bars or a heat map."""
    chart = table_chart(release)
    if chart is None:
        raise Mistake(
            "This table makes no chart that can be read: it has more than two variables, too many classes, or no numbers.",
            suggestions=["Ask for one or two variables with fewer classes."],
        )
    return AnswerPlot(chart)


def plot_model(release: ModelRelease[Any]) -> AnswerPlot:
    """The coefficients of a regression with their intervals, or correlations as a heat map."""
    if "coefficients" in release.grids:
        response = write_term((release.request.formula.response,))
        return AnswerPlot(coefficient_chart(list(_groups(release)), response=response))
    grid = release.grids["correlations"]
    return AnswerPlot(
        correlation_chart(grid.columns[1:], [[float(value or 0) for value in row[1:]] for row in grid.rows])
    )


def plot_charts(charts: dict[str, Any], name: str | None) -> AnswerPlot:
    """A chart of diagnostics by its name; the first, if none is given."""
    chosen = next(iter(charts)) if name is None else name
    if chosen not in charts:
        raise Mistake(f"There is no chart {chosen[:60]!r}.", suggestions=[f"There are {', '.join(charts)}."])
    return AnswerPlot(charts[chosen])


def _groups(release: ModelRelease[Any]) -> Iterator[TermGroup]:
    """The coefficients of each term, and of each class of the response where there are several; intercepts aside."""
    grid = release.grids["coefficients"]
    told = [row for row in (dict(zip(grid.columns, row, strict=True)) for row in grid.rows) if row["term"] != INTERCEPT]
    for (level, term), rows in groupby(told, key=_group):
        found = [_coefficient(row, release.interval_errors) for row in rows if isinstance(row["estimate"], float | int)]
        if found:
            yield TermGroup(term, tuple(found), heading=level)


def _group(row: dict[str, Any]) -> tuple[str, str]:
    """The class of the response, where there are several, and the term that a coefficient is of."""
    return str(row.get("response", "")), re.sub(r"=[^:]*", "", str(row["term"]))


def _coefficient(row: dict[str, Any], width: float) -> Coefficient:
    estimate, error = float(row["estimate"]), float(row["standard_error"] or 0)
    ends = (estimate - width * error, estimate + width * error)
    return Coefficient(str(row["term"]), estimate, error, *ends, None, ())
