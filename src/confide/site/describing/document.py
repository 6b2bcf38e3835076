"""A TOML text that is changed in places. Comments, order and layout stay, and what cannot be changed so is left alone."""

import tomllib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from confide.errors import Mistake
from confide.model.toml import parse_toml, toml_key, toml_value

__all__ = ["Table", "TomlDocument"]

Table = tuple[str, ...]
"""The keys that lead to a section, as in `variables`, `sex`, `codes`."""


@dataclass
class _Piece:
    """Some lines: the head of a section, a key with its value, or what stands between them (`key` is None)."""

    table: Table
    lines: list[str]
    key: str | None = None
    head: bool = False


@dataclass
class TomlDocument:
    """A TOML text and what it says, changed together.

    Promise: `text` says what `said` does and nothing else, or is a Mistake; lines that say nothing new are as they were.

    >>> document = TomlDocument.of('# ours\\n[a]\\nrole = "key"   # why\\n', what="dataset.toml")
    >>> document.set(("a",), "role", "other")
    >>> document.set(("a",), "label", "A")
    >>> print(document.text())
    # ours
    [a]
    role = "other"   # why
    label = "A"
    <BLANKLINE>
    """

    said: dict[str, Any]
    what: str
    _pieces: list[_Piece] = field(repr=False)
    _end: str = field(repr=False)

    @classmethod
    def of(cls, text: str, *, what: str) -> "TomlDocument":
        """The document of a text; `what` names it in a Mistake."""
        said = parse_toml(text, what=what)
        return cls(said, what, _pieces(text.replace("\r\n", "\n").split("\n")), "\r\n" if "\r\n" in text else "\n")

    def copy(self) -> "TomlDocument":
        return deepcopy(self)

    def text(self) -> str:
        """The text; a Mistake if it is laid out so that it does not say what was asked for."""
        found = "\n".join(line for piece in self._pieces for line in piece.lines)
        try:
            sound = _ordered(tomllib.loads(found)) == _ordered(self.said)
        except tomllib.TOMLDecodeError:
            sound = False
        if not sound:
            raise Mistake(
                f"{self.what} is laid out in a way that is not edited here.",
                suggestions=["Give each variable a [variables.NAME] section, or change the file by hand."],
            )
        return found.replace("\n", self._end)

    def get(self, table: Table) -> dict[str, Any]:
        """What a section says; nothing if there is none."""
        found: Any = self.said
        for key in table:
            found = found.get(key, {}) if isinstance(found, dict) else {}
        return found if isinstance(found, dict) else {}

    def set(self, table: Table, key: str, value: Any, *, comment: str | None = None) -> None:
        """Let a key of a section have this value. Its comment stays, unless another is given."""
        self._section(table)[key] = value
        if not self._has(table):  # an inline table of the section above
            self._rewrite(table)
            return
        line = f"{toml_key(key)} = {toml_value(value)}"
        piece = self._find(table, key)
        if piece is None:
            at = self._last(table)
            self._pieces.insert(at, _Piece(table, [line + (f"   {comment}" if comment else "")], key))
            return
        indent = piece.lines[0][: len(piece.lines[0]) - len(piece.lines[0].lstrip())]
        kept = comment if comment is not None else _comment(piece.lines)
        piece.lines = [f"{indent}{line}" + (f"   {kept}" if kept else "")]

    def remove(self, table: Table, key: str) -> None:
        """Take a key out of a section, with the comment on its line."""
        self._section(table).pop(key, None)
        if not self._has(table):
            self._rewrite(table)
            return
        self._pieces = [piece for piece in self._pieces if piece.table != table or piece.key != key]

    def add(self, table: Table, values: Mapping[str, Any], *, after: Table) -> None:
        """A new section, with a section of its own for each table among its values, after those that begin with `after`."""
        within = {key: value for key, value in values.items() if isinstance(value, dict)}
        flat = {key: value for key, value in values.items() if key not in within}
        lines = [f"[{'.'.join(map(toml_key, table))}]"]
        pieces = [_Piece(table, ["", *lines], head=True), *(_line(table, key, value) for key, value in flat.items())]
        for name, inside in within.items():
            deeper = (*table, name)
            pieces.append(_Piece(deeper, [f"[{'.'.join(map(toml_key, deeper))}]"], head=True))
            pieces += [_line(deeper, key, value) for key, value in inside.items()]
        at = max((self._last(p.table) for p in self._pieces if p.table[: len(after)] == after), default=0)
        self._pieces[at or len(self._pieces) : at or len(self._pieces)] = pieces
        self._section(table[:-1])[table[-1]] = dict(values)

    def comment(self, table: Table, key: str) -> str:
        """The comment on the line of a key, with its mark; nothing if it has none."""
        piece = self._find(table, key)
        return _comment(piece.lines) if piece else ""

    def _section(self, table: Table) -> dict[str, Any]:
        found = self.said
        for key in table:
            found = found.setdefault(key, {})
        return found

    def _has(self, table: Table) -> bool:
        return not table or any(piece.head and piece.table == table for piece in self._pieces)

    def _rewrite(self, table: Table) -> None:
        """Write an inline table anew in the section above it; where that has none either, `text` will say so."""
        above, key = table[:-1], table[-1]
        if self._has(above):
            self.set(above, key, self._section(table))

    def _find(self, table: Table, key: str) -> _Piece | None:
        return next((piece for piece in self._pieces if piece.table == table and piece.key == key), None)

    def _last(self, table: Table) -> int:
        """Where the next key of a section goes: behind its last one, or behind its head."""
        places = [i for i, p in enumerate(self._pieces) if p.table == table and (p.head or p.key is not None)]
        return places[-1] + 1 if places else 0


def _line(table: Table, key: str, value: Any) -> _Piece:
    return _Piece(table, [f"{toml_key(key)} = {toml_value(value)}"], key)


def _pieces(lines: list[str]) -> list[_Piece]:
    """The pieces of a text that is TOML."""
    pieces: list[_Piece] = []
    table: Table = ()
    first = 0
    while first < len(lines):
        last, line = first + 1, lines[first].strip()
        if not line or line.startswith("#"):
            pieces.append(_Piece(table, [lines[first]]))
        elif line.startswith("["):
            table = _path(_parsed([line]) or {})
            pieces.append(_Piece(table, [lines[first]], head=True))
        else:
            while last < len(lines) and (_open(lines[last - 1]) or _parsed(lines[first:last]) is None):
                last += 1
            key = next(iter(_parsed(lines[first:last]) or {}), None)
            pieces.append(_Piece(table, lines[first:last], key))
        first = last
    return pieces


def _open(line: str) -> bool:
    """Whether more must follow a line, told without reading all before it: lists of thousands of lines are read once."""
    return "#" not in line and line.rstrip().endswith((",", "[", "{"))


def _parsed(lines: list[str]) -> dict[str, Any] | None:
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return None


def _path(head: Mapping[str, Any]) -> Table:
    """Where the head of a section leads."""
    path: list[str] = []
    found: Any = head
    while isinstance(found, dict) and found:
        key = next(iter(found))
        path.append(key)
        found = found[key]
    return tuple(path)


def _comment(lines: list[str]) -> str:
    """The comment at the end of a key's only line: behind the first # with which the value is whole."""
    if len(lines) != 1:
        return ""
    line, at = lines[0], lines[0].find("#")
    while at >= 0:
        if _parsed([line[:at]]):
            return line[at:].rstrip()
        at = line.find("#", at + 1)
    return ""


def _ordered(said: Any) -> Any:
    """What is said, with the order of codes, which is that of the tables made of them."""
    variables = said.get("variables", {}) if isinstance(said, dict) else {}
    codes = {name: v["codes"] for name, v in variables.items() if isinstance(v, dict) and "codes" in v}
    return said, {name: list(each) for name, each in codes.items() if isinstance(each, dict)}
