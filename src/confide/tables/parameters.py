"""Parameters of methods as described data: what each is for and what it may be."""

from collections.abc import Callable
from dataclasses import MISSING, Field, field, fields
from math import isfinite
from numbers import Integral, Real
from operator import ge, gt, le, lt
from typing import Any

from confide.errors import Mistake

__all__ = ["Parameters", "parameter"]

_LIMITS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "above": (gt, "more than {:g}"),
    "low": (ge, "{:g} or more"),
    "below": (lt, "less than {:g}"),
    "high": (le, "at most {:g}"),
}


def parameter(help: str, *, default: Any = MISSING, **limits: float) -> Any:
    """A number a method takes: one line of help and its range, by `above` or `low`, and `below` or `high`."""
    return field(default=default, metadata={"help": help, "limits": limits})


class Parameters:
    """A frozen dataclass of parameters; a value outside its declared range is a `Mistake` that says the range."""

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]  # every child is a dataclass
            if "limits" in each.metadata:
                _check(type(self).__name__, each, getattr(self, each.name))


def _check(method: str, one: "Field[Any]", value: Any) -> None:
    limits, whole = one.metadata["limits"], one.type is int
    kind = Integral if whole else Real
    number = isinstance(value, kind) and not isinstance(value, bool) and isfinite(value)
    if number and all(_LIMITS[name][0](value, limit) for name, limit in limits.items()):
        return
    may_be = " and ".join(_LIMITS[name][1].format(limit) for name, limit in limits.items())
    raise Mistake(f"{method} takes {one.name}, {one.metadata['help']} Give {'a whole number, ' * whole}{may_be}.")
