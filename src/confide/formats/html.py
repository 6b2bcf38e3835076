"""A release as an HTML fragment: the same one in notebooks and on the site."""

from collections.abc import Iterator, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from confide.formats.about import adding, legend, plain, shown
from confide.formats.layout import Cross, Heading, cross, places
from confide.model.release import Release

__all__ = ["write_html"]

WIDEST, TALLEST = 1000, 65534
"""The largest colspan and rowspan that browsers honour."""

TEMPLATES = Environment(
    loader=PackageLoader("confide.formats"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def write_html(release: Release) -> str:
    """Give the table with its caption, legend and notes as one HTML element.

    Promise: every text is escaped; there is no script and no style in it.
    """
    table = cross(release)
    return TEMPLATES.get_template("table.html").render(
        title=plain(release.title),
        scope=plain(release.scope),
        table=table,
        head=[_pieces(level, WIDEST) for level in table.head],
        body=_body(table),
        legend=legend(release),
        notes=[*map(plain, release.notes), adding(release)],
        facts={name: plain(getattr(release, name)) for name in ("source", "policy", "receipt")},
    )


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
