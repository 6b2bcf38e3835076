"""A report as a page: facts, sentences, charts and tables with a title each.

One template, no script, nothing loaded from elsewhere; every text is escaped, and charts are pictures, in which nothing
can run.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from typing import Any

import pyarrow as pa

from confide.data.text import write_text
from confide.formats.about import plain
from confide.formats.charts.theme import Spec, dressed, lettered
from confide.formats.html import TEMPLATES

__all__ = ["SCHEMA", "TRUE_VALUES", "Chart", "ReportPage", "shown"]

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"

TRUE_VALUES = "For the custodian only. This page has true values. Do not publish it."

ROWS = 200
"""How many rows of a grid are shown."""

WIDE, NARROW = 720, 340
"""Pixels of a chart that can grow. The narrow one fits a telephone without shrinking its letters."""


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification with its data, and in words what it shows, for who cannot see it."""

    title: str
    alt: str
    spec: Spec

    @classmethod
    def of(cls, spec: Spec, *, grows: bool = False) -> "Chart":
        """From a specification that has its title and its description in it; one that `grows` is as wide as its page."""
        shown = {name: part for name, part in spec.items() if name not in ("title", "description")}
        return cls(spec["title"], spec["description"], {**shown, "width": "container"} if grows else shown)

    @property
    def grows(self) -> bool:
        return self.spec.get("width") == "container"

    def image(self, *, dark: bool = False, width: int = WIDE) -> str:
        """The chart as the address of an SVG picture; nothing where charts cannot be drawn.

        Promise: nothing is loaded from anywhere.
        """
        if find_spec("vl_convert") is None:
            return ""
        import vl_convert

        ready = dressed({"$schema": SCHEMA, **self.spec}, dark=dark, width=width)
        svg = vl_convert.vegalite_to_svg(json.dumps(ready), allowed_base_urls=[])
        return "data:image/svg+xml;base64," + base64.b64encode(lettered(svg).encode()).decode()


@dataclass(frozen=True)
class ReportPage:
    """A page about what was done or measured; `warning` says whom it is for, and is empty if it is for all."""

    title: str
    sentences: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    grids: tuple[tuple[str, pa.Table], ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    warning: str = TRUE_VALUES

    def html(self) -> str:
        """The page.

        >>> "<b>" in ReportPage("A <b>title</b>").html()
        False
        """
        return TEMPLATES.get_template("report.html").render(
            title=plain(self.title),
            warning=self.warning,
            facts={plain(name): plain(fact) for name, fact in self.facts.items()},
            sentences=[plain(sentence) for sentence in self.sentences if sentence],
            charts=[_figure(chart) for chart in self.charts],
            grids=[_grid(title, table) for title, table in self.grids],
        )

    def write(self, path: str | Path) -> None:
        write_text(path, self.html())


def shown(value: float | None) -> str:
    """A number to four digits, or nothing; what is only rounding is 0.

    >>> shown(12.3456), shown(1234567.0), shown(None), shown(1e-12), shown(float("inf"))
    ('12.35', '1,234,567', '', '0', '∞')
    """
    if value is None:
        return ""
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace("inf", "∞")
    return f"{value if abs(value) > 1e-6 else 0:.4g}"


def _figure(chart: Chart) -> dict[str, Any]:
    """A chart in the ways that a reader may want to see it."""
    pictures = {"light": chart.image(), "dark": chart.image(dark=True)}
    if chart.grows:
        pictures |= {"light_narrow": chart.image(width=NARROW), "dark_narrow": chart.image(dark=True, width=NARROW)}
    return {"title": plain(chart.title), "alt": plain(chart.alt), "grows": chart.grows, **pictures}


def _grid(title: str, table: pa.Table) -> dict[str, Any]:
    """A table as texts, the first rows of it, numbers to the right."""
    kinds = ["" if pa.types.is_string(field.type) else "number" for field in table.schema]
    rows = [list(row.values()) for row in table.slice(0, ROWS).to_pylist()]
    return {
        "title": plain(title),
        "head": list(zip(map(plain, table.column_names), kinds, strict=True)),
        "rows": [list(zip(map(_text, row), kinds, strict=True)) for row in rows],
        "more": f"The first {ROWS} of {table.num_rows:,}." if table.num_rows > ROWS else "",
    }


def _text(value: object) -> str:
    if isinstance(value, float):
        return "[x]" if isnan(value) else shown(value)
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else plain(str(value))
