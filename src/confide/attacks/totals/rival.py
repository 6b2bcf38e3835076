"""B2: the second largest contributor to a total takes their own part away, and what is left is the largest's."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.attacks.choosing import number_secret
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.intruder import Intruder, values
from confide.attacks.passing import candidates, within_rules
from confide.attacks.totals.parts import classes_for_table
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["Rival"]

CELLS = 5000
"""Of a table of so many cells many have few contributors."""

FEW = 3
"""In a cell of so few units the rest is believed to be small."""

LARGE = 0.3
"""Where the intruder holds this share of a total, the largest holds as much or more, and the rest is believed to be small."""


@dataclass(frozen=True)
class Rival:
    """Estimate the largest contributor to a cell, being the second largest.

    Tried, on 200 cells of 20,000 establishments without protection: (1) the total less one's own part, everywhere: 60 of 200
    claims right. (2) The same where the cell has few units or one's own part is large: 49 of 72, kept. (3) Half of one's own
    part taken off for each further unit: 48 of 72.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "rival"
    code: ClassVar = "B2"
    words: ClassVar = "the second largest contributor takes its own part off the total"
    knows: ClassVar = "the intruder's own contribution, and that nobody but the target contributes more to the cell"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        secret = number_secret(book, self.secret)
        keys = self.keys or tuple(v.name for v in classes_for_table(book, besides=secret, cells=CELLS))
        wanted = UnitTargets(keys, secret, number=True, weighted=True, rival=True)
        classes = candidates(book, lambda v: not v.binned)
        return within_rules(wanted, book, policy, given=self.keys, among=(classes, classes[::-1]))

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted, known = self.wants(intruder.book, intruder.policy).met(intruder.known), intruder.known
        table = intruder.table(*wanted.keys, measure=("count", "total"), of=wanted.secret)
        if table is None or known.own is None:
            return
        cells = tuple(known.places[key] for key in wanted.keys)
        total, count = values(table, "total")[cells], values(table, "count")[cells]
        left = total - known.own
        believed = (left > 0) & ((count <= FEW) | (known.own >= LARGE * total))
        yield Claims.of(np.where(believed, left, np.nan))
