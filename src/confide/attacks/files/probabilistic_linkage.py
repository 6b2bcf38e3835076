"""L2: the released record with the most evidence for it is the target's."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import WeighedLinks
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["ProbabilisticAttack"]


@dataclass(frozen=True)
class ProbabilisticAttack(FileAttack):
    """Probabilistic record linkage (Fellegi and Sunter 1969): the record with the largest sum of log2(m / u) is the target's.

    Knows the keys, not the method. It is `measures.risk.probabilistic_linkage` as it stands.
    """

    name: ClassVar = "probabilistic-linkage"
    code: ClassVar = "L2"
    words: ClassVar = "Weighs how alike the keys are, attribute by attribute, and takes the likeliest record."

    def attack(self, released: pa.Table, known: Knowledge) -> WeighedLinks:
        return WeighedLinks(known.keys)
