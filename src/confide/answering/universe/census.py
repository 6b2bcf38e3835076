"""Counting sets of units: how many, and under which key. What the rules and Drop q start from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.arrays import Bools, Ints
from confide.model.evidence import Box, Cells, Tally

__all__ = ["Census", "TallyFunction", "UnitSets"]

TallyFunction = Callable[[Tally], Cells]


@dataclass(frozen=True)
class UnitSets:
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

    def count(self, boxes: Sequence[Box]) -> UnitSets:
        """One set for each box; the box of no conditions is everyone."""
        cells = [self._asked((box,) if box else ()) if self.several else self._summed(box) for box in boxes]
        return UnitSets(*np.array(cells, dtype=np.int64).reshape(-1, 3).T)

    def inside(self, box: Box) -> Bools:
        """Which cells of the table are in the box."""
        mask = np.ones(len(self.table.records), dtype=bool)
        for name, places in box:
            mask &= np.isin(self.table.places[:, self.variables.index(name)], places)
        return mask

    def margins(self, by: tuple[str, ...]) -> UnitSets:
        """One set for each class of `by` that is not empty."""
        cells = self.tally(Tally(by=by))
        return UnitSets(cells.records, cells.units, cells.key)

    def complement(self, boxes: Sequence[Box]) -> UnitSets:
        """Everyone outside the disjoint boxes, as one set. A unit both inside and outside counts as inside."""
        inside, everyone = self.count(boxes), self.count([()])
        units = self._asked(tuple(boxes))[1] if self.several else inside.units.sum()
        return UnitSets(
            everyone.records - inside.records.sum(),
            everyone.units - units,
            everyone.key ^ np.bitwise_xor.reduce(inside.key),
        )

    def _summed(self, box: Box) -> tuple[int, int, int]:
        table, mask = self.table, self.inside(box)
        return int(table.records[mask].sum()), int(table.units[mask].sum()), int(np.bitwise_xor.reduce(table.key[mask]))

    def _asked(self, boxes: tuple[Box, ...]) -> tuple[int, int, int]:
        cells = self.tally(Tally(by=(), within=boxes))
        if not len(cells.records):
            return 0, 0, 0
        return int(cells.records[0]), int(cells.units[0]), int(cells.key[0])
