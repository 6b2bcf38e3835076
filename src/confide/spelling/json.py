"""A request as a JSON object: what the ledger keeps and receipts address."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING
from typing import Any, TypeVar, overload

from confide.errors import Mistake, nearest
from confide.model.request import Request, Spelled, kinds, spelled_fields
from confide.model.universe import Piece, Universe

__all__ = ["listed", "make_request", "read_request", "spelled_out", "write_request"]

Q = TypeVar("Q", bound=Request[Any])


def write_request(request: Request[Any]) -> dict[str, Any]:
    """The request as plain values; equal requests give equal objects. Views and what is optional are there only where asked for."""
    where = [{c.variable: list(c.codes) for c in piece.conditions} for piece in request.where.pieces]
    spelled = spelled_fields(type(request))
    written = {
        name: _write(value, how)
        for name, (how, default) in spelled.items()
        if (value := getattr(request, name)) != default or not (how.view or how.optional or how.repeats)
    }
    order = [name for name in vars(request) if name in written or name == "where"]
    return {
        "ask": request.ask,
        "dataset": request.dataset,
        **{name: {**written, "where": where}[name] for name in order},
    }


def _write(value: Any, how: Spelled) -> Any:
    if how.many:
        return list(how.write(value))
    return None if value is None else how.write(value)


@overload
def read_request(raw: Any) -> Request[Any]: ...
@overload
def read_request(raw: Any, kind: type[Q]) -> Q: ...
def read_request(raw: Any, kind: type[Any] | None = None) -> Request[Any]:
    """The request that a JSON object describes; of that kind, if one is given."""
    known = kinds()
    ask = raw.get("ask") if isinstance(raw, Mapping) else None
    if not isinstance(ask, str) or ask not in known or (kind is not None and known[ask] is not kind):
        quoted = listed([f'"{name}"' for name in known])
        raise Mistake(f'A request is an object with "ask": {quoted}.')
    spelled = spelled_fields(known[ask])
    keys = ("ask", "dataset", "where", *spelled)
    for key in raw:
        if key not in keys:
            raise Mistake(f"Unknown key {str(key)[:60]!r} in the request.", suggestions=nearest(str(key), keys))
    given = {
        name: _plain(raw.get(name), name, how) for name, (how, _) in spelled.items() if _stands(raw, name, spelled)
    }
    return make_request(
        known[ask], _text(raw.get("dataset"), "dataset"), where=_where(raw.get("where", [])), given=given
    )


def make_request(kind: type[Q], dataset: str, *, where: Universe, given: Mapping[str, Any]) -> Q:
    """A request of plain values: a text or a tuple of names for each field that is given."""
    spelled = spelled_fields(kind)
    values = {name: spelled[name][0].read(value) for name, value in given.items()}
    return kind(dataset=dataset, where=where, **values)  # type: ignore[call-arg]  # every kind is a dataclass


def _stands(raw: Mapping[str, Any], name: str, spelled: Mapping[str, tuple[Spelled, Any]]) -> bool:
    """Whether a value is to be read: a field that may be left out may also be null."""
    default = spelled[name][1]
    return default is MISSING or (name in raw and not (raw[name] is None and default is None))


def _plain(value: Any, key: str, how: Spelled) -> Any:
    return _texts(value, key) if how.many else _text(spelled_out(value, how), key)


def spelled_out(value: Any, how: Spelled) -> Any:
    """A whole number as its digits, where a field is of such: 95 and "95" are the same interval."""
    return str(value) if how.digits and isinstance(value, int) and not isinstance(value, bool) else value


def _where(where: Any) -> Universe:
    if not isinstance(where, list) or not all(isinstance(piece, Mapping) for piece in where):
        raise Mistake('"where" must be a list of pieces, each an object of variables with lists of codes.')
    pieces = [Piece.of({name: _texts(codes, "a condition") for name, codes in piece.items()}) for piece in where]
    return Universe(tuple(pieces))


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise Mistake(f'"{key}" must be a text.')
    return value


def _texts(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Mistake(f"{key} must be a list of texts.")
    return tuple(value)


def listed(words: Iterable[str], *, before_last: str = "or") -> str:
    """Words in a sentence: a, b or c."""
    *most, last = words
    return f"{', '.join(most)} {before_last} {last}" if most else last
