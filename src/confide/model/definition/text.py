"""A definition as text: `adult = age >= 18`. The text is read, never run."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import NoReturn

from confide.errors import Mistake
from confide.model.definition.definition import (
    AgainstCutpoint,
    AllHold,
    Body,
    Clause,
    Cut,
    Definition,
    InCodes,
    NotHeld,
    OneHolds,
    OwnClass,
    as_definitions,
)

__all__ = ["LONGEST_DEFINITION", "read_definition", "read_definitions", "write_definition", "write_definitions"]

LONGEST_DEFINITION = 2000
"""Characters of a definition."""

DEEPEST = 20
"""So many brackets may stand in one another."""

_NAME = re.compile(r"`((?:[^`]|``)+)`|([^\W\d][\w.]*)")
_TEXT = re.compile(r'"((?:[^"]|"")*)"')
_CODE = re.compile(r"""[^\s,;:()"`=<>](?:[^,;:()"`=<>]*[^\s,;:()"`=<>])?""")
_LISTED = re.compile(r"""[^\s,()"](?:[^,()"]*[^\s,()"])?""")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?(?![\w.])")
_MARK = re.compile(r"<=|>=|<|>")
_WORDS = ("and", "or", "not", "in", "cut", "else")


def read_definition(text: str) -> Definition:
    """The definition a text describes.

    >>> read_definition('adult = age >= 18').body
    AgainstCutpoint(variable='age', mark='>=', number=Decimal('18'))
    """
    if len(text) > LONGEST_DEFINITION:
        raise Mistake(f"A definition is longer than {LONGEST_DEFINITION} characters.")
    return _DefinitionReader(text).definition()


def read_definitions(texts: Iterable[str]) -> tuple[Definition, ...]:
    """The definitions of several texts, in one order."""
    return as_definitions(tuple(map(read_definition, texts)))


def write_definition(definition: Definition) -> str:
    """The text of a definition.

    >>> write_definition(read_definition('area "Area"=north "The north": region in(N);else:rest'))
    'area "Area" = north "The north": region in (N); else: rest'
    """
    return f"{_labelled(_write_name(definition.name), definition.name, definition.label)} = {_body(definition.body)}"


def write_definitions(definitions: Iterable[Definition]) -> tuple[str, ...]:
    """The texts of several definitions."""
    return tuple(map(write_definition, definitions))


class _DefinitionReader:
    """Reads a text from its beginning on."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0

    def definition(self) -> Definition:
        name = self.name()
        label = self.label(name)
        self.expect("=")
        found = Definition(name, label, self.body())
        if self.rest():
            self.fail("the end")
        return found

    def body(self) -> Body:
        if self.call():
            return self.cut()
        here = self.at
        if self.begins_class():
            self.at = here
            return tuple(self.classes())
        self.at = here
        return self.clause()

    def call(self) -> bool:
        found = re.compile(r"\s*cut\s*\(").match(self.text, self.at)
        self.at = found.end() if found else self.at
        return bool(found)

    def cut(self) -> Cut:
        variable, cutpoints = self.name(), []
        while self.taken(","):
            cutpoints.append(self.number())
        self.expect(")")
        if not cutpoints:
            raise Mistake("'cut' names no cutpoint.", suggestions=["Write it as in cut(age, 18, 65)."])
        return Cut(variable, tuple(cutpoints))

    def begins_class(self) -> bool:
        """Whether a code, with its label or without, and a colon come next."""
        if self.match(_TEXT) is None and self.match(_CODE) is None:
            return False
        self.match(_TEXT)
        return self.taken(":")

    def classes(self) -> Iterable[OwnClass]:
        while True:
            if self.word("else"):
                self.expect(":")
                code = self.code()
                yield OwnClass(code, self.label(code), None)
                return
            code = self.code()
            label = self.label(code)
            self.expect(":")
            yield OwnClass(code, label, self.clause())
            if not self.taken(";"):
                return

    def clause(self) -> Clause:
        parts = [self.every()]
        while self.word("or"):
            parts.append(self.every())
        return parts[0] if len(parts) == 1 else OneHolds(tuple(parts))

    def every(self) -> Clause:
        parts = [self.one()]
        while self.word("and"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else AllHold(tuple(parts))

    def one(self) -> Clause:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Mistake(f"More than {DEEPEST} conditions stand in one another in a definition.")
        try:
            if self.word("not"):
                return NotHeld(self.one())
            if self.taken("("):
                inner = self.clause()
                self.expect(")")
                return inner
            return self.stated()
        finally:
            self.depth -= 1

    def stated(self) -> Clause:
        variable = self.name()
        if self.word("in"):
            self.expect("(")
            codes = [self.code(_LISTED)]
            while self.taken(","):
                codes.append(self.code(_LISTED))
            self.expect(")")
            return InCodes(variable, tuple(codes))
        mark = self.match(_MARK)
        if mark is None:
            self.fail(f"'in (codes)' or <, <=, >, >= after {variable[:40]!r}")
        return AgainstCutpoint(variable, mark[0], self.number())

    def name(self) -> str:
        found = self.match(_NAME)
        if found is None or found[2] in _WORDS:
            self.fail("a variable")
        return found[2] or found[1].replace("``", "`")

    def code(self, bare: re.Pattern[str] = _CODE) -> str:
        quoted = self.match(_TEXT)
        if quoted is not None:
            return quoted[1].replace('""', '"')
        found = self.match(bare)
        if found is None:
            self.fail("a code")
        return found[0]

    def label(self, otherwise: str) -> str:
        found = self.match(_TEXT)
        return otherwise if found is None else found[1].replace('""', '"')

    def number(self) -> Decimal:
        found = self.match(_NUMBER)
        if found is None:
            self.fail("a number")
        return Decimal(found[0])

    def word(self, word: str) -> bool:
        return self.match(re.compile(rf"{word}(?![\w.])")) is not None

    def taken(self, mark: str) -> bool:
        return self.match(re.compile(re.escape(mark))) is not None

    def expect(self, mark: str) -> None:
        if not self.taken(mark):
            self.fail(repr(mark))

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        start = len(self.text) - len(self.rest())
        found = pattern.match(self.text, start)
        self.at = found.end() if found else self.at
        return found

    def rest(self) -> str:
        return self.text[self.at :].lstrip()

    def fail(self, wanted: str) -> NoReturn:
        instead = f"instead of {self.rest()[:20]!r}" if self.rest() else "at the end"
        raise Mistake(
            f"Expected {wanted} {instead} in the definition {self.text.strip()[:60]!r}.",
            suggestions=[
                'Write it as in adult = age >= 18, or work = paid: employment in (employed); else: "not paid".'
            ],
        )


def _body(body: Body) -> str:
    if isinstance(body, tuple):
        return "; ".join(map(_class, body))
    if isinstance(body, Cut):
        return f"cut({', '.join([_write_name(body.variable), *map(_write_number, body.cutpoints)])})"
    return _clause(body)


def _class(one: OwnClass) -> str:
    named = _labelled(_write_code(one.code, _CODE), one.code, one.label)
    return f"else: {named}" if one.clause is None else f"{named}: {_clause(one.clause)}"


def _clause(clause: Clause, *, inside: bool = False) -> str:
    match clause:
        case InCodes(variable, codes):
            return f"{_write_name(variable)} in ({', '.join(_write_code(code, _LISTED) for code in codes)})"
        case AgainstCutpoint(variable, mark, number):
            return f"{_write_name(variable)} {mark} {_write_number(number)}"
        case NotHeld(part):
            return f"not {_clause(part, inside=True)}"
        case AllHold(parts) | OneHolds(parts):
            word = " and " if isinstance(clause, AllHold) else " or "
            text = word.join(_clause(part, inside=True) for part in parts)
            return f"({text})" if inside else text


def _write_name(name: str) -> str:
    plain = re.fullmatch(r"[^\W\d][\w.]*", name) and name not in _WORDS
    return name if plain else "`" + name.replace("`", "``") + "`"


def _write_code(code: str, bare: re.Pattern[str]) -> str:
    return code if bare.fullmatch(code) and code != "else" else _quoted(code)


def _labelled(written: str, text: str, label: str) -> str:
    return written if label == text else f"{written} {_quoted(label)}"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _write_number(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
