"""A request as command-line words: `people --rows sex --columns region --where age_group=20-29,30-39`."""

from collections.abc import Sequence

from confide.errors import Mistake
from confide.model.request import Table
from confide.spelling.url import read_query, write_query

__all__ = ["read_words", "write_words"]


def write_words(request: Table) -> list[str]:
    """The words after `confide table SITE`."""
    return [request.dataset, *(f"--{key}={value}" for key, value in write_query(request))]


def read_words(words: Sequence[str]) -> Table:
    """The request that command-line words describe."""
    if not words:
        raise Mistake("Name the data set first.")
    pairs = []
    rest = iter(words[1:])
    for word in rest:
        key, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--"):
            raise Mistake(f"Cannot read {word[:60]!r}. Options begin with two dashes.")
        pairs.append((key, value if equals else next(rest, "")))
    return read_query(words[0], pairs)
