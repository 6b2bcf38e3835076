"""B3: total, mean and count of one cell together, with and without the largest."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.intruder import Intruder
from confide.attacks.totals.differences import in_the_top_bin, with_and_without
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["MeanAndCount"]


@dataclass(frozen=True)
class MeanAndCount:
    """Solve for the contribution of the largest from three measures of the same cells.

    A mean whose noise is not that of its total tells the sum a second time, as mean times weighted count; the two sums are
    averaged, and their differences taken. Where a mean is its protected total over its protected count, as it should be,
    the second sum is the first.

    Tried, on 22 giants among 100,000 establishments under `standard`: (1) totals alone, (2) mean times count alone, (3) the
    average of both, which is kept: 4 of 17 claims right each time, so that the mean adds nothing there.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "mean-and-count"
    code: ClassVar = "B3"
    words: ClassVar = "total, mean and count of the same cells, with and without the largest"
    knows: ClassVar = (
        "two classes of the target, that it is in the top bin of the number, and that nobody else there is"
    )

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        return in_the_top_bin(book, policy, keys=self.keys, secret=self.secret)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        found = with_and_without(intruder, wanted, "weighted_count", "total", "mean")
        if found is not None:
            whole, rest = (_sum(*part) for part in found)
            yield Claims.of(np.where(whole > rest, whole - rest, np.nan))


def _sum(weights: Floats, totals: Floats, means: Floats) -> Floats:
    """The sum as it is told twice."""
    return (totals + means * weights) / 2
