"""One step of a plan, and how it is written."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from confide.errors import Mistake, nearest
from confide.microdata.method import Method
from confide.microdata.methods.registry import METHODS
from confide.model.parameter import default_of

__all__ = ["PlanStep", "ReadFile", "known_keys", "method_of", "toml"]

ReadFile = Callable[[str], str]


@dataclass(frozen=True)
class PlanStep:
    """One method, and what it masks: columns by name or by role, in which strata, with which weight."""

    method: Method
    columns: tuple[str, ...] = ()
    role: str | None = None
    by: tuple[str, ...] = ()
    weight: str | None = None
    household: str | None = None

    @classmethod
    def read(cls, raw: Mapping[str, Any], *, read_file: ReadFile) -> "PlanStep":
        """The step that a table of a plan describes: a method, its parameters, and what it masks."""
        word = raw.get("method")
        if not isinstance(word, str):
            raise Mistake("A step names its method.", suggestions=['As in: method = "microaggregation".'])
        kind = method_of(word)
        if "seed" in raw:
            raise Mistake("A plan holds no seed.", suggestions=["What is drawn comes from the key of the release."])
        about = [f.name for f in fields(cls)]
        known_keys(raw, [*about, *(f.name for f in fields(kind))], f"a step of {word!r}")
        given = {name: value for name, value in raw.items() if name not in about}
        if isinstance(hierarchies := given.get("hierarchies"), dict):
            given["hierarchies"] = {name: _in_full(text, read_file) for name, text in hierarchies.items()}
        said = {name: _checked(name, raw[name]) for name in about[1:] if name in raw}
        if "columns" in said and "role" in said:
            raise Mistake("A step has columns or a role, not both.")
        return cls(kind(**given), **said)

    def text(self) -> str:
        """The step as TOML; what is as it always is, is left out."""
        parameters = [(f.name, getattr(self.method, f.name), default_of(f)) for f in fields(self.method)]
        about = [(f.name, getattr(self, f.name), f.default) for f in fields(self)[1:]]
        said = [f"{name} = {toml(value)}" for name, value, default in (*parameters, *about) if value != default]
        return "\n".join(["[[step]]", f"method = {toml(self.method.word())}", *said]) + "\n"


def method_of(word: str) -> type[Method]:
    """The method that a word stands for."""
    if word not in METHODS:
        hint = nearest(word, METHODS) or [f"There are {', '.join(METHODS)}."]
        raise Mistake(f"No method called {word!r}.", suggestions=hint)
    return METHODS[word]


def known_keys(raw: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """A Mistake for a key that nobody reads."""
    for key in raw:
        if key not in known:
            raise Mistake(f"Unknown key {key!r} in {where}.", suggestions=nearest(key, known))


def _checked(name: str, value: Any) -> Any:
    """What a step says of itself, as the kind that it is."""
    if name in ("columns", "by"):
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
            raise Mistake(f"{name!r} must be names of columns, not {value!r}.")
        return tuple(names)
    if not isinstance(value, str):
        raise Mistake(f"{name!r} must be text, not {value!r}.")
    return value


def _in_full(text: Any, read_file: ReadFile) -> Any:
    return read_file(text) if isinstance(text, str) and text.endswith(".hrc") else text


def toml(value: Any) -> str:
    """A value as TOML.

    >>> print(toml({"größe": (1, 2.5, True), "a": "x"}))
    { "größe" = [1, 2.5, true], "a" = "x" }
    """
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml(name)} = {toml(part)}" for name, part in value.items()) + " }"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
