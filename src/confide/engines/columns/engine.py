"""The engine for large files that fit into memory: columns mapped from a file, and compiled loops over them.

It answers from one pass over the columns that a question needs. Universes are bit masks, which are kept.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Floats, Ints
from confide.cancellation import current_cancellation
from confide.engines.columns.reading import Words
from confide.engines.columns.store import ColumnsStore
from confide.engines.columns.table import count_cells
from confide.engines.columns.universes import Universes, chosen_rows
from confide.model.evidence import Box, Cells, Moments, Rows, Spread, Step, Tally

if TYPE_CHECKING:
    from confide.engines.sums.grouped import Groups
    from confide.engines.sums.kernels import Batch, Layout

__all__ = ["ColumnsEngine"]

BATCH = 1 << 16
"""Records that are read at once where a model has products of classes."""


class ColumnsEngine:
    """Answers tallies from a file written by `write_columns`; safe to share among threads."""

    def __init__(self, path: Path) -> None:
        self._store = ColumnsStore(path)
        self.facts = self._store.facts
        self._universes = Universes(self._store)

    @property
    def size(self) -> int:
        """Bytes of memory that the columns take once all have been read."""
        return self._store.size

    def tally(self, tally: Tally) -> Cells:
        return count_cells(self._store, tally, self._universes.mask(tally.within, tally.without))

    def units(self, within: Sequence[Box], *, low: int, high: int) -> Ints:
        units = self._store.units
        start, stop = int(np.searchsorted(units, low, "left")), int(np.searchsorted(units, high, "right"))
        return np.unique(units[self._universes.rows(tuple(within), start, stop)])

    def moments(self, step: Step) -> Moments:
        from confide.engines.columns.models import sum_moments
        from confide.engines.sums import batches
        from confide.engines.sums import stream as models

        if (groups := self._groups(step)) is not None:
            return sum_moments(self._store, step, groups, self._mask(step))
        layout = batches.lay_out(step.design)
        return models.moments(step, layout, self._batches(step, layout), several=self.facts.several)

    def spread(self, step: Step, inverse: Floats) -> Spread:
        from confide.engines.columns.models import sum_spread
        from confide.engines.sums import batches
        from confide.engines.sums import stream as models

        if not step.clusters and (groups := self._groups(step)) is not None:
            return sum_spread(self._store, step, groups, self._mask(step), inverse)
        layout = batches.lay_out(step.design)
        return models.spread(step, layout, self._batches(step, layout), inverse)

    def rows(self, step: Step, inverse: Floats, *, low: int, high: int) -> Rows:
        from confide.engines.sums import batches
        from confide.engines.sums import stream as models

        layout = batches.lay_out(step.design)
        return models.rows(step, layout, self._batches(step, layout, low=low, high=high), inverse)

    def close(self) -> None:
        """Nothing is open but the mapped file, which goes with the engine."""

    def _groups(self, step: Step) -> "Groups | None":
        """The groups of a model without products of classes and with one linear predictor, of units with one record each."""
        from confide.engines.sums.grouped import group

        return None if self.facts.several or step.family.several else group(step.design)

    def _mask(self, step: Step) -> Words:
        return self._universes.mask(step.within, step.without)

    def _batches(
        self, step: Step, layout: "Layout", *, low: int = -(2**63), high: int = 2**63 - 1
    ) -> "Iterator[Batch]":
        """The records of a model in their stored order, at least one batch."""
        from confide.engines.sums.batches import columns_of, read_batch

        names = columns_of(step, self.facts)
        units, words = self._store.units, self._universes.mask(step.within)
        start, stop = int(np.searchsorted(units, low, "left")), int(np.searchsorted(units, high, "right"))
        for begin in range(start, stop, BATCH) or [start]:
            current_cancellation().pause()
            rows = chosen_rows(words, begin, min(stop, begin + BATCH))
            yield read_batch({name: self._values(name, rows) for name in names}, step, self.facts, layout.sizes)

    def _values(self, name: str, rows: Ints) -> NDArray[Any]:
        """A column of some records; numbers with NaN where they are missing."""
        values, column = self._store.array(name)[rows], self._store.column(name)
        if name in ("unit", "key") or column.least != column.missing:
            return values
        return np.where(values == column.missing, np.nan, values)
