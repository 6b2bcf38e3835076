"""A request as a line of Python, to paste into a notebook; and read back without running anything."""

import ast
from collections.abc import Callable
from typing import Any

from confide.errors import Mistake
from confide.model.formula import write_formula
from confide.model.request import Correlation, Family, Measure, Regression, Request, Table
from confide.model.universe import Universe
from confide.spelling.json import ASKS, make_regression, make_table
from confide.spelling.where import read_where

__all__ = ["python_correlation", "python_regression", "python_table", "read_python", "write_python"]

_ARGUMENTS = {
    "table": ("rows", "columns", "where", "measure", "of"),
    "regression": ("where", "family"),
    "correlation": ("where",),
}


def write_python(request: Request, *, site: str, token: bool = False) -> str:
    """The call that gives the answer; with `token` it shows the one in CONFIDE_TOKEN."""
    first, named = _write_arguments(request)
    call = ", ".join([*map(repr, first), *(f"{name}={value!r}" for name, value in named.items())])
    shown = ", token=os.environ['CONFIDE_TOKEN']" if token else ""
    return f"confide.open({site!r}{shown})[{request.dataset!r}].{ASKS[type(request)]}({call})"


def _write_arguments(request: Request) -> tuple[list[Any], dict[str, Any]]:
    """What stands without a name, and what with one; what is at its default is left out."""
    where = _write_where(request.where)
    if isinstance(request, Regression):
        family = {} if request.family is Family.GAUSSIAN else {"family": str(request.family)}
        return [write_formula(request.formula)], where | family
    if isinstance(request, Correlation):
        return [list(request.variables)], where
    columns = {"columns": list(request.columns)} if request.columns else {}
    named = {"rows": list(request.rows)} | columns | where
    if request.measure != (Measure.COUNT,):
        named["measure"] = [str(measure) for measure in request.measure]
    return [], named | ({"of": request.of} if request.of is not None else {})


def _write_where(where: Universe) -> dict[str, Any]:
    pieces = [{c.variable: list(c.codes) for c in piece.conditions} for piece in where.pieces]
    return {"where": pieces[0] if len(pieces) == 1 else pieces} if pieces else {}


def read_python(text: str) -> Request:
    """The request in a line that `write_python` gave; the text is parsed, never run."""
    try:
        ask, first, named = _read_call(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise Mistake("Cannot read this as confide.open(...)['dataset'].table(...) with plain values.") from None
    return _READERS[ask](*first, **named)


def _read_call(call: ast.expr) -> tuple[str, list[Any], dict[str, Any]]:
    match call:
        case ast.Call(
            func=ast.Attribute(value=ast.Subscript(slice=place), attr=("table" | "regression" | "correlation") as ask),
            args=bare,
            keywords=words,
        ):
            first = [ast.literal_eval(value) for value in (place, *bare)]
            named = {str(word.arg): ast.literal_eval(word.value) for word in words}
            fitting = len(first) == (1 if ask == "table" else 2) and len(named) == len(words)
            if isinstance(first[0], str) and fitting and set(named) <= set(_ARGUMENTS[ask]):
                return ask, first, named
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


def python_regression(dataset: str, formula: Any, *, where: Any = None, family: Any = "gaussian") -> Regression:
    """A request from the arguments of `.regression()`."""
    if not isinstance(formula, str) or not isinstance(family, str):
        raise Mistake("The formula and the family must be texts.", suggestions=["Write it as in 'income ~ age + sex'."])
    return make_regression(dataset, formula=formula, where=read_where(where), family=family)


def python_correlation(dataset: str, variables: Any, *, where: Any = None) -> Correlation:
    """A request from the arguments of `.correlation()`."""
    return Correlation(dataset, _names(variables, "variables"), read_where(where))


_READERS: dict[str, Callable[..., Request]] = {
    "table": python_table,
    "regression": python_regression,
    "correlation": python_correlation,
}


def _names(value: Any, key: str) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise Mistake(f"{key!r} must be a name or a list of names.")
    return names
