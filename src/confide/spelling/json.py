"""A request as a JSON object: what the ledger keeps and receipts address."""

from collections.abc import Callable, Mapping
from typing import Any

from confide.errors import Mistake, nearest
from confide.model.formula import read_formula, write_formula
from confide.model.request import Correlation, Family, Measure, Regression, Request, Table
from confide.model.universe import Piece, Universe

__all__ = ["ASKS", "make_regression", "make_table", "read_request", "write_request"]

ASKS: dict[type[Request], str] = {Table: "table", Regression: "regression", Correlation: "correlation"}
"""What each kind of request is called, in every spelling."""

_KEYS = {
    "table": ("ask", "dataset", "rows", "columns", "where", "measure", "of"),
    "regression": ("ask", "dataset", "formula", "where", "family"),
    "correlation": ("ask", "dataset", "variables", "where"),
}


def write_request(request: Request) -> dict[str, Any]:
    """The request as plain values; equal requests give equal objects."""
    head = {"ask": ASKS[type(request)], "dataset": request.dataset}
    where = [{c.variable: list(c.codes) for c in piece.conditions} for piece in request.where.pieces]
    if isinstance(request, Regression):
        return {**head, "formula": write_formula(request.formula), "where": where, "family": str(request.family)}
    if isinstance(request, Correlation):
        return {**head, "variables": list(request.variables), "where": where}
    return {
        **head,
        "rows": list(request.rows),
        "columns": list(request.columns),
        "where": where,
        "measure": [str(measure) for measure in request.measure],
        "of": request.of,
    }


def read_request(raw: Any) -> Request:
    """The request that a JSON object describes."""
    ask = raw.get("ask") if isinstance(raw, Mapping) else None
    if not isinstance(ask, str) or ask not in _KEYS:
        raise Mistake('A request is an object with "ask": "table", "regression" or "correlation".')
    for key in raw:
        if key not in _KEYS[ask]:
            raise Mistake(f"Unknown key {str(key)[:60]!r} in the request.", suggestions=nearest(str(key), _KEYS[ask]))
    return _READERS[ask](raw, _text(raw.get("dataset"), "dataset"), _read_where(raw.get("where", [])))


def _read_where(where: Any) -> Universe:
    if not isinstance(where, list) or not all(isinstance(piece, Mapping) for piece in where):
        raise Mistake('"where" must be a list of pieces, each an object of variables with lists of codes.')
    pieces = [Piece.of({name: _texts(codes, "a condition") for name, codes in piece.items()}) for piece in where]
    return Universe(tuple(pieces))


def _read_table(raw: Mapping[str, Any], dataset: str, where: Universe) -> Table:
    return make_table(
        dataset,
        rows=_texts(raw.get("rows", []), "rows"),
        columns=_texts(raw.get("columns", []), "columns"),
        where=where,
        measure=_texts(raw.get("measure", ["count"]), "measure"),
        of=None if raw.get("of") is None else _text(raw["of"], "of"),
    )


def _read_regression(raw: Mapping[str, Any], dataset: str, where: Universe) -> Regression:
    formula, family = _text(raw.get("formula"), "formula"), _text(raw.get("family", "gaussian"), "family")
    return make_regression(dataset, formula=formula, where=where, family=family)


def _read_correlation(raw: Mapping[str, Any], dataset: str, where: Universe) -> Correlation:
    return Correlation(dataset, _texts(raw.get("variables"), "variables"), where)


_READERS: dict[str, Callable[[Mapping[str, Any], str, Universe], Request]] = {
    "table": _read_table,
    "regression": _read_regression,
    "correlation": _read_correlation,
}


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


def make_regression(dataset: str, *, formula: str, where: Universe, family: str) -> Regression:
    """A regression request from texts; an unknown family is a Mistake."""
    known = [str(f) for f in Family]
    if family not in known:
        hint = nearest(family, known) or ["Families: " + ", ".join(known) + "."]
        raise Mistake(f"There is no family {family[:60]!r}.", suggestions=hint)
    return Regression(dataset, read_formula(formula), where, Family(family))


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise Mistake(f'"{key}" must be a text.')
    return value


def _texts(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Mistake(f"{key} must be a list of texts.")
    return tuple(value)
