"""L3: the true value lies close to the released one."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from confide.measures.records import FileRecords
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import IntervalClaims
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["IntervalDisclosure"]


@dataclass(frozen=True)
class IntervalDisclosure(FileAttack):
    """Interval disclosure (Domingo-Ferrer and Torra 2001): the true value lies in a narrow interval about the released one.

    Knows which record is the target's, say by a link. The interval reaches `percent` of the ranks to either side.
    """

    name: ClassVar = "interval-disclosure"
    code: ClassVar = "L3"
    words: ClassVar = "Believes that a true number is near the released one, in ranks."

    percent: float = 1.0

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        return "" if self._numbers(released, known) else "No confidential column has numbers."

    def attack(self, released: pa.Table, known: Knowledge) -> IntervalClaims:
        return IntervalClaims(self._numbers(released, known), self.percent)

    def _numbers(self, released: pa.Table, known: Knowledge) -> tuple[str, ...]:
        columns = FileRecords.of(released, known.confidential).columns if known.confidential else {}
        return tuple(name for name, column in columns.items() if column.kind == "numbers")
