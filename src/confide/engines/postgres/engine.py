"""The engine for records that live in an agency's PostgreSQL: tables are counted by the server, models from a stream of records.

It reads the schema that `write_postgres` wrote and nothing else.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from confide.arrays import Floats, Ints
from confide.cancellation import current_cancellation
from confide.engines import StoreFacts
from confide.engines.cells import bounded
from confide.engines.postgres.dialect import POSTGRES, largest
from confide.engines.postgres.sessions import Sessions
from confide.engines.postgres.store import FORMAT, read_pointer
from confide.engines.postgres.streaming import read_records
from confide.engines.sql import defined, inside, listed, over_records, over_units, present, where
from confide.errors import Fault
from confide.model.evidence import Box, Cells, Moments, Rows, Spread, Step, Tally

if TYPE_CHECKING:
    from confide.engines.postgres.connecting import Connection
    from confide.engines.sums.kernels import Batch, Layout

__all__ = ["PostgresEngine"]

LEAST, GREATEST = -(2**63), 2**63 - 1

FEW_CELLS = 1000
"""Up to so many cells are named when their largest contributions are asked for; more are all looked at."""


class PostgresEngine:
    """Answers tallies from records written by `write_postgres`; safe to share among threads."""

    def __init__(self, path: Path, database: str) -> None:
        self._sessions = Sessions(database, read_pointer(path))
        with self._sessions.question() as connection:
            [(written, text)] = connection.execute("SELECT format, described FROM meta").fetchall()
        try:
            if written != FORMAT:
                raise ValueError
            described = json.loads(text)
            self.facts = StoreFacts(**described["facts"])
            self._sizes: dict[str, int] = described["sizes"]
            self._kinds: dict[str, str] = described["kinds"]
            self._rows: int = described["rows"]
        except (ValueError, KeyError, TypeError):
            self.close()
            raise Fault(
                "The records in the database were written by another version of Confide. Ingest the data again."
            ) from None

    def tally(self, tally: Tally) -> Cells:
        condition = self._condition(tally)
        brief = replace(tally, top=min(tally.top, 1))
        if self.facts.several:
            sql = over_units(brief, self.facts, condition, dialect=POSTGRES)
        else:
            sql = over_records(brief, self.facts, condition, signed=True, dialect=POSTGRES)
        with self._sessions.question() as connection:
            cells = _cells(tally, _integers(connection, sql, len(tally.by)))
            if tally.top > 1:
                cells = self._with_largest(connection, cells, tally)
        return bounded(cells, tally)

    def units(self, within: Sequence[Box], *, low: int, high: int) -> Ints:
        condition = f" AND {inside(within, self.facts, self._sizes)}" if within else ""
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

    def _condition(self, tally: Tally, *extra: str) -> str:
        drops = [f"unit NOT IN ({listed(tally.without)})"] if tally.without else []
        there = [*present(tally.of, self.facts), *defined(tally.complete, self.facts)]
        return where(tally, self.facts, self._sizes, *there, *drops, *extra)

    def _with_largest(self, connection: "Connection", cells: Cells, tally: Tally) -> Cells:
        """All the largest contributions, asked for where they matter."""
        assert cells.top is not None and cells.size is not None
        matters = np.flatnonzero(cells.top[:, 0] > (tally.share * cells.size if tally.share else -1))
        top = np.repeat(cells.top[:, :1], tally.top, axis=1)
        top[matters, 1:] = 0
        boxes = tuple(
            tuple((name, (int(place),)) for name, place in zip(tally.by, cells.places[row], strict=True))
            for row in matters
        )
        named = tally.by and len(boxes) < min(len(cells.places), FEW_CELLS)
        only = [inside(boxes, self.facts, self._sizes)] if named and boxes else []
        if boxes:
            found = _integers(connection, largest(tally, self.facts, self._condition(tally, *only)))
            _place(found, cells, top)
        return replace(cells, top=top)

    def _batches(self, step: Step, layout: "Layout", *, low: int = LEAST, high: int = GREATEST) -> "Iterator[Batch]":
        """The records of a model in the order of their numbers, at least one batch."""
        from confide.engines.sums.batches import columns_of, read_batch

        kinds = {name: self._kinds[name] for name in columns_of(step.design, self.facts)}
        chosen = inside(step.within, self.facts, self._sizes) if step.within else "true"
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


def _cells(tally: Tally, found: Ints) -> Cells:
    """The cells of an answer, in the order of their places; of the largest contributions the very largest."""
    width = len(tally.by)
    found = found[np.lexsort(found[:, :width].T[::-1])] if width and len(found) else found
    rest = iter(np.ascontiguousarray(found[:, width:].T)) if len(found) else repeat(np.zeros(0, np.int64))
    records, key = next(rest), next(rest)
    weight = next(rest) if tally.weighted else None
    total, size, square = (next(rest) if tally.of else None for _ in range(3))
    top = next(rest)[:, None] if tally.top else None
    units = next(rest, records)
    places = np.ascontiguousarray(found[:, :width]) if len(found) else np.zeros((0, width), np.int64)
    return Cells(tally.by, places, records, units, key, weight, total, size, square, top)


def _place(found: Ints, cells: Cells, top: Ints) -> None:
    """Put contributions, which stand cell by cell and largest first, into the rows of their cells."""
    width = len(cells.by)
    rows = {tuple(place): row for row, place in enumerate(cells.places.tolist())}
    changes = np.flatnonzero((found[1:, :width] != found[:-1, :width]).any(axis=1)) + 1
    starts = np.concatenate([[0], changes])
    cell = np.array([rows[tuple(place)] for place in found[starts, :width].tolist()])
    lengths = np.diff([*starts, len(found)])
    rank = np.arange(len(found)) - np.repeat(starts, lengths)
    top[np.repeat(cell, lengths), rank] = found[:, width]
