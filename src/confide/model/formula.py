"""The formula of a model: a response and terms, each a product of factors. A value with no text left in it to run.

response ~ term + term + ...        a term is a factor or factors joined by ':'; 'a*b' means a + b + a:b
factor: name, log(name), sqrt(name), square(name) or name^2; relevel(name, code) has classes compared with that one
a response may be name=code, the indicator of a class, or name in (code, code, ...), that of several
names and codes with other characters than letters, digits, '_' and '.' stand in backquotes, a backquote doubled
"""

import itertools
import re
from dataclasses import dataclass, replace
from enum import StrEnum

from confide.errors import Mistake

__all__ = [
    "Factor",
    "Formula",
    "Term",
    "Transform",
    "read_class",
    "read_formula",
    "read_term",
    "read_variable",
    "write_formula",
    "write_term",
    "write_variable",
]

LONGEST = 4_000
"""Characters in a formula, at most."""

MOST_TERMS = 200

RELEVEL = "relevel"
"""How a formula names the class that the others of a variable are compared with."""


class Transform(StrEnum):
    """What may be done to a number before it enters a model. Nothing here can single out a unit."""

    NONE = ""
    LOG = "log"
    SQRT = "sqrt"
    SQUARE = "square"

    @property
    def power(self) -> float:
        """The power that it takes a number to; 0 for the logarithm."""
        return {"": 1.0, "log": 0.0, "sqrt": 0.5, "square": 2.0}[self.value]


@dataclass(frozen=True)
class Factor:
    """A variable and its transformation; for the indicator of classes their codes, for a predictor of classes its reference."""

    variable: str
    transform: Transform = Transform.NONE
    codes: tuple[str, ...] = ()
    reference: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", tuple(sorted(set(self.codes))))


Term = tuple[Factor, ...]


def _order(factor: Factor) -> tuple[str, str, tuple[str, ...], str]:
    return factor.variable, factor.transform, factor.codes, factor.reference or ""


@dataclass(frozen=True)
class Formula:
    """`response ~ terms`, with an intercept always. Terms are distinct and stand in the order main effects, pairs, triples."""

    response: Factor
    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        if not self.terms:
            raise Mistake("A model needs at least one predictor to the right of '~'.")
        tidy = dict.fromkeys(tuple(sorted(set(term), key=_order)) for term in _with_references(self.terms))
        if len(tidy) > MOST_TERMS:
            raise Mistake(f"A model may have at most {MOST_TERMS} terms.")
        for term in tidy:
            if len(term) > 3:
                raise Mistake("Interactions of more than three variables are not possible.")
            if any(factor.variable == self.response.variable for factor in term):
                raise Mistake(f"{self.response.variable[:40]!r} stands on both sides of '~'.")
            if any(factor.codes for factor in term):
                raise Mistake("A class such as name=code can be the response only; as a predictor name the variable.")
        object.__setattr__(self, "terms", tuple(sorted(tidy, key=len)))

    @property
    def variables(self) -> tuple[str, ...]:
        """The predictors, each once."""
        return tuple(dict.fromkeys(factor.variable for term in self.terms for factor in term))

    @property
    def references(self) -> dict[str, str]:
        """The classes that predictors are to be compared with, by variable."""
        return _references(self.terms)


def _with_references(terms: tuple[Term, ...]) -> list[Term]:
    """The terms with the reference of a variable wherever it stands, named once or often."""
    named = _references(terms)
    return [
        tuple(factor if factor.transform else replace(factor, reference=named.get(factor.variable)) for factor in term)
        for term in terms
    ]


def _references(terms: tuple[Term, ...]) -> dict[str, str]:
    named: dict[str, str] = {}
    for factor in (factor for term in terms for factor in term):
        if factor.reference is not None and named.setdefault(factor.variable, factor.reference) != factor.reference:
            raise Mistake(f"{factor.variable[:40]!r} has two references. Name one.")
    return named


_TOKEN = re.compile(
    r"\s*(?:(?P<name>[^\W\d][\w.]*)|`(?P<quoted>(?:[^`]|``)+)`|(?P<number>\d+)|(?P<mark>\*\*|[~+:*^()=,]))", re.UNICODE
)


class _Tokens:
    """Tokens of a formula, read one after the other."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise Mistake(
                    f"Cannot read the formula from {text[at : at + 20].strip()!r} on.",
                    suggestions=[
                        "Put names and codes with other characters in backquotes, as in `net income` or work=`part-time`."
                    ],
                )
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind]))
            at = match.end()
        self.place = 0

    def peek(self) -> str:
        kind, text = self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")
        return text if kind == "mark" else kind

    def take(self) -> tuple[str, str]:
        token = self.tokens[self.place] if self.place < len(self.tokens) else ("end", "the end")
        self.place += 1
        return token

    def expect(self, mark: str) -> None:
        if self.peek() != mark:
            raise Mistake(f"Expected {mark!r} before {self.take()[1][:40]!r} in the formula.")
        self.take()

    def name(self) -> str:
        kind, text = self.take()
        if kind not in ("name", "quoted"):
            raise Mistake(f"Expected a variable instead of {text[:40]!r} in the formula.")
        return text.replace("``", "`") if kind == "quoted" else text

    def factor(self) -> Factor:
        quoted = self.peek() == "quoted"
        name = self.name()
        if not quoted and self.peek() == "(":
            return self._transformed(name)
        if self.peek() in ("^", "**"):
            self.take()
            if self.take() != ("number", "2"):
                raise Mistake("Only squares are possible: write name^2.")
            return Factor(name, Transform.SQUARE)
        if self.peek() == "=":
            self.take()
            return Factor(name, codes=(self._code(f"{name[:40]}="),))
        if self.peek() == "name" and self.tokens[self.place][1] == "in":
            self.take()
            return Factor(name, codes=self._codes(f"{name[:40]} in ("))
        return Factor(name)

    def _codes(self, after: str) -> tuple[str, ...]:
        self.expect("(")
        codes = [self._code(after)]
        while self.peek() == ",":
            self.take()
            codes.append(self._code(after))
        self.expect(")")
        return tuple(codes)

    def _code(self, after: str) -> str:
        """A code; words and numbers that follow each other are one code, as in very bad."""
        kind, text = self.take()
        if kind not in ("name", "quoted", "number"):
            raise Mistake(f"Expected a code after {after} in the formula.")
        if kind == "quoted":
            return text.replace("``", "`")
        words = [text]
        while self.peek() in ("name", "number"):
            words.append(self.take()[1])
        return " ".join(words)

    def _transformed(self, function: str) -> Factor:
        if function == RELEVEL:
            return self._relevelled()
        if function not in list(Transform)[1:]:
            raise Mistake(
                f"There is no transformation {function[:40]!r}.",
                suggestions=["Possible are log, sqrt and square."],
            )
        self.expect("(")
        name = self.name()
        self.expect(")")
        return Factor(name, Transform(function))

    def _relevelled(self) -> Factor:
        self.expect("(")
        name = self.name()
        self.expect(",")
        reference = self._code(f"{RELEVEL}({name[:40]},")
        self.expect(")")
        return Factor(name, reference=reference)

    def terms(self) -> list[Term]:
        """The terms of one item: factors joined by ':' stay together, '*' gives all products."""
        groups: list[Term] = [(self.factor(),)]
        while self.peek() in (":", "*"):
            mark = self.take()[1]
            if mark == ":":
                groups[-1] += (self.factor(),)
            else:
                groups.append((self.factor(),))
        if len(groups) > 3:
            raise Mistake("Interactions of more than three variables are not possible.")
        sizes = range(1, len(groups) + 1)
        return [sum(some, ()) for size in sizes for some in itertools.combinations(groups, size)]


def read_formula(text: str) -> Formula:
    """The formula a text describes; the text is read, never run.

    >>> read_formula("log(income) ~ age^2 + sex*region").terms[0]
    (Factor(variable='age', transform=<Transform.SQUARE: 'square'>, codes=(), reference=None),)
    """
    if len(text) > LONGEST:
        raise Mistake(f"The formula is longer than {LONGEST} characters.")
    reader = _Tokens(text)
    response = reader.factor()
    reader.expect("~")
    terms: list[Term] = []
    while True:
        if reader.peek() == "number" and reader.tokens[reader.place][1] == "1":
            reader.take()
        else:
            terms += reader.terms()
        if reader.peek() == "end":
            break
        reader.expect("+")
    return Formula(response, tuple(terms))


def read_term(text: str) -> Term:
    """The factors that a text joins by ':', in the order of a formula.

    >>> read_term("sex:log(income)")[0]
    Factor(variable='income', transform=<Transform.LOG: 'log'>, codes=(), reference=None)
    """
    if len(text) > LONGEST:
        raise Mistake(f"The term is longer than {LONGEST} characters.")
    reader = _Tokens(text)
    term = [reader.factor()]
    while reader.peek() == ":":
        reader.take()
        term.append(reader.factor())
    if reader.peek() != "end":
        raise Mistake(f"Expected ':' before {reader.take()[1][:40]!r} in the term.")
    return tuple(sorted(set(term), key=_order))


def read_class(text: str) -> Factor:
    """The class or classes of a variable that a text names.

    >>> read_class("status in (dead, moved)").codes
    ('dead', 'moved')
    """
    [factor, *more] = read_term(text)
    if more or not factor.codes:
        raise Mistake(f"{text[:40]!r} is no class.", suggestions=["Write variable=code, or variable in (code, code)."])
    return factor


_CALL = re.compile(rf"({'|'.join(list(Transform)[1:])})\(\s*(\S|\S.*\S)\s*\)", re.DOTALL)
_SQUARED = re.compile(r"\s*(\S|\S.*\S)\s*(?:\^|\*\*)\s*2", re.DOTALL)
_BACKQUOTED = re.compile(r"`(?:[^`]|``)+`")


def read_variable(text: str) -> Factor:
    """The variable that a text names, and its transformation if it is written as in a formula. Any other text is a name.

    >>> read_variable("log(net income)").transform, read_variable("net income").variable
    (<Transform.LOG: 'log'>, 'net income')
    """
    if call := _CALL.fullmatch(text):
        return Factor(_unquoted(call[2]), Transform(call[1]))
    if squared := _SQUARED.fullmatch(text):
        return Factor(_unquoted(squared[1]), Transform.SQUARE)
    return Factor(_unquoted(text))


def write_variable(factor: Factor) -> str:
    """The text of a variable: its name, in backquotes only where that would be read otherwise.

    >>> write_variable(read_variable("age^2")), write_variable(Factor("age^2"))
    ('square(age)', '`age^2`')
    """
    if factor.transform:
        return _write(factor)
    return factor.variable if read_variable(factor.variable) == factor else _backquoted(factor.variable)


def write_term(term: Term) -> str:
    """The text of a term."""
    return ":".join(_write(factor) for factor in term)


def write_formula(formula: Formula) -> str:
    """The text of a formula.

    >>> write_formula(read_formula("y~x*z"))
    'y ~ x + z + x:z'
    """
    terms = " + ".join(map(write_term, formula.terms))
    return f"{_write(formula.response)} ~ {terms}"


def _write(factor: Factor) -> str:
    name = _quoted(factor.variable)
    if factor.reference is not None:
        return f"{RELEVEL}({name}, {_quoted(factor.reference)})"
    if len(factor.codes) == 1:
        return f"{name}={_quoted(factor.codes[0])}"
    if factor.codes:
        return f"{name} in ({', '.join(map(_quoted, factor.codes))})"
    return f"{factor.transform}({name})" if factor.transform else name


def _quoted(text: str) -> str:
    plain = re.fullmatch(r"[^\W\d][\w.]*", text)
    return text if plain else _backquoted(text)


def _backquoted(text: str) -> str:
    return "`" + text.replace("`", "``") + "`"


def _unquoted(text: str) -> str:
    return text[1:-1].replace("``", "`") if _BACKQUOTED.fullmatch(text) else text
