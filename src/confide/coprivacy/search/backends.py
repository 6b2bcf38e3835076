"""Where queries are submitted to: full text of one's own (SQLite's FTS5), OpenSearch, or SearXNG."""

import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx

from confide.errors import Mistake

__all__ = ["FullText", "OpenSearch", "SearXNG", "SearchBackend", "SearchHit", "Unanswered", "hits_of"]

LONGEST = 1000
"""Characters of a title, an address or a text that are kept."""


@dataclass(frozen=True)
class SearchHit:
    """One document that was found."""

    title: str
    url: str
    text: str


class Unanswered(Exception):
    """The search engine did not answer as it should. It carries no detail, which could hold the query."""


class SearchBackend(Protocol):
    """What answers queries. One of your own needs this method and nothing else."""

    async def find(self, query: str, most: int) -> list[SearchHit]:
        """The best documents for a query, or `Unanswered`."""
        ...


class FullText:
    """Documents in memory, found by word stems and ranked by BM25."""

    def __init__(self, documents: Iterable[SearchHit]) -> None:
        self._base = sqlite3.connect(":memory:")
        self._base.execute("CREATE VIRTUAL TABLE document USING fts5(title, url UNINDEXED, text, tokenize = 'porter')")
        rows = ((one.title, one.url, one.text) for one in documents)
        self._base.executemany("INSERT INTO document VALUES (?, ?, ?)", rows)

    @classmethod
    def read(cls, path: str | Path) -> "FullText":
        """From a file with the columns title, url and text."""
        from confide.sources.source import read_source  # duckdb is loaded for this alone

        table = read_source(path).table
        if missing := [name for name in ("title", "url", "text") if name not in table.column_names]:
            raise Mistake(f"The documents {str(path)!r} have no column {missing[0]!r}.")
        rows = table.select(["title", "url", "text"]).to_pylist()
        return cls(SearchHit(**{name: str(value or "") for name, value in row.items()}) for row in rows)

    async def find(self, query: str, most: int) -> list[SearchHit]:
        """Documents with any word of the query, the best first."""
        words = re.findall(r"\w+", query)
        if not words:
            return []
        rows = self._base.execute(
            "SELECT title, url, text FROM document WHERE document MATCH ? ORDER BY bm25(document), rowid LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), most),
        )
        return [SearchHit(*row) for row in rows]

    def close(self) -> None:
        """Let go of the index."""
        self._base.close()


@dataclass(frozen=True, kw_only=True)
class OpenSearch:
    """An index of OpenSearch (or Elasticsearch) whose documents have the fields title, url and text."""

    url: str
    index: str
    timeout: float = 5.0

    async def find(self, query: str, most: int) -> list[SearchHit]:
        """What `_search` finds by a simple query string."""
        body = {"size": most, "query": {"simple_query_string": {"query": query}}, "_source": ["title", "url", "text"]}
        answer = await _fetched("POST", f"{self.url.rstrip('/')}/{self.index}/_search", self.timeout, json=body)
        try:
            return hits_of([one["_source"] for one in answer["hits"]["hits"]], most)
        except (KeyError, TypeError, ValueError):
            raise Unanswered from None


@dataclass(frozen=True, kw_only=True)
class SearXNG:
    """A SearXNG that gives JSON (`formats` in its settings.yml), which asks other search engines."""

    url: str
    timeout: float = 5.0

    async def find(self, query: str, most: int) -> list[SearchHit]:
        """What its `/search` finds."""
        asked = {"q": query, "format": "json"}
        answer = await _fetched("GET", f"{self.url.rstrip('/')}/search", self.timeout, params=asked)
        try:
            results = [{**one, "text": one.get("content") or ""} for one in answer["results"]]
            return hits_of(results, most)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise Unanswered from None


def hits_of(found: Any, most: int) -> list[SearchHit]:
    """Hits from what another program sent: a `ValueError` unless they are a list of texts; nothing that steers a terminal."""
    if not isinstance(found, list):
        raise ValueError("not a list")
    return [SearchHit(*(_clean(one, name) for name in ("title", "url", "text"))) for one in found[:most]]


def _clean(one: Any, name: str) -> str:
    value = one.get(name, "") if isinstance(one, dict) else None
    if not isinstance(value, str):
        raise ValueError("not a text")
    return "".join(letter if letter.isprintable() else " " for letter in value[:LONGEST])


async def _fetched(method: str, url: str, timeout: float, **asked: Any) -> Any:
    try:
        async with httpx.AsyncClient(timeout=timeout) as client:
            answer = await client.request(method, url, **asked)
        answer.raise_for_status()
        return answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        raise Unanswered from None
