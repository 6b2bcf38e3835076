"""The terms of queries: their words without those that say nothing."""

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

__all__ = ["STOP_WORDS", "terms_of", "terms_per_query"]

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for from how i in is it me my no not of on or that the this to was what when where "
        "which who will with you your",
    )
)
"""Words that have no topic. They are terms of no query."""

MARKS = re.compile(r"\[\w+\]")
WORDS = re.compile(r"\w+")


def terms_of(text: str) -> Iterator[str]:
    """The terms of a query.

    >>> list(terms_of("the best of Bach [number]"))
    ['best', 'bach']
    """
    return (word for word in WORDS.findall(MARKS.sub(" ", text.lower())) if word not in STOP_WORDS)


def terms_per_query(texts: pa.Array) -> tuple[csr_array, list[str]]:
    """How often each query (a row) has each term (a column), and the terms."""
    places: dict[str, int] = {}
    starts, columns = [0], []
    for text in texts.to_pylist():
        columns += [places.setdefault(term, len(places)) for term in terms_of(text)]
        starts.append(len(columns))
    counts = csr_array((np.ones(len(columns), np.int32), columns, starts), shape=(len(texts), len(places)))
    counts.sum_duplicates()
    return counts, list(places)
