r"""Universes as text and as plain Python values.

A piece is written `variable=code,code;variable=code`; a union is several pieces. Inside a name or code, a backslash stands
before `,`, `;`, `=` and `\`, and before a space that begins or ends it; other spaces around names and codes do not count.

>>> write_piece(Piece.of({"age_group": ["20-29", "30-39"], "town": ["Fort Worth, TX"]}))
'age_group=20-29,30-39;town=Fort Worth\\, TX'
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confide.errors import Mistake
from confide.model.universe import EVERYONE, Condition, Piece, Universe

__all__ = [
    "read_conditions",
    "read_names",
    "read_piece",
    "read_where",
    "write_conditions",
    "write_names",
    "write_piece",
]

_MARKS = re.compile(r"([\\,;=]|^\s|\s\Z)")


def write_names(names: Iterable[str]) -> str:
    """Names in one text, with commas between them."""
    return ",".join(_escape(name) for name in names)


def read_names(text: str) -> tuple[str, ...]:
    """The names in a text; spaces around them do not count."""
    return tuple(name for field in _fields(text, ",") if (name := _plain(field)))


def write_piece(piece: Piece) -> str:
    """The text of a piece."""
    return write_conditions((condition.variable, condition.codes) for condition in piece.conditions)


def write_conditions(conditions: Iterable[tuple[str, Iterable[str]]]) -> str:
    """The text of conditions, complete or not: what a form holds while one fills it in.

    >>> write_conditions([("sex", ["f"]), ("town", [])])
    'sex=f;town='
    """
    return ";".join(f"{_escape(variable)}={write_names(codes)}" for variable, codes in conditions)


def read_piece(text: str) -> Piece:
    """The piece a text describes."""
    return Piece(tuple(Condition(variable, codes) for variable, codes in read_conditions(text)))


def read_conditions(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The conditions in a text, complete or not: variables, each with its codes."""
    conditions = []
    for part in _fields(text, ";"):
        name, equals, codes = _partition(part)
        if not equals or not _plain(name):
            raise Mistake(f"Cannot read the condition {part[:80]!r}.", suggestions=["Write variable=code,code."])
        conditions.append((_plain(name), read_names(codes)))
    return conditions


def read_where(where: Any) -> Universe:
    """The universe from what a person writes: nothing, a dict, a text, a list of either, or a Universe."""
    if where is None:
        return EVERYONE
    if isinstance(where, Universe):
        return where
    if isinstance(where, str | Mapping):
        return Universe((_piece(where),))
    if isinstance(where, Sequence):
        return Universe(tuple(_piece(piece) for piece in where))
    raise Mistake("'where' must be a dict, a text such as 'sex=female', or a list of these.")


def _piece(piece: Any) -> Piece:
    if isinstance(piece, str):
        return read_piece(piece)
    if not isinstance(piece, Mapping):
        raise Mistake("A piece of 'where' must be a dict or a text such as 'sex=female'.")
    return Piece.of({_name(name): _codes(name, codes) for name, codes in piece.items()})


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise Mistake("The keys of a piece of 'where' must be names of variables.")
    return name


def _codes(name: Any, codes: Any) -> list[str]:
    if isinstance(codes, str | int):
        return [str(codes)]
    if not isinstance(codes, Iterable) or isinstance(codes, bytes | Mapping):
        raise Mistake(f"The codes of {name!r} must be a text or a list of texts.")
    listed = list(codes)
    if not all(isinstance(code, str | int) for code in listed):
        raise Mistake(f"The codes of {name!r} must be texts.")
    return [str(code) for code in listed]


def _escape(text: str) -> str:
    return _MARKS.sub(r"\\\1", text)


def _fields(text: str, mark: str) -> list[str]:
    """The parts of a text between marks that no backslash escapes."""
    fields, start, at = [], 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == mark:
            fields.append(text[start:at])
            start = at + 1
        at += 1
    return [*fields, text[start:]]


def _partition(text: str) -> tuple[str, str, str]:
    first = _fields(text, "=")[0]
    return first, text[len(first) : len(first) + 1], text[len(first) + 1 :]


def _plain(text: str) -> str:
    """The text without the backslashes, and without spaces around it that have none."""
    bare = text.strip()
    escaped = (len(bare) - len(bare.rstrip("\\"))) % 2
    start = len(text) - len(text.lstrip())
    text = text[start : start + len(bare) + escaped]
    return re.sub(r"\\(.?)", r"\1", text, flags=re.DOTALL)
