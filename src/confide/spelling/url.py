"""A request as the address of its answer: `people/table?rows=sex&columns=region&where=age_group=20-29,30-39`."""

from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, unquote, urlencode

from confide.errors import Mistake, nearest
from confide.model.request import Measure, Table
from confide.model.universe import Universe
from confide.spelling.json import make_table
from confide.spelling.where import read_names, read_piece, write_names, write_piece

__all__ = ["PARAMETERS", "read_query", "read_url", "write_query", "write_url"]

PARAMETERS = ("rows", "columns", "where", "measure", "of")


def write_query(request: Table) -> list[tuple[str, str]]:
    """The parameters of a request; what stands at its default is left out."""
    query = [(key, write_names(names)) for key in ("rows", "columns") if (names := getattr(request, key))]
    query += [("where", write_piece(piece)) for piece in request.where.pieces]
    if request.measure != (Measure.COUNT,):
        query.append(("measure", write_names(request.measure)))
    return [*query, ("of", request.of)] if request.of is not None else query


def read_query(dataset: str, query: Iterable[tuple[str, str]]) -> Table:
    """The request that parameters describe. `rows`, `columns`, `measure` may repeat or hold commas; `where` repeats."""
    values: dict[str, list[str]] = {}
    for key, value in query:
        if key not in PARAMETERS:
            raise Mistake(f"Unknown parameter {key[:60]!r}.", suggestions=nearest(key, PARAMETERS))
        values.setdefault(key, []).append(value)
    if len(values.get("of", [])) > 1:
        raise Mistake("'of' may stand only once.")
    names = {key: tuple(n for text in values.get(key, []) for n in read_names(text)) for key in PARAMETERS[:2]}
    return make_table(
        dataset,
        rows=names["rows"],
        columns=names["columns"],
        where=Universe(tuple(read_piece(text) for text in values.get("where", []))),
        measure=tuple(n for text in values.get("measure", ["count"]) for n in read_names(text)),
        of=values["of"][0] if "of" in values else None,
    )


def write_url(request: Table, *, ending: str = "") -> str:
    """The address of the answer, relative to the site; the ending chooses a format, as in `.csv`."""
    return f"{quote(request.dataset, safe='')}/table{ending}?" + urlencode(
        write_query(request), quote_via=quote, safe=",=;"
    )


def read_url(url: str) -> Table:
    """The request at an address that `write_url` gave."""
    path, _, query = url.partition("?")
    dataset, _, ask = path.rpartition("/")
    if ask.split(".")[0] != "table":
        raise Mistake(f"{path[:80]!r} is not the address of a table.")
    return read_query(unquote(dataset.rpartition("/")[2]), parse_qsl(query, keep_blank_values=True))
