"""What peers say to each other: one line of JSON each way. Nothing but the query, and nothing but the answer."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from confide.coprivacy.search.backends import SearchHit, hits_of

__all__ = [
    "LONGEST_LINE",
    "LONGEST_QUERY",
    "Garbage",
    "answer_line",
    "is_query",
    "query_line",
    "read_answer",
    "read_query",
    "refusal_line",
]

LONGEST_LINE = 256 * 1024
"""Bytes of a line: fifty hits of three texts of a thousand letters. Whoever sends more is not heard out."""
LONGEST_QUERY = 1000


class Garbage(Exception):
    """Not what a peer says."""


def query_line(query: str) -> bytes:
    """A request to submit a query."""
    return _line({"query": query})


def answer_line(hits: Sequence[SearchHit]) -> bytes:
    """What was found."""
    return _line({"hits": [asdict(hit) for hit in hits]})


def refusal_line() -> bytes:
    """No. It does not say why: that would tell what this peer has asked."""
    return _line({"hits": None})


async def read_query(reader: asyncio.StreamReader) -> str:
    """The query of a request, or `Garbage`."""
    query = (await _read(reader)).get("query")
    if not isinstance(query, str) or not is_query(query):
        raise Garbage
    return query


def is_query(text: str) -> bool:
    """Whether this can be asked: some letters, not too many, and nothing that cannot be printed or written."""
    return bool(text.strip()) and len(text) <= LONGEST_QUERY and text.isprintable()


async def read_answer(reader: asyncio.StreamReader, most: int) -> list[SearchHit] | None:
    """What a peer found, None if it refused, or `Garbage`."""
    told = await _read(reader)
    if "hits" not in told:
        raise Garbage
    try:
        return None if told["hits"] is None else hits_of(told["hits"], most)
    except ValueError:
        raise Garbage from None


def _line(told: dict[str, Any]) -> bytes:
    return json.dumps(told).encode() + b"\n"


async def _read(reader: asyncio.StreamReader) -> dict[str, Any]:
    try:
        told = json.loads(await reader.readuntil(b"\n"))
    except (ValueError, RecursionError, asyncio.LimitOverrunError, asyncio.IncompleteReadError):
        raise Garbage from None
    if not isinstance(told, dict):
        raise Garbage
    return told
