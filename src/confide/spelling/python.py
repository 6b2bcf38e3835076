"""A request as a line of Python, to paste into a notebook; and read back without running anything."""

import ast
from dataclasses import MISSING
from typing import Any, TypeVar

from confide.errors import Mistake
from confide.model.request import Request, Spelled, kinds, spelled_fields
from confide.spelling.json import make_request, spelled_out
from confide.spelling.where import read_where

__all__ = ["read_arguments", "read_python", "write_python"]

Q = TypeVar("Q", bound=Request[Any])


def write_python(request: Request[Any], *, site: str, token: bool = False) -> str:
    """The call that gives the answer; with `token` it shows the one in CONFIDE_TOKEN."""
    first, named = _write_arguments(request)
    call = ", ".join([*map(repr, first), *(f"{name}={value!r}" for name, value in named.items())])
    shown = ", token=os.environ['CONFIDE_TOKEN']" if token else ""
    return f"confide.open({site!r}{shown})[{request.dataset!r}].{request.ask}({call})"


def _write_arguments(request: Request[Any]) -> tuple[list[Any], dict[str, Any]]:
    """What stands without a name, and what with one; what is at its default is left out."""
    spelled = spelled_fields(type(request))
    first: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in vars(request).items():
        if name == "where" and value:
            pieces = [{c.variable: list(c.codes) for c in piece.conditions} for piece in value.pieces]
            named["where"] = pieces[0] if len(pieces) == 1 else pieces
        elif name in spelled and value != spelled[name][1]:
            how = spelled[name][0]
            plain = list(how.write(value)) if how.many else how.write(value)
            if how.bare:
                first.append(plain)
            else:
                named[name] = plain
    return first, named


def read_python(text: str) -> Request[Any]:
    """The request in a line that `write_python` gave; the text is parsed, never run."""
    try:
        kind, dataset, named = _read_call(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise Mistake("Cannot read this as confide.open(...)['dataset'].table(...) with plain values.") from None
    return read_arguments(kind, dataset, named)


def _read_call(call: ast.expr) -> tuple[type[Request[Any]], str, dict[str, Any]]:
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Subscript(slice=place), attr=ask), args=bare, keywords=words):
            kind = kinds().get(ask)
            dataset = ast.literal_eval(place)
            if kind is None or not isinstance(dataset, str):
                raise ValueError
            spelled = spelled_fields(kind)
            first = [name for name, (how, _) in spelled.items() if how.bare]
            values = [ast.literal_eval(value) for value in bare]
            named = {str(word.arg): ast.literal_eval(word.value) for word in words}
            known = {*spelled, "where"} - set(first)
            if len(values) == len(first) and len(named) == len(words) and set(named) <= known:
                return kind, dataset, dict(zip(first, values, strict=True)) | named
    raise ValueError


def read_arguments(kind: type[Q], dataset: str, given: dict[str, Any]) -> Q:
    """A request from the arguments of a call: names may be one text or several, `where` a dict, a text or a list."""
    spelled = spelled_fields(kind)
    where = read_where(given.get("where"))
    plain = {
        name: _plain(given.get(name), name, how)
        for name, (how, default) in spelled.items()
        if default is MISSING or (name in given and not (given[name] is None and default is None))
    }
    return make_request(kind, dataset, where=where, given=plain)


def _plain(value: Any, key: str, how: Spelled) -> Any:
    if not how.many:
        text = spelled_out(value, how)
        if not isinstance(text, str):
            raise Mistake(f"{key!r} must be a text.", suggestions=[how.help])
        return text
    given = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else None
    if given is None or not all(isinstance(name, str) for name in given):
        raise Mistake(f"{key!r} must be a name or a list of names.")
    return given
