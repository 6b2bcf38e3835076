"""The records that models learn from, and those that new ones are made for."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.errors import Mistake
from confide.microdata.records import Records, numbers

__all__ = ["RecordPool"]


@dataclass(frozen=True)
class RecordPool:
    """Places of the records `surveyed`, of the `others` of the population, if the file has them; and the weights of the
    surveyed, if there are any. `people` are all whom the file stands for."""

    surveyed: Ints
    others: Ints | None
    weights: Floats | None
    people: float

    @classmethod
    def of(cls, records: Records, sampled: str | None) -> "RecordPool":
        """All records; or, by a column that says so, those surveyed and those not."""
        weights, everybody = records.weights, np.arange(len(records))
        if sampled is None:
            return cls(everybody, None, weights, float(len(records) if weights is None else weights.sum()))
        inside = _said(sampled, records.array(sampled))
        surveyed, others = everybody[inside], everybody[~inside]
        return cls(surveyed, others, None if weights is None else weights[surveyed], float(len(records)))

    def fitting(self, rng: np.random.Generator, *, proper: bool) -> Ints:
        """Which of the surveyed a model is fitted to: drawn with replacement, in proportion to weights if there are any."""
        n = len(self.surveyed)
        if self.weights is not None:
            return np.sort(rng.choice(n, n, p=self.weights / self.weights.sum()))
        return np.sort(rng.integers(0, n, n)) if proper else np.arange(n)

    def new(self, size: int, rng: np.random.Generator, *, where: str) -> Ints:
        """The records, by place, whose given columns new ones have: a sample of those not surveyed, or of all with replacement."""
        if self.others is None:
            chance = None if self.weights is None else self.weights / self.weights.sum()
            return rng.choice(self.surveyed, size, p=chance)
        if size > len(self.others):
            raise Mistake(
                f"Synthesis: size is {size:,}, and {len(self.others):,} of the population were not surveyed{where}.",
                suggestions=["Draw fewer records."],
            )
        return rng.choice(self.others, size, replace=False)


def _said(name: str, column: pa.Array) -> Ints:
    """Where a column is true, or 1; anything but that and false or 0 is a Mistake."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    whole = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    values = numbers(name, column) if whole else np.full(len(column), np.nan)
    if not np.isin(values, (0, 1)).all():
        raise Mistake(f"Column {name!r} must say true or false (or 1 or 0) of every record: who was surveyed.")
    return np.asarray(values == 1)
