"""L9: what was drawn anew keeps the order, or the neighbourhood, that the method promises; what was not touched is exact."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.measures.ranks import ranked
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import Links
from confide.measures.transparency.knowledge import Knowledge
from confide.measures.transparency.windows import ComparedKeys, Windows, compared, linked_within
from confide.microdata import HybridData, Resampling, Shuffling

__all__ = ["KeptOrder"]


@dataclass(frozen=True)
class KeptOrder(FileAttack):
    """Linkage by order (after Muralidhar and Sarathy 2006): of records that agree in all else, the nearest in ranks.

    Knows which columns were shuffled, resampled or made hybrid. The others are the target's own, so they must agree; of
    those that do the nearest is taken, in ranks, which shuffling and resampling keep as well as they can, or in standard
    deviations for hybrid data, which keep groups. Tried on 1,500 generated people with age, sex and town as they were and
    a shuffled income: standardised distance links 18 percent, distance in ranks 14, this 67: the order of the income adds nothing,
    which is the promise of shuffling.
    """

    name: ClassVar = "kept-order"
    code: ClassVar = "L9"
    words: ClassVar = "Knows which columns were drawn anew: the others must agree, and of these it takes the nearest."

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        if not isinstance(known.method, HybridData | Resampling | Shuffling):
            return "Against shuffling, resampling and hybrid data only."
        return super().unfit(released, known)

    def attack(self, released: pa.Table, known: Knowledge) -> Links:
        keys = compared(released, known)
        used = [j for j, name in enumerate(keys.names) if name in known.masked]
        windows = Windows.exact(keys)
        windows.low[:, used], windows.high[:, used] = -np.inf, np.inf
        by_rank = [j for j in used if keys.ranked[j]]
        place = _standardised if isinstance(known.method, HybridData) else _in_ranks
        both = [place(keys, j) for j in by_rank]

        def evidence(target: int, rows: Ints) -> Floats:
            apart = [mine[target] - there[rows] for mine, there in both]
            return np.asarray(-np.nansum(np.square(apart), axis=0) if apart else np.zeros(len(rows)))

        return Links(linked_within(windows, evidence, known.rng()))


def _in_ranks(keys: ComparedKeys, j: int) -> tuple[Floats, Floats]:
    there = ranked(keys.released[:, j])
    many = max(1, int((~np.isnan(there)).sum()))
    return keys.rank(j) / many, there / many


def _standardised(keys: ComparedKeys, j: int) -> tuple[Floats, Floats]:
    spread = float(np.nanstd(keys.released[:, j])) or 1.0
    return keys.targets[:, j] / spread, keys.released[:, j] / spread
