"""The engine for records that live in an agency's PostgreSQL: tables are counted by the server, models from a stream of records.

It reads the schema that `write_postgres` wrote and nothing else.
"""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from confide.arrays import Floats, Ints
from confide.cancellation import current_cancellation
from confide.engines import StoreFacts
from confide.engines.postgres.dialect import POSTGRES
from confide.engines.postgres.sessions import DatabaseSessions
from confide.engines.postgres.store import FORMAT, read_pointer
from confide.engines.postgres.streaming import read_records
from confide.engines.relation import Relation
from confide.engines.sql import inside
from confide.errors import Fault
from confide.model.evidence import Box, Cells, Moments, Rows, Spread, Step, Tally

if TYPE_CHECKING:
    from confide.engines.sums.kernels import Batch, Layout
    from confide.sources.database.connecting import Connection

__all__ = ["PostgresEngine"]

LEAST, GREATEST = -(2**63), 2**63 - 1


class PostgresEngine:
    """Answers tallies from records written by `write_postgres`; safe to share among threads."""

    def __init__(self, path: Path, database: str) -> None:
        self._sessions = DatabaseSessions(database, read_pointer(path))
        with self._sessions.question() as connection:
            [(written, text)] = connection.execute("SELECT format, described FROM meta").fetchall()
        try:
            if written != FORMAT:
                raise ValueError
            described = json.loads(text)
            self.facts = StoreFacts(**described["facts"])
            self._relation = Relation(self.facts, described["sizes"], POSTGRES)
            self._kinds: dict[str, str] = described["kinds"]
            self._rows: int = described["rows"]
        except (ValueError, KeyError, TypeError):
            self.close()
            raise Fault(
                "The records in the database were written by another version of Confide. Ingest the data again."
            ) from None

    def tally(self, tally: Tally) -> Cells:
        with self._sessions.question() as connection:
            return self._relation.tally(tally, partial(_integers, connection))

    def units(self, within: Sequence[Box], *, low: int, high: int) -> Ints:
        condition = f" AND {inside(within, self.facts, self._relation.sizes)}" if within else ""
        sql = f"SELECT DISTINCT unit FROM records WHERE unit BETWEEN {low} AND {high}{condition} ORDER BY unit"
        with self._sessions.question() as connection:
            return np.array([unit for (unit,) in connection.execute(sql.encode())], dtype=np.int64)

    def moments(self, step: Step) -> Moments:
        from confide.engines.sums import batches
        from confide.engines.sums import stream as models

        layout = batches.lay_out(step.design)
        return models.moments(step, layout, self._batches(step, layout), several=self.facts.several)

    def spread(self, step: Step, inverse: Floats) -> Spread:
        from confide.engines.sums import batches
        from confide.engines.sums import stream as models

        layout = batches.lay_out(step.design)
        return models.spread(step, layout, self._batches(step, layout), inverse)

    def rows(self, step: Step, inverse: Floats, *, low: int, high: int) -> Rows:
        from confide.engines.sums import batches
        from confide.engines.sums import stream as models

        layout = batches.lay_out(step.design)
        return models.rows(step, layout, self._batches(step, layout, low=low, high=high), inverse)

    def close(self) -> None:
        self._sessions.close()

    def _batches(self, step: Step, layout: "Layout", *, low: int = LEAST, high: int = GREATEST) -> "Iterator[Batch]":
        """The records of a model in the order of their numbers, at least one batch."""
        from confide.engines.sums.batches import columns_of, read_batch

        kinds = {name: self._kinds[name] for name in columns_of(step, self.facts)}
        chosen = inside(step.within, self.facts, self._relation.sizes) if step.within else "true"
        with self._sessions.question() as connection:
            for arrays in read_records(connection, kinds, chosen, self._span(connection, low, high)):
                current_cancellation().pause()
                yield read_batch(arrays, step, self.facts, layout.sizes)

    def _span(self, connection: "Connection", low: int, high: int) -> range:
        """The numbers of the records of units with such keys: records are numbered in the order of units."""
        if (low, high) == (LEAST, GREATEST):
            return range(self._rows)
        sql = f"SELECT count(*), min(record), max(record) FROM records WHERE unit BETWEEN {low} AND {high}"
        [[_, first, last]] = _integers(connection, sql, 0).tolist() or [[0, 0, -1]]
        return range(first, last + 1)


def _integers(connection: "Connection", sql: str, counted: int | None = None) -> Ints:
    """The rows of an answer; those whose column `counted` is 0 are left out, and have no other numbers either."""
    rows = connection.execute(sql.encode(), binary=True).fetchall()
    kept = [row for row in rows if counted is None or row[counted]]
    return np.array(kept, dtype=np.int64).reshape(len(kept), len(kept[0]) if kept else 0)
