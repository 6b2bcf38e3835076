"""The plain reference engine: dictionaries and loops, for specifications and small files."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from confide.arrays import Floats, Ints
from confide.engines import Coded, StoreFacts
from confide.engines.memory.models import MemoryModel, entering
from confide.engines.memory.several import SeveralModel
from confide.model.evidence import Box, Cells, Moments, Rows, Spread, Step, Tally

__all__ = ["MemoryEngine"]

Record = dict[str, Any]


class MemoryEngine:
    """Answers tallies from a list of records, as plainly as it can be said."""

    def __init__(self, coded: Coded) -> None:
        self.facts: StoreFacts = coded.facts
        self._records: list[Record] = coded.records.to_pylist()

    def tally(self, tally: Tally) -> Cells:
        groups: dict[tuple[int, ...], list[Record]] = defaultdict(list)
        for record in self._records:
            if self._counts(record, tally):
                groups[tuple(record[self.facts.classes[name]] for name in tally.by)].append(record)
        places = sorted(groups)
        column = self._measure(tally.of)
        rows = [self._aggregate(groups[place], column, tally) for place in places]
        fields = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in _FIELDS}
        return Cells(
            by=tally.by,
            places=np.array(places, dtype=np.int64).reshape(len(places), len(tally.by)),
            records=fields["records"],
            units=fields["units"],
            key=fields["key"],
            weight=fields["weight"] if tally.weighted else None,
            total=fields["total"] if tally.of else None,
            size=fields["size"] if tally.of else None,
            square=fields["square"] if tally.of else None,
            top=np.array([row["top"] for row in rows], dtype=np.int64).reshape(-1, tally.top) if tally.top else None,
        )

    def units(self, within: Sequence[Box], *, low: int, high: int) -> Ints:
        keys = {r["unit"] for r in self._records if low <= r["unit"] <= high and self._inside(r, within)}
        return np.array(sorted(keys), dtype=np.int64)

    def moments(self, step: Step) -> Moments:
        return self._model(step).moments()

    def spread(self, step: Step, inverse: Floats) -> Spread:
        return self._model(step).spread(inverse)

    def rows(self, step: Step, inverse: Floats, *, low: int, high: int) -> Rows:
        return self._model(step, low=low, high=high).rows(inverse)

    def close(self) -> None:
        self._records = []

    def _model(self, step: Step, *, low: int = -(2**63), high: int = 2**63 - 1) -> MemoryModel:
        units = [r for r in self._records if low <= r["unit"] <= high and r["unit"] not in step.without]
        kind = SeveralModel if step.family.several else MemoryModel
        return kind(step, [r for r in units if self._inside(r, step.within)], self.facts)

    def _measure(self, of: str | None) -> str | None:
        return self.facts.numbers[of] if of else None

    def _counts(self, record: Record, tally: Tally) -> bool:
        column = self._measure(tally.of)
        present = column is None or record[column] is not None
        present = present and all(entering(number, record, self.facts) is not None for number in tally.complete)
        return present and record["unit"] not in tally.without and self._inside(record, tally.within)

    def _inside(self, record: Record, within: Sequence[Box]) -> bool:
        return not within or any(
            all(record[self.facts.classes[name]] in places for name, places in box) for box in within
        )

    def _aggregate(self, records: list[Record], column: str | None, tally: Tally) -> dict[str, Any]:
        key = 0
        by_unit: dict[int, int] = defaultdict(int)
        for record in records:
            key ^= record["key"]
            by_unit[record["unit"]] += record[column] if column else 0
        size, top = sum(abs(value) for value in by_unit.values()), tally.top
        shift = self.facts.shifts.get(tally.of or "", 0)
        largest = sorted((abs(value) for value in by_unit.values()), reverse=True)[:top]
        largest += [0] * (top - len(largest))
        if top and tally.share and float(largest[0]) <= tally.share * size:
            largest = largest[:1] * top
        return {
            "records": len(records),
            "units": len(by_unit),
            "key": key,
            "weight": sum(r["weight"] for r in records) if self.facts.weighted else len(records),
            "total": sum(by_unit.values()),
            "size": size,
            "square": sum((abs(value) >> shift) ** 2 for value in by_unit.values()),
            "top": largest,
        }


_FIELDS = ("records", "units", "key", "weight", "total", "size", "square")
