"""L11: records that stand in the order of the list they were drawn from."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from confide.data.kdtree.static import apart
from confide.measures.pairs import unpaired
from confide.measures.space import Space
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import Links
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["RowOrder"]

ERRORS = 4.0
"""The order is believed if keys are nearer in their places than elsewhere by so many standard errors of chance."""


@dataclass(frozen=True)
class RowOrder(FileAttack):
    """Row order: the record in the target's place of the list is theirs, if records and keys agree in their places.

    Knows the keys, and the list that the file was drawn from with its order, such as a register sorted by number. However
    much the keys were changed, if they are nearer in their own places than in others by more than chance, the order was kept.
    """

    name: ClassVar = "row-order"
    code: ClassVar = "L11"
    words: ClassVar = "Takes the record in the target's place of the list for theirs, if the order seems to be kept."

    def attack(self, released: pa.Table, known: Knowledge) -> Links:
        nothing = np.full(len(known.targets), -1, np.int64)
        if known.places.max(initial=-1) >= released.num_rows:
            return Links(nothing, ("The list is longer than the file.",))
        space = Space.of(unpaired(released, known.targets, known.keys), "ranks")
        elsewhere = known.rng().integers(0, released.num_rows, len(known.targets))
        here, there = (apart(space.released, space.original[rows], space.nominal) for rows in (known.places, elsewhere))
        surplus = float(np.sum(here < there)) - float(np.sum(here > there))
        kept = surplus > ERRORS * np.sqrt(max(1, int(np.sum(here != there))))
        return Links(known.places if kept else nothing)
