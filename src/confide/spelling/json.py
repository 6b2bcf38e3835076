"""A request as a JSON object: what the ledger keeps and receipts address."""

from collections.abc import Mapping
from typing import Any

from confide.errors import Mistake, nearest
from confide.model.request import Measure, Table
from confide.model.universe import Piece, Universe

__all__ = ["make_table", "read_request", "write_request"]

_KEYS = ("ask", "dataset", "rows", "columns", "where", "measure", "of")


def write_request(request: Table) -> dict[str, Any]:
    """The request as plain values; equal requests give equal objects."""
    return {
        "ask": "table",
        "dataset": request.dataset,
        "rows": list(request.rows),
        "columns": list(request.columns),
        "where": [{c.variable: list(c.codes) for c in piece.conditions} for piece in request.where.pieces],
        "measure": [str(measure) for measure in request.measure],
        "of": request.of,
    }


def read_request(raw: Any) -> Table:
    """The request that a JSON object describes."""
    if not isinstance(raw, Mapping) or raw.get("ask") != "table":
        raise Mistake('A request is an object with "ask": "table".')
    for key in raw:
        if key not in _KEYS:
            raise Mistake(f"Unknown key {str(key)[:60]!r} in the request.", suggestions=nearest(str(key), _KEYS))
    where = raw.get("where", [])
    if not isinstance(where, list) or not all(isinstance(piece, Mapping) for piece in where):
        raise Mistake('"where" must be a list of pieces, each an object of variables with lists of codes.')
    pieces = [Piece.of({name: _texts(codes, "a condition") for name, codes in piece.items()}) for piece in where]
    return make_table(
        _text(raw.get("dataset"), "dataset"),
        rows=_texts(raw.get("rows", []), "rows"),
        columns=_texts(raw.get("columns", []), "columns"),
        where=Universe(tuple(pieces)),
        measure=_texts(raw.get("measure", ["count"]), "measure"),
        of=None if raw.get("of") is None else _text(raw["of"], "of"),
    )


def make_table(
    dataset: str,
    *,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    where: Universe,
    measure: tuple[str, ...],
    of: str | None,
) -> Table:
    """A table request from texts; an unknown measure is a Mistake."""
    known = [str(m) for m in Measure]
    for name in measure:
        if name not in known:
            hint = nearest(name, known) or ["Measures: " + ", ".join(known) + "."]
            raise Mistake(f"There is no measure {name[:60]!r}.", suggestions=hint)
    return Table(dataset, rows, columns, where, tuple(Measure(name) for name in measure), of)


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise Mistake(f'"{key}" must be a text.')
    return value


def _texts(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Mistake(f"{key} must be a list of texts.")
    return tuple(value)
