"""The parameters of a method as data: what each may be, and one line of help, declared where the field stands."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from confide.errors import Mistake, nearest

__all__ = ["Limits", "checked", "described", "limits", "parameter"]


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
    """A field of a method: its default, one line of help, and what it may be."""
    stated = {"limits": Limits(help, low, high, above, below, tuple(among))}
    if isinstance(default, Mapping):
        return field(default_factory=lambda: default, metadata=stated)
    return field(default=default, metadata=stated)


def limits(f: Field[Any]) -> Limits:
    """What was declared of a field."""
    declared: Limits = f.metadata["limits"]
    return declared


def checked(method: Any) -> dict[str, Any]:
    """Every parameter of a method as its declared kind and within its declared limits, or a Mistake."""
    hints, title = get_type_hints(type(method)), type(method).__name__
    values = {}
    for f in fields(method):
        given = getattr(method, f.name)
        value = _fitted(given, hints[f.name])
        if value is _UNFIT:
            raise Mistake(f"{title}: {f.name} must be {_words(hints[f.name])}, not {given!r}.")
        if complaint := limits(f).complaint(value):
            hint = nearest(value, limits(f).among) if isinstance(value, str) else []
            raise Mistake(f"{title}: {f.name} {complaint}, not {given!r}.", suggestions=hint)
        values[f.name] = value
    return values


def described(kind: type[Any]) -> Iterator[tuple[str, str, str, str]]:
    """Every parameter of a kind of method as (name, default, what it may be, help), for people."""
    hints = get_type_hints(kind)
    for f in fields(kind):
        default = "" if f.default in (None, (), MISSING) else json.dumps(f.default, ensure_ascii=False)
        yield f.name, default, limits(f).words or _words(hints[f.name]), limits(f).help


_UNFIT = object()
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", NoneType: "nothing"}


def _words(hint: Any) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_words(arg) for arg in args if arg is not NoneType)
    if origin is tuple:
        return f"a list ({_words(args[0])} each)"
    if origin is not None:
        return f"a table of names ({_words(args[1])} each)"
    return _WORDS.get(hint, "a value")


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
    if isinstance(value, np.generic):
        value = value.item()
    if hint is float:
        return float(value) if type(value) in (int, float) and isfinite(value) else _UNFIT
    return value if type(value) is hint else _UNFIT
