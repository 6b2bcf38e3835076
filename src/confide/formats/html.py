"""A release, of a table or of a model, as an HTML fragment: the same one in notebooks and on the site."""

from collections.abc import Iterator, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from confide.formats.about import adding, legend, model_legend, plain, shown, shown_value, subject
from confide.formats.layout import Cross, Heading, cross, places, without_zeros
from confide.model.model_release import Grid, ModelRelease, Value
from confide.model.release import Release

__all__ = ["write_html", "write_model_html"]

WIDEST, TALLEST = 1000, 65534
"""The largest colspan and rowspan that browsers honour."""

TEMPLATES = Environment(
    loader=PackageLoader("confide.formats"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def write_html(release: Release, *, zeros: bool = True) -> str:
    """Give the table with its caption, legend and notes as one HTML element; without rows and columns of zeros if asked.

    Promise: every text is escaped; there is no script and no style in it.
    """
    table = cross(release) if zeros else without_zeros(cross(release))
    return TEMPLATES.get_template("table.html").render(
        **_frame(release),
        table=table,
        head=[_pieces(level, WIDEST) for level in table.head],
        body=_body(table),
        legend=legend(release),
        notes=[*map(plain, release.notes), adding(release)],
    )


def write_model_html(release: ModelRelease[Any]) -> str:
    """Give the grids of a model with their caption, legend and notes as one HTML element.

    Promise: every text is escaped; there is no script and no style in it.
    """
    return TEMPLATES.get_template("model.html").render(
        **_frame(release),
        subject=subject(release),
        grids=[_grid(grid) for grid in release.grids.values()],
        legend=model_legend(release),
        notes=map(plain, release.notes),
    )


def _frame(release: Release | ModelRelease[Any]) -> dict[str, Any]:
    facts = {name: plain(getattr(release, name)) for name in ("source", "policy", "receipt")}
    return {"title": plain(release.title), "scope": plain(release.scope), "facts": facts}


def _grid(grid: Grid) -> dict[str, Any]:
    """A grid as texts, with what each cell is: the first of a row heads it, texts and numbers stand apart."""
    rows = [[(shown_value(value), _kind(value)) for value in row] for row in grid.rows]
    kinds = [kind for _, kind in rows[0]] if rows else [""] * len(grid.columns)
    return {"title": plain(grid.title), "head": list(zip(map(plain, grid.columns), kinds, strict=True)), "rows": rows}


def _kind(value: Value) -> str:
    return "" if isinstance(value, str) else "number mark" if value is None else "number"


def _body(table: Cross) -> Iterator[dict[str, Any]]:
    levels = [places(_pieces(level, TALLEST)) for level in table.side]
    for row, marks in enumerate(table.marks.tolist()):
        texts = map(shown, table.values[row].tolist(), marks, table.decimals)
        yield {
            "labels": [level[row] for level in levels if row in level],
            "cells": list(zip(texts, marks, table.totals[row].tolist(), strict=True)),
        }


def _pieces(level: Sequence[Heading], limit: int) -> list[Heading]:
    """Repeat a heading that spans more than a browser can."""
    return [
        Heading(heading.text, min(limit, heading.span - start), heading.total)
        for heading in level
        for start in range(0, heading.span, limit)
    ]
