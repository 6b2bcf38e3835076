"""Parameters as described data: what each may be, and one line of help, declared where the field stands.

Policies, sensitivity rules and masking methods are all frozen dataclasses under `Parameters`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from sys import float_info
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from confide.errors import Mistake, nearest

__all__ = ["Limits", "Parameters", "default_of", "described", "limits", "parameter"]


@dataclass(frozen=True)
class Limits:
    """What a parameter may be: from `low` to `high`, more than `above`, less than `below`, one of `among`."""

    help: str
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    among: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What is allowed, in words; nothing if all of the kind is."""
        if self.among:
            return ", ".join(f"`{word}`" for word in self.among)
        ends = [("{:,g} or more", self.low), ("more than {:,g}", self.above)]
        ends += [("at most {:,g}", self.high), ("less than {:,g}", self.below)]
        return ", ".join(words.format(end) for words, end in ends if end is not None)

    def complaint(self, value: Any) -> str | None:
        """What is wrong with a value of the right kind, if anything; of a list, every part is looked at."""
        if self.among and value is not None and value not in self.among:
            return f"must be one of {', '.join(self.among)}"
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, int | float) and not isinstance(part, bool) and (words := self._outside(part)):
                return words
        return None

    def _outside(self, value: float) -> str | None:
        if self.low is not None and value < self.low:
            return f"must be at least {self.low:g}"
        if self.high is not None and value > self.high:
            return f"must be at most {self.high:g}"
        if self.above is not None and value <= self.above:
            return f"must be more than {self.above:g}"
        if self.below is not None and value >= self.below:
            return f"must be less than {self.below:g}"
        return None


def parameter(
    default: Any = MISSING,
    help: str = "",
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    among: tuple[str, ...] = (),
) -> Any:
    """A field with its default, one line of help, and what it may be."""
    stated = asdict(Limits(help, low, high, above, below, among))
    if isinstance(default, Mapping):
        return field(default_factory=lambda: default, metadata=stated)
    return field(default=default, metadata=stated)


def limits(f: Field[Any]) -> Limits:
    """What was declared of a field."""
    return Limits(**f.metadata)


def default_of(f: Field[Any]) -> Any:
    """What a field is if nothing is said."""
    return f.default if f.default_factory is MISSING else f.default_factory()


class Parameters:
    """A frozen dataclass whose fields are made with `parameter`: each is as it was declared, or a `Mistake` says what it may be.

    Lists become tuples and whole numbers, where any number will do, floats; so equal parameters are equal.
    """

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for f in fields(self):  # type: ignore[arg-type]  # every child is a dataclass
            object.__setattr__(self, f.name, _checked(self._called(f.name), getattr(self, f.name), hints[f.name], f))
        self._check()

    def _called(self, name: str) -> str:
        """What a parameter is called in messages."""
        return f"{type(self).__name__}: {name}"

    def _check(self) -> None:
        """Raise a Mistake where parameters do not go together. Nothing to check unless a child says so."""
        return


def _checked(called: str, given: Any, hint: Any, f: Field[Any]) -> Any:
    value = _fitted(given, hint)
    if value is _UNFIT:
        range = "" if limits(f).among else limits(f).words
        raise Mistake(f"{called} must be {', '.join(filter(None, (_words(hint), range)))}, not {_shown(given)}.")
    if complaint := limits(f).complaint(value):
        offers = nearest(value, limits(f).among) if isinstance(value, str) else []
        raise Mistake(f"{called} {complaint}, not {_shown(given)}.", suggestions=offers)
    return value


def _shown(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 60 else text[:60] + "..."


def described(kind: type[Any]) -> Iterator[tuple[str, str, str, str]]:
    """Every parameter of a kind as (name, default, what it may be, help), for people."""
    hints = get_type_hints(kind)
    for f in fields(kind):
        default = default_of(f)
        default = "" if default in (None, (), {}, MISSING) else json.dumps(default, ensure_ascii=False)
        yield f.name, default, limits(f).words or _words(hints[f.name]), limits(f).help


_UNFIT = object()
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", NoneType: "nothing"}
_SEVERAL = {int: "whole numbers", float: "numbers", str: "texts"}


def _words(hint: Any, *, several: bool = False) -> str:
    """What a kind is called, one or several of it."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_words(arg) for arg in args if arg is not NoneType)
    if origin is tuple:
        return f"{'lists' if several else 'a list'} of {_words(args[0], several=True)}"
    if origin is not None:
        return f"a table of names ({_words(args[1])} each)"
    return (_SEVERAL if several else _WORDS).get(hint, "values" if several else "a value")


def _fitted(value: Any, hint: Any) -> Any:
    """The value as the hinted kind (lists become tuples, whole numbers numbers), or _UNFIT."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return next((fit for arg in args if (fit := _fitted(value, arg)) is not _UNFIT), _UNFIT)
    if origin is tuple:
        parts = [_fitted(part, args[0]) for part in value] if isinstance(value, list | tuple) else [_UNFIT]
        return _UNFIT if any(part is _UNFIT for part in parts) else tuple(parts)
    if origin is not None:
        return _mapped(value, args)
    return _plain(value, hint)


def _mapped(value: Any, args: tuple[Any, ...]) -> Any:
    if not isinstance(value, Mapping):
        return _UNFIT
    fitted = {_fitted(key, args[0]): _fitted(part, args[1]) for key, part in value.items()}
    return _UNFIT if _UNFIT in fitted or any(part is _UNFIT for part in fitted.values()) else fitted


def _plain(value: Any, hint: Any) -> Any:
    if hint is Any:
        return value
    if hasattr(value, "dtype") and hasattr(value, "item") and not value.shape:  # a number of numpy's
        value = value.item()
    if hint is float:
        # Not isfinite, which cannot look at whole numbers that are larger still.
        return float(value) if type(value) in (int, float) and abs(value) <= float_info.max else _UNFIT
    return value if type(value) is hint else _UNFIT
