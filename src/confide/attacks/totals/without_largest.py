"""B1: the total of all, less the total of all but the largest (Ma et al. 2016)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.intruder import Intruder
from confide.attacks.totals.differences import in_the_top_bin, with_and_without
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["WithoutLargest"]


@dataclass(frozen=True)
class WithoutLargest:
    """Take the difference of two totals that differ by one large unit.

    Tried, on 22 giants among 100,000 establishments under `standard`: (1) everyone against all bins but the top one: refused,
    for few are left out. (2) The same without the lowest bin, in both: answered, 4 of 17 claims right: kept. (3) The top
    three bins against two of them: 1 of 7, for most cells are withheld. (4) Claims of a fifth of the total or more: none.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "without-largest"
    code: ClassVar = "B1"
    words: ClassVar = "a total, less the same total without the largest"
    knows: ClassVar = (
        "two classes of the target, that it is in the top bin of the number, and that nobody else there is"
    )

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        return in_the_top_bin(book, policy, keys=self.keys, secret=self.secret)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        found = with_and_without(intruder, self.wants(intruder.book, intruder.policy).met(intruder.known), "total")
        if found is not None:
            whole, rest = found[:, 0]
            yield Claims.of(np.where(whole > rest, whole - rest, np.nan))
