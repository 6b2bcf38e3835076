"""TOML that people write: read, or a Mistake that says what is wrong with it; and single values of it, written."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from confide.errors import Mistake

__all__ = ["parse_toml", "toml_key", "toml_value"]

DEEPEST = 20
"""Levels of sections and lists within each other. What Confide reads has 5 at most."""

LARGEST = 2**63 - 1
"""As TOML says itself: whole numbers have 64 bits."""


def parse_toml(text: str, *, what: str) -> dict[str, Any]:
    """The values of a TOML text; `what` names it in a Mistake.

    >>> parse_toml("a = 9223372036854775808", what="policy.toml")
    Traceback (most recent call last):
    confide.errors.Mistake: policy.toml is not valid TOML: a whole number has more than 64 bits.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _invalid(what, str(error)) from None
    except RecursionError:
        raise _invalid(what, "it is nested too deeply") from None
    except ValueError:  # of the number itself, of which Python reads 4,300 digits at most
        raise _invalid(what, "a number has too many digits") from None
    _check(found, what)
    return found


def _check(found: dict[str, Any], what: str) -> None:
    """Level by level, since what is nested deeply cannot be walked through by recursion."""
    level: list[Any] = [found]
    for _ in range(DEEPEST):
        if any(type(value) is int and not -LARGEST <= value <= LARGEST for value in level):
            raise _invalid(what, "a whole number has more than 64 bits")
        level = [within for value in level for within in _within(value)]
        if not level:
            return
    raise _invalid(what, "it is nested too deeply")


def _within(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _invalid(what: str, why: str) -> Mistake:
    return Mistake(f"{what} is not valid TOML: {why}.")


def toml_key(name: str) -> str:
    """A key, in quotes only where it needs them.

    >>> toml_key("age"), toml_key("years of age")
    ('age', '"years of age"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A text, number, list or table as TOML, on one line.

    >>> toml_value({"label": "Men", "synonyms": ["M", 'm"']}), toml_value([10, 2.5])
    ('{ label = "Men", synonyms = ["M", "m\\\\""] }', '[10, 2.5]')
    """
    if isinstance(value, Mapping):
        parts = [f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items()]
        return f"{{ {', '.join(parts)} }}" if parts else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
