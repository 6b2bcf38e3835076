"""A definition: a name, and what it is made of. Conditions on declared variables, classes of them, or a number cut coarser."""

from dataclasses import dataclass
from decimal import Decimal

from confide.errors import Mistake

__all__ = [
    "LONGEST_CODE",
    "LONGEST_LABEL",
    "MOST_CLASSES",
    "MOST_DEFINITIONS",
    "AgainstCutpoint",
    "AllHold",
    "Body",
    "Clause",
    "Cut",
    "Definition",
    "InCodes",
    "NotHeld",
    "OneHolds",
    "OwnClass",
    "as_definitions",
]

MOST_DEFINITIONS = 10
"""A request may define so many variables."""

MOST_CLASSES = 100
"""A variable may have so many classes of an analyst's own."""

LONGEST_CODE, LONGEST_LABEL = 60, 120
"""Names and codes, and labels, may have so many characters."""

_RUN = ("=", "+", "-", "@")
"""A text that begins so is taken for a formula by spreadsheets."""


@dataclass(frozen=True)
class InCodes:
    """The variable has one of these codes."""

    variable: str
    codes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.codes:
            raise Mistake(f"'in' after {self.variable[:LONGEST_CODE]!r} lists no codes.")
        object.__setattr__(self, "codes", tuple(sorted(set(self.codes))))


@dataclass(frozen=True)
class AgainstCutpoint:
    """The number is below or above a cutpoint."""

    variable: str
    mark: str
    number: Decimal


@dataclass(frozen=True)
class AllHold:
    """All parts hold."""

    parts: "tuple[Clause, ...]"


@dataclass(frozen=True)
class OneHolds:
    """At least one part holds."""

    parts: "tuple[Clause, ...]"


@dataclass(frozen=True)
class NotHeld:
    """The part does not hold."""

    part: "Clause"


Clause = InCodes | AgainstCutpoint | AllHold | OneHolds | NotHeld


@dataclass(frozen=True)
class OwnClass:
    """A class of an analyst's own: its code, its label, and who is in it. Without a clause it has all that are in no other."""

    code: str
    label: str
    clause: Clause | None

    def __post_init__(self) -> None:
        must_be_plain(self.code, "code", LONGEST_CODE)
        must_be_plain(self.label, "label", LONGEST_LABEL)


@dataclass(frozen=True)
class Cut:
    """A number, cut at some of its declared cutpoints."""

    variable: str
    cutpoints: tuple[Decimal, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "cutpoints", tuple(sorted(set(self.cutpoints))))


Body = Clause | Cut | tuple[OwnClass, ...]


@dataclass(frozen=True)
class Definition:
    """A variable of an analyst's own. Its classes are `yes` and `no` if its body is a condition."""

    name: str
    label: str
    body: Body

    def __post_init__(self) -> None:
        must_be_plain(self.name, "name", LONGEST_CODE)
        must_be_plain(self.label, "label", LONGEST_LABEL)
        if not isinstance(self.body, tuple):
            return
        codes = [one.code for one in self.body]
        if len(codes) > MOST_CLASSES:
            raise Mistake(f"{self.name!r} has more than {MOST_CLASSES} classes.")
        for code in codes:
            if codes.count(code) > 1:
                raise Mistake(f"Class {code!r} of {self.name!r} is there twice. Join its conditions with 'or'.")


def must_be_plain(text: str, what: str, longest: int) -> None:
    """A Mistake if a text of an analyst's own could not be shown as it is, or would be run by a spreadsheet."""
    if not text.strip() or len(text) > longest or not text.isprintable():
        raise Mistake(
            f"{text[:40]!r} cannot be a {what} of your own: use 1 to {longest} printable characters on one line."
        )
    if text.startswith(_RUN):
        raise Mistake(f"{text[:40]!r} cannot be a {what} of your own: it begins as a formula of a spreadsheet does.")


def as_definitions(given: tuple[Definition, ...]) -> tuple[Definition, ...]:
    """Definitions in one order; a Mistake if two have one name, or there are too many."""
    names = [one.name for one in set(given)]
    for name in names:
        if names.count(name) > 1:
            raise Mistake(f"{name!r} is defined twice.")
    if len(names) > MOST_DEFINITIONS:
        raise Mistake(f"A request may define at most {MOST_DEFINITIONS} variables.")
    return tuple(sorted(set(given), key=lambda one: one.name))
