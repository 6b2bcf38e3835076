"""L1: the confidential value that stands beside the target's keys is the target's."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import LookUps
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["LookingUp"]


@dataclass(frozen=True)
class LookingUp(FileAttack):
    """Attribute disclosure by linkage (Dalenius 1977): the value beside the nearest keys; of several, the commonest.

    Knows the keys, not the method. What it gets from a file without the target is statistics.
    """

    name: ClassVar = "looking-up"
    code: ClassVar = "L1"
    seeks_record: ClassVar = False
    words: ClassVar = "Reads the confidential value of the released records nearest to the target's keys."

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        return super().unfit(released, known) or ("" if known.confidential else "No column is confidential.")

    def attack(self, released: pa.Table, known: Knowledge) -> LookUps:
        return LookUps(known.targets, known.confidential[0])
