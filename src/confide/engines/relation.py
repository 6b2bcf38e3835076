"""Tallies by SQL where an aggregate gives the very largest contribution of a cell only: those after it are asked for by themselves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np

from confide.arrays import Ints
from confide.engines import StoreFacts
from confide.engines.cells import bounded
from confide.engines.sql import Dialect, defined, inside, largest, listed, over_records, over_units, present, where
from confide.model.evidence import Cells, Tally

__all__ = ["Ask", "Relation"]

FEW_CELLS = 1000
"""Up to so many cells are named when their largest contributions are asked for; more are all looked at."""

Ask = Callable[[str, int | None], Ints]
"""The rows of a statement's answer; those whose column of that number is 0 are left out, and need have no other numbers."""


@dataclass(frozen=True)
class Relation:
    """The table `records` of an engine, as statements see it: `sizes` are the numbers of places of each variable."""

    facts: StoreFacts
    sizes: Mapping[str, int]
    dialect: Dialect

    def tally(self, tally: Tally, ask: Ask) -> Cells:
        """Aggregates by class."""
        condition, brief = self._condition(tally), replace(tally, top=min(tally.top, 1))
        if self.facts.several:
            sql = over_units(brief, self.facts, condition, dialect=self.dialect)
        else:
            sql = over_records(brief, self.facts, condition, signed=True, dialect=self.dialect)
        cells = _cells(tally, ask(sql, len(tally.by)))
        return bounded(self._with_largest(cells, tally, ask) if tally.top > 1 else cells, tally)

    def _condition(self, tally: Tally, *extra: str) -> str:
        drops = [f"unit NOT IN ({listed(tally.without)})"] if tally.without else []
        there = [*present(tally.of, self.facts), *defined(tally.complete, self.facts)]
        return where(tally, self.facts, self.sizes, *there, *drops, *extra)

    def _with_largest(self, cells: Cells, tally: Tally, ask: Ask) -> Cells:
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
        only = [inside(boxes, self.facts, self.sizes)] if named and boxes else []
        if boxes:
            _place(ask(largest(tally, self.facts, self._condition(tally, *only)), None), cells, top)
        return replace(cells, top=top)


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
