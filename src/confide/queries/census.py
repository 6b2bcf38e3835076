"""Counting sets of units: how many, and under which key. What the rules and Drop q start from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.model.evidence import Box, Cells, Tally

__all__ = ["Census", "Group", "TallyFunction"]

TallyFunction = Callable[[Tally], Cells]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Group:
    """Sets of records: sizes and keys, one entry a set."""

    records: Ints
    units: Ints
    key: Ints


@dataclass(frozen=True)
class Census:
    """Counts sets of units in the implicit table of the universe variables, which one tally of the whole file gives."""

    tally: TallyFunction
    variables: tuple[str, ...]
    several: bool

    @cached_property
    def table(self) -> Cells:
        return self.tally(Tally(by=self.variables))

    def count(self, boxes: Sequence[Box]) -> Group:
        """One set for each box; the box of no conditions is everyone."""
        cells = [self._asked(box) if self.several else self._summed(box) for box in boxes]
        return Group(*(np.array(column, dtype=np.int64) for column in zip(*cells, strict=True)))

    def margins(self, by: tuple[str, ...]) -> Group:
        """One set for each class of `by` that is not empty."""
        cells = self.tally(Tally(by=by))
        return Group(cells.records, cells.units, cells.key)

    def complement(self, boxes: Sequence[Box]) -> Group:
        """Everyone outside the disjoint boxes, as one set. A unit both inside and outside counts as inside."""
        inside, everyone = self.count(boxes), self.count([()])
        return Group(
            everyone.records - inside.records.sum(),
            everyone.units - inside.units.sum(),
            everyone.key ^ np.bitwise_xor.reduce(inside.key),
        )

    def _summed(self, box: Box) -> tuple[int, int, int]:
        table, mask = self.table, np.ones(len(self.table.records), dtype=bool)
        for name, places in box:
            mask &= np.isin(table.places[:, self.variables.index(name)], places)
        return int(table.records[mask].sum()), int(table.units[mask].sum()), int(np.bitwise_xor.reduce(table.key[mask]))

    def _asked(self, box: Box) -> tuple[int, int, int]:
        cells = self.tally(Tally(by=(), within=(box,) if box else ()))
        if not len(cells.records):
            return 0, 0, 0
        return int(cells.records[0]), int(cells.units[0]), int(cells.key[0])
