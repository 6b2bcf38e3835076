"""A query log in memory: who asked what, and when, as codes."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from confide.arrays import Bools, Ints
from confide.errors import Mistake
from confide.querylogs.fields import days_of, sites_of

__all__ = ["AskedQueries", "QueryLog"]


@dataclass(frozen=True, eq=False)
class AskedQueries:
    """The different queries of each user: whose, which, how often; user by user."""

    users: Ints
    queries: Ints
    times: Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class QueryLog:
    """A query log: each line has a user, a query, and where known a day and a clicked site.

    `users` and `queries` say of each line who asked what, as places in `names` and `texts`. `empty` counts lines that left
    because they ask nothing.

    >>> QueryLog.of(["a", "b", "a"], ["Tea ", "tea", None])
    QueryLog(2 users, 2 lines, 1 queries)
    """

    users: Ints
    queries: Ints
    names: pa.Array
    texts: pa.Array
    days: pa.Array | None = None
    clicks: pa.Array | None = None
    empty: int = 0
    left: int = 0
    """Users who left because none of their lines ask anything."""

    @classmethod
    def of(cls, users: Any, queries: Any, *, times: Any = None, clicks: Any = None) -> "QueryLog":
        """A log from a column of users and one of queries, in lower case, with single spaces; empty queries leave.

        Of times the day is kept, of clicks the site.
        """
        columns = {"user": pc.utf8_trim_whitespace(_texts(users)), "query": _plain(_texts(queries))}
        if times is not None:
            columns["day"] = days_of(_texts(times))
        if clicks is not None:
            columns["click"] = sites_of(_texts(clicks))
        table = pa.table(columns)
        if table["user"].null_count:
            raise Mistake(
                "Some lines have no user.", suggestions=["Name the column of users, or leave these lines out."]
            )
        kept = table.filter(pc.fill_null(pc.not_equal(table["query"], ""), False))
        if not len(kept):
            raise Mistake("The log asks nothing: every query is empty.")
        who, what = (
            kept["user"].combine_chunks().dictionary_encode(),
            kept["query"].combine_chunks().dictionary_encode(),
        )
        return cls(
            users=_codes(who), queries=_codes(what), names=who.dictionary, texts=what.dictionary,
            days=_column(kept, "day"), clicks=_column(kept, "click"), empty=len(table) - len(kept),
            left=len(table["user"].unique()) - len(who.dictionary),
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"QueryLog({len(self.names):,} users, {len(self.users):,} lines, {len(self.texts):,} queries)"

    @cached_property
    def lines(self) -> Ints:
        """How many lines each user has."""
        return np.bincount(self.users, minlength=len(self.names))

    @cached_property
    def asked(self) -> AskedQueries:
        """The different queries of each user."""
        both, times = np.unique(self.users * len(self.texts) + self.queries, return_counts=True)
        return AskedQueries(*np.divmod(both, len(self.texts)), times)

    @cached_property
    def counts(self) -> csr_array:
        """How often each user (a row) asked each query (a column)."""
        starts = np.searchsorted(self.asked.users, np.arange(len(self.names) + 1))
        shape = (len(self.names), len(self.texts))
        return csr_array((self.asked.times.astype(np.int32), self.asked.queries.astype(np.int32), starts), shape=shape)

    def rewritten(self, texts: pa.Array) -> "QueryLog":
        """The log with another text in the place of each."""
        coded = texts.dictionary_encode()
        return replace(self, queries=_codes(coded)[self.queries], texts=coded.dictionary)

    def only(self, lines: Bools) -> "QueryLog":
        """The log of some lines, with the users and queries that they have."""
        users, who = np.unique(self.users[lines], return_inverse=True)
        queries, what = np.unique(self.queries[lines], return_inverse=True)
        return replace(
            self, users=who, queries=what, names=self.names.take(users), texts=self.texts.take(queries),
            days=None if self.days is None else self.days.filter(pa.array(lines)),
            clicks=None if self.clicks is None else self.clicks.filter(pa.array(lines)),
        )  # fmt: skip


def _texts(column: Any) -> pa.ChunkedArray:
    column = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column)
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    try:
        return column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise Mistake(f"A column of the log holds {column.type}, which is no text.") from None


def _plain(queries: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(pc.utf8_lower(queries), r"\s+", " "))


def _codes(coded: pa.DictionaryArray) -> Ints:
    return np.asarray(coded.indices.to_numpy(zero_copy_only=False), np.int64)


def _column(table: pa.Table, name: str) -> pa.Array | None:
    return table[name].combine_chunks() if name in table.column_names else None
