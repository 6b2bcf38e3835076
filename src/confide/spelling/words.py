"""A request as command-line words: `people --rows sex --columns region`, `people "income ~ age" --where region=N`."""

from collections.abc import Sequence
from typing import Any, TypeVar

from confide.errors import Mistake
from confide.model.request import Request, spelled_fields
from confide.spelling.url import read_query, write_query

__all__ = ["read_words", "write_words"]

Q = TypeVar("Q", bound=Request[Any])


def write_words(request: Request[Any]) -> list[str]:
    """The words after `confide table SITE`, or `regression` or `correlation`, as the kind of request is."""
    bare = _bare_field(type(request))
    query = write_query(request)
    return [request.dataset, *(_bare(value) if key == bare else f"--{key}={value}" for key, value in query)]


def _bare_field(kind: type[Request[Any]]) -> str | None:
    """What stands without an option's name, right after the data set."""
    return next((name for name, (how, _) in spelled_fields(kind).items() if how.bare), None)


def _bare(text: str) -> str:
    """A name may begin with a dash; after a backslash it is not taken for an option."""
    return f"\\{text}" if text.startswith("-") else text


def read_words(words: Sequence[str], kind: type[Q]) -> Q:
    """The request that the words after a command and its site describe."""
    if not words:
        raise Mistake("Name the data set first.")
    bare = _bare_field(kind)
    pairs = []
    rest = iter(words[1:])
    for word in rest:
        key, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--"):
            pairs.append((key, value if equals else next(rest, "")))
        elif bare is not None:
            pairs.append((bare, word))
        else:
            raise Mistake(f"Cannot read {word[:60]!r}. Options begin with two dashes.")
    return read_query(words[0], pairs, kind)
