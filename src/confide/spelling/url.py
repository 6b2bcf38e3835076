"""A request as the address of its answer: `people/table?rows=sex&columns=region&where=age_group=20-29,30-39`.

>>> write_url(read_url("people/regression?formula=log(income)~age*sex&where=region=N"))
'people/regression?formula=log%28income%29%20~%20age%20%2B%20sex%20%2B%20age%3Asex&where=region=N'
"""

from collections.abc import Iterable
from dataclasses import MISSING
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlencode

from confide.errors import Mistake, nearest
from confide.model.request import Request, kinds, spelled_fields
from confide.model.universe import Universe
from confide.spelling.json import listed, make_request
from confide.spelling.where import read_names, read_piece, write_names, write_piece

__all__ = ["parameters", "read_query", "read_url", "write_query", "write_url"]

Q = TypeVar("Q", bound=Request[Any])


def parameters(kind: type[Request[Any]]) -> tuple[str, ...]:
    """The parameters of a kind of request."""
    return (*spelled_fields(kind), "where")


def write_query(request: Request[Any]) -> list[tuple[str, str]]:
    """The parameters of a request; what stands at its default is left out."""
    spelled = spelled_fields(type(request))
    query: list[tuple[str, str]] = []
    for name, value in vars(request).items():
        if name == "where":
            query += [("where", write_piece(piece)) for piece in request.where.pieces]
        elif name in spelled and value != spelled[name][1]:
            how = spelled[name][0]
            if how.repeats:
                query += [(name, text) for text in how.write(value)]
            else:
                query.append((name, write_names(how.write(value)) if how.many else how.write(value)))
    return query


def read_query(dataset: str, query: Iterable[tuple[str, str]], kind: type[Q]) -> Q:
    """The request that parameters describe. Lists of names may repeat or hold commas; `where` repeats for a union."""
    values = _values(query, kind)
    where = Universe(tuple(read_piece(text) for text in values.pop("where", [])))
    spelled = spelled_fields(kind)
    given: dict[str, Any] = {}
    for name, (how, default) in spelled.items():
        if how.repeats and name in values:
            given[name] = tuple(text for text in values[name] if text.strip())
        elif how.many and name in values:
            given[name] = tuple(one for text in values[name] for one in read_names(text))
        elif name in values or default is MISSING:
            given[name] = values.get(name, [""])[0]
    return make_request(kind, dataset, where=where, given=given)


def _values(query: Iterable[tuple[str, str]], kind: type[Request[Any]]) -> dict[str, list[str]]:
    known, spelled = parameters(kind), spelled_fields(kind)
    values: dict[str, list[str]] = {}
    for key, value in query:
        if key not in known:
            raise Mistake(f"Unknown parameter {key[:60]!r}.", suggestions=nearest(key, known))
        if key in values and key in spelled and not spelled[key][0].many:
            raise Mistake(f"{key!r} may stand only once.")
        values.setdefault(key, []).append(value)
    return values


def write_url(request: Request[Any], *, ending: str = "") -> str:
    """The address of the answer, relative to the site; the ending chooses a format, as in `.csv`."""
    return f"{quote(request.dataset, safe='')}/{request.ask}{ending}?" + urlencode(
        write_query(request), quote_via=quote, safe=",=;"
    )


def read_url(url: str) -> Request[Any]:
    """The request at an address that `write_url` gave."""
    path, _, query = url.partition("?")
    dataset, _, place = path.rpartition("/")
    known = kinds()
    ask = place.split(".")[0]
    if ask not in known:
        raise Mistake(f"{path[:80]!r} is not the address of a {listed(known)}.")
    return read_query(unquote(dataset.rpartition("/")[2]), parse_qsl(query, keep_blank_values=True), known[ask])
