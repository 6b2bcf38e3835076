"""L9: microaggregation of single columns makes groups of neighbours, so every key has one of two averages."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from confide.arrays import Floats, Ints
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import Links
from confide.measures.transparency.knowledge import Knowledge
from confide.measures.transparency.windows import ComparedKeys, Windows, compared, linked_within
from confide.microdata import Microaggregation

__all__ = ["GroupWindows"]


@dataclass(frozen=True)
class GroupWindows(FileAttack):
    """Bounds of groups (Nin, Herranz and Torra 2008): a value lies between the averages of the groups beside its own.

    Knows that columns were microaggregated, which together, and k. Groups of one column are neighbours in its order, so
    what a target's value became is the nearest average below it or the nearest above; only records for which that holds
    of every such column can be theirs, and the nearest of them is taken. Columns that were grouped together give no such
    bounds, only a distance. Tried on 3 columns of 1,000 generated firms, each averaged by itself with k = 25 (standardised
    distance links 92 percent): any record within all bounds, 87; the nearest by standardised distance, 95; the nearest
    in units of the gap between the two averages, 96. Whoever has the whole list does better still by ranks.
    """

    name: ClassVar = "group-windows"
    code: ClassVar = "L9"
    words: ClassVar = "Knows that averages are over neighbours, and intersects what each key can have become."

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        if not isinstance(known.method, Microaggregation):
            return "Against microaggregation only."
        return (
            ""
            if any(compared(released, known).ranked[known.keys.index(name)] for name in known.masked_keys)
            else "No key was averaged."
        )

    def attack(self, released: pa.Table, known: Knowledge) -> Links:
        assert isinstance(known.method, Microaggregation)
        keys, alone = compared(released, known), _alone(known.method, known.masked)
        windows = Windows.exact(keys)
        for j, name in enumerate(keys.names):
            if name in known.masked:
                whole = keys.ranked[j] and pt.is_integer(released.schema.field(name).type)
                ends = _neighbours(keys, j, whole) if name in alone and keys.ranked[j] else (-np.inf, np.inf)
                windows.low[:, j], windows.high[:, j] = ends
        used = np.array([j for j, name in enumerate(keys.names) if name in known.masked and keys.ranked[j]], np.int64)
        gap = windows.high[:, used] - windows.low[:, used]
        spread = np.nanstd(keys.released[:, used], axis=0)
        unit = np.where(np.isfinite(gap) & (gap > 0), gap, np.where(spread > 0, spread, 1.0))

        def evidence(target: int, rows: Ints) -> Floats:
            apart = (keys.released[np.ix_(rows, used)] - keys.targets[target, used]) / unit[target]
            return np.asarray(-np.nansum(apart**2, axis=1))

        return Links(linked_within(windows, evidence, known.rng()))


def _alone(method: Microaggregation, masked: tuple[str, ...]) -> set[str]:
    """The columns that were averaged by themselves."""
    if method.algorithm == "optimal":
        return set(masked)
    together = method.groups or (masked,)
    return {group[0] for group in together if len(group) == 1}


def _neighbours(keys: ComparedKeys, j: int, whole: bool) -> tuple[Floats, Floats]:
    """The nearest average below and above each target's value; averages of whole numbers were rounded."""
    averages, wanted, room = np.unique(keys.released[:, j]), keys.targets[:, j], 0.5 if whole else 0.0
    averages = np.concatenate([[-np.inf], averages[~np.isnan(averages)], [np.inf]])
    low = averages[np.searchsorted(averages, np.nan_to_num(wanted) - room, "right") - 1]
    high = averages[np.searchsorted(averages, np.nan_to_num(wanted) + room, "left")]
    return np.where(np.isnan(wanted), -np.inf, low), np.where(np.isnan(wanted), np.inf, high)
