"""L9: what is masked by a rule alone can be masked by anybody in the same way."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import Links
from confide.measures.transparency.knowledge import Knowledge
from confide.measures.transparency.windows import Windows, compared, linked_within
from confide.microdata import (
    Generalisation,
    GlobalRecoding,
    LocalSuppression,
    Method,
    Rounding,
    Sampling,
    TopBottomCoding,
)

__all__ = ["OwnList"]

BY_RULE = (Generalisation, GlobalRecoding, LocalSuppression, Rounding, Sampling, TopBottomCoding)


@dataclass(frozen=True)
class OwnList(FileAttack):
    """Masking one's own list: numbers are rounded and cut off as the file's were, categories recoded; equal records link.

    Knows the method and its parameters. What such a method leaves is what the intruder's own record becomes, so only
    records that are equal in every key can be the target's; a suppressed value tells nothing. Of several one is
    taken by chance. Thresholds that follow from shares show as the file's largest and smallest values.
    """

    name: ClassVar = "own-list"
    code: ClassVar = "L9"
    words: ClassVar = "Masks the target's keys by the same rule, and looks for a record that is equal to them."

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        if not isinstance(known.method, BY_RULE):
            return "Against rounding, coding, recoding, suppression and sampling only."
        return super().unfit(released, known)

    def attack(self, released: pa.Table, known: Knowledge) -> Links:
        assert known.method is not None
        keys = compared(released, known)
        windows = Windows.exact(keys)
        for j, name in enumerate(keys.names):
            if name in known.masked and keys.ranked[j]:
                became = _masked(known.method, keys.targets[:, j], keys.released[:, j])
                there = ~np.isnan(became)
                windows.low[there, j] = windows.high[there, j] = became[there]
        return Links(linked_within(windows, _alike, known.rng()))


def _masked(method: Method, values: Floats, released: Floats) -> Floats:
    if isinstance(method, Rounding):
        return np.asarray(np.rint(values / method.base) * method.base)
    if isinstance(method, TopBottomCoding) and not np.isnan(released).all():
        return np.clip(values, np.nanmin(released), np.nanmax(released))
    return values


def _alike(target: int, rows: Ints) -> Floats:
    return np.zeros(len(rows))
