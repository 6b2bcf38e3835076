"""Query logs for tests."""

from collections.abc import Sequence

from confide.querylogs import QueryLog


def made(asked: Sequence[tuple[str, str]]) -> QueryLog:
    """A log from pairs of user and query."""
    return QueryLog.of([user for user, _ in asked], [query for _, query in asked])
