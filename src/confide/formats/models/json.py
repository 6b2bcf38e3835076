"""A release of a model as a JSON object, and back without loss."""

from collections.abc import Mapping
from typing import Any

from confide.errors import Fault, Mistake
from confide.formats.reading import finite, must, text
from confide.model.model_release import Grid, ModelRelease, Value
from confide.spelling.json import read_request, write_request

__all__ = ["CLASS", "read_model", "write_model"]

CLASS = "confide-model"
FACTS = ("title", "scope", "policy", "receipt", "source")


def write_model(release: ModelRelease[Any]) -> dict[str, Any]:
    """Give the release as plain values: the request, the grids by name, and what says how they were protected.

    Promise: a number that does not apply is null; `read_model(write_model(r)) == r`.
    """
    charts = {"charts": dict(release.charts)} if release.charts else {}
    return {
        "class": CLASS,
        **{fact: getattr(release, fact) for fact in FACTS},
        "request": write_request(release.request),
        "grids": {name: _write_grid(grid) for name, grid in release.grids.items()},
        "notes": list(release.notes),
        **charts,
    }


def _write_grid(grid: Grid) -> dict[str, Any]:
    return {"title": grid.title, "columns": list(grid.columns), "rows": [list(row) for row in grid.rows]}


def read_model(document: Mapping[str, Any]) -> ModelRelease[Any]:
    """Give the release that `write_model` wrote; anything else is a `Mistake`."""
    try:
        return _read(document)
    except (Fault, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise Mistake(
            "This is not a model written by Confide, or it was damaged on the way.",
            suggestions=["Ask for it again."],
        ) from None


def _read(document: Mapping[str, Any]) -> ModelRelease[Any]:
    must(document["class"] == CLASS)
    request = read_request(document["request"])
    must(not request.by)
    return ModelRelease(
        request=request,
        grids={text(name): _read_grid(name, grid) for name, grid in document["grids"].items()},
        notes=tuple(text(note) for note in document["notes"]),
        charts={text(name): {**chart} for name, chart in document.get("charts", {}).items()},
        **{fact: text(document[fact]) for fact in FACTS},
    )


def _read_grid(name: str, written: Mapping[str, Any]) -> Grid:
    columns = tuple(text(column) for column in written["columns"])
    rows = tuple(tuple(_read_value(value) for value in row) for row in written["rows"])
    must(len(columns) > 0 and all(len(row) == len(columns) for row in rows))
    return Grid(name=name, title=text(written["title"]), columns=columns, rows=rows)


def _read_value(written: object) -> Value:
    return written if written is None or isinstance(written, str) else finite(written)
