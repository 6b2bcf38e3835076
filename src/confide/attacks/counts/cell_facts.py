"""The cells of a table as facts to be claimed, and the times at which to claim them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confide.attacks.choosing import codes
from confide.attacks.claims import SetFact
from confide.attacks.intruder import Intruder, universe
from confide.model.catalog.dataset import Dataset

__all__ = ["Schedule", "cell_facts", "drops_expected"]


def cell_facts(
    book: Dataset, by: Sequence[str], where: Mapping[str, Sequence[str]] | None = None
) -> tuple[SetFact, ...]:
    """The true count of every inner cell of a table, in the order of its numbers."""
    found = []
    for cell in itertools.product(*(codes(book, name) for name in by)):
        condition = {name: (code,) for name, code in zip(by, cell, strict=True)}
        found.append(SetFact(universe({**(where or {}), **condition})))
    return tuple(found)


def drops_expected(k: int) -> float:
    """How many units a part of a universe loses on average under Drop q."""
    return (2 + k) / 2 if k >= 2 else 0.0


@dataclass
class Schedule:
    """Says when to claim: each time when half as many questions again have been asked, and at the end."""

    intruder: Intruder
    next: float = 1.0

    def due(self, cost: int, *, last: bool = False) -> bool:
        """Whether to claim now, if the next step costs so many questions, or there is none."""
        last = last or self.intruder.left < cost
        if not last and self.intruder.asked < self.next:
            return False
        self.next = 1.5 * self.intruder.asked
        return True
