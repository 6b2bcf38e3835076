"""A request as the address of its answer: `people/table?rows=sex&columns=region&where=age_group=20-29,30-39`.

>>> write_url(read_url("people/regression?formula=log(income)~age*sex&where=region=N"))
'people/regression?formula=log%28income%29%20~%20age%20%2B%20sex%20%2B%20age%3Asex&where=region=N'
"""

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, quote, unquote, urlencode

from confide.errors import Mistake, nearest
from confide.model.formula import write_formula
from confide.model.request import Correlation, Family, Measure, Regression, Request
from confide.model.universe import Universe
from confide.spelling.json import ASKS, make_regression, make_table
from confide.spelling.where import read_names, read_piece, write_names, write_piece

__all__ = ["PARAMETERS", "read_query", "read_url", "write_query", "write_url"]

PARAMETERS = {
    "table": ("rows", "columns", "where", "measure", "of"),
    "regression": ("formula", "where", "family"),
    "correlation": ("variables", "where"),
}
"""The parameters of each kind of request."""

_ONCE = ("of", "formula", "family")


def write_query(request: Request) -> list[tuple[str, str]]:
    """The parameters of a request; what stands at its default is left out."""
    where = [("where", write_piece(piece)) for piece in request.where.pieces]
    if isinstance(request, Regression):
        family = [] if request.family is Family.GAUSSIAN else [("family", str(request.family))]
        return [("formula", write_formula(request.formula)), *where, *family]
    if isinstance(request, Correlation):
        return [("variables", write_names(request.variables)), *where]
    query = [(key, write_names(names)) for key in ("rows", "columns") if (names := getattr(request, key))] + where
    if request.measure != (Measure.COUNT,):
        query.append(("measure", write_names(request.measure)))
    return [*query, ("of", request.of)] if request.of is not None else query


def read_query(dataset: str, query: Iterable[tuple[str, str]], *, ask: str = "table") -> Request:
    """The request that parameters describe. Lists of names may repeat or hold commas; `where` repeats for a union."""
    values = _values(query, PARAMETERS[ask])
    where = Universe(tuple(read_piece(text) for text in values.get("where", [])))
    if ask == "regression":
        formula, family = values.get("formula", [""])[0], values.get("family", ["gaussian"])[0]
        return make_regression(dataset, formula=formula, where=where, family=family)
    if ask == "correlation":
        return Correlation(dataset, _names(values, "variables"), where)
    return make_table(
        dataset,
        rows=_names(values, "rows"),
        columns=_names(values, "columns"),
        where=where,
        measure=_names({"measure": ["count"], **values}, "measure"),
        of=values["of"][0] if "of" in values else None,
    )


def _values(query: Iterable[tuple[str, str]], known: tuple[str, ...]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for key, value in query:
        if key not in known:
            raise Mistake(f"Unknown parameter {key[:60]!r}.", suggestions=nearest(key, known))
        if key in _ONCE and key in values:
            raise Mistake(f"{key!r} may stand only once.")
        values.setdefault(key, []).append(value)
    return values


def _names(values: Mapping[str, list[str]], key: str) -> tuple[str, ...]:
    return tuple(name for text in values.get(key, []) for name in read_names(text))


def write_url(request: Request, *, ending: str = "") -> str:
    """The address of the answer, relative to the site; the ending chooses a format, as in `.csv`."""
    return f"{quote(request.dataset, safe='')}/{ASKS[type(request)]}{ending}?" + urlencode(
        write_query(request), quote_via=quote, safe=",=;"
    )


def read_url(url: str) -> Request:
    """The request at an address that `write_url` gave."""
    path, _, query = url.partition("?")
    dataset, _, place = path.rpartition("/")
    ask = place.split(".")[0]
    if ask not in PARAMETERS:
        raise Mistake(f"{path[:80]!r} is not the address of a table, regression or correlation.")
    return read_query(unquote(dataset.rpartition("/")[2]), parse_qsl(query, keep_blank_values=True), ask=ask)
