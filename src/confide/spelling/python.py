"""A request as a line of Python, to paste into a notebook; and read back without running anything."""

import ast
from typing import Any

from confide.errors import Mistake
from confide.model.request import Measure, Table
from confide.spelling.json import make_table
from confide.spelling.where import read_where

__all__ = ["python_table", "read_python", "write_python"]

_ARGUMENTS = ("rows", "columns", "where", "measure", "of")


def write_python(request: Table, *, site: str) -> str:
    """The call that gives the answer."""
    pieces = [{c.variable: list(c.codes) for c in piece.conditions} for piece in request.where.pieces]
    arguments: dict[str, Any] = {"rows": list(request.rows)}
    if request.columns:
        arguments["columns"] = list(request.columns)
    if pieces:
        arguments["where"] = pieces[0] if len(pieces) == 1 else pieces
    if request.measure != (Measure.COUNT,):
        arguments["measure"] = [str(measure) for measure in request.measure]
    if request.of is not None:
        arguments["of"] = request.of
    call = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"confide.open({site!r})[{request.dataset!r}].table({call})"


def read_python(text: str) -> Table:
    """The request in a line that `write_python` gave; the text is parsed, never run."""
    try:
        dataset, given = _arguments(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise Mistake("Cannot read this as confide.open(...)['dataset'].table(...) with plain values.") from None
    return python_table(dataset, **given)


def _arguments(call: ast.expr) -> tuple[str, dict[str, Any]]:
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Subscript(slice=place), attr="table"), args=[], keywords=words):
            dataset = ast.literal_eval(place)
            given = {str(word.arg): ast.literal_eval(word.value) for word in words}
            if isinstance(dataset, str) and len(given) == len(words) and set(given) <= set(_ARGUMENTS):
                return dataset, given
    raise ValueError


def python_table(
    dataset: str, *, rows: Any = (), columns: Any = (), where: Any = None, measure: Any = "count", of: Any = None
) -> Table:
    """A request from the arguments of `.table()`: names may be one text or several, `where` a dict, a text or a list."""
    if of is not None and not isinstance(of, str):
        raise Mistake("'of' must be the name of a numeric variable.")
    return make_table(
        dataset,
        rows=_names(rows, "rows"),
        columns=_names(columns, "columns"),
        where=read_where(where),
        measure=_names(measure, "measure"),
        of=of,
    )


def _names(value: Any, key: str) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise Mistake(f"{key!r} must be a name or a list of names.")
    return names
