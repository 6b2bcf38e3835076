"""A request as command-line words: `people --rows sex --columns region`, `people "income ~ age" --where region=N`."""

from collections.abc import Sequence

from confide.errors import Mistake
from confide.model.request import Request
from confide.spelling.json import ASKS
from confide.spelling.url import read_query, write_query

__all__ = ["read_words", "write_words"]

_BARE = {"regression": "formula", "correlation": "variables"}
"""What stands without an option's name, right after the data set."""


def write_words(request: Request) -> list[str]:
    """The words after `confide table SITE`, or `regression` or `correlation`, as the kind of request is."""
    bare = _BARE.get(ASKS[type(request)])
    query = write_query(request)
    return [request.dataset, *(_bare(value) if key == bare else f"--{key}={value}" for key, value in query)]


def _bare(text: str) -> str:
    """A name may begin with a dash; after a backslash it is not taken for an option."""
    return f"\\{text}" if text.startswith("-") else text


def read_words(words: Sequence[str], *, ask: str = "table") -> Request:
    """The request that the words after a command and its site describe."""
    if not words:
        raise Mistake("Name the data set first.")
    pairs = []
    rest = iter(words[1:])
    for word in rest:
        key, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--"):
            pairs.append((key, value if equals else next(rest, "")))
        elif ask in _BARE:
            pairs.append((_BARE[ask], word))
        else:
            raise Mistake(f"Cannot read {word[:60]!r}. Options begin with two dashes.")
    return read_query(words[0], pairs, ask=ask)
