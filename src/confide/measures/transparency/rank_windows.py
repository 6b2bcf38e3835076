"""L9: rank swapping moves no value farther than p percent of the ranks, so every key has a window."""

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
from confide.microdata import RankSwapping
from confide.microdata.search.exchange import pairs_near

__all__ = ["RankWindows"]

BINS = 20
"""How finely the distances of swaps are told apart. From 4 on it made no difference (Tarragona, p = 15: 95.2, 95.0, 95.3 with
4, 20, 60)."""

LEAST = 1e-4
"""No distance within the window is held to be less likely than this."""


@dataclass(frozen=True)
class RankWindows(FileAttack):
    """Rank windows (Nin, Herranz and Torra 2008): only records within p percent of the ranks in every key can be the target's.

    Knows that columns were rank swapped, and p. A swapped column has the same values as before, so the intruder knows
    the rank of the target's value without the original file. Of the records that lie in all windows they take the
    likeliest, by how far swaps go: they swap ranks themselves and count. Tried on the
    companies of Tarragona with p = 15: any record in all windows, 93.5 percent; the nearest of them in ranks, 92.9; the
    likeliest, 95.0.
    """

    name: ClassVar = "rank-windows"
    code: ClassVar = "L9"
    words: ClassVar = "Knows how far rank swapping moves values, and intersects the windows of all keys."

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        if not isinstance(known.method, RankSwapping):
            return "Against rank swapping only."
        return "" if known.masked_keys else "No key was swapped."

    def attack(self, released: pa.Table, known: Knowledge) -> Links:
        assert isinstance(known.method, RankSwapping)
        keys = compared(released, known)
        windows, far, like = Windows.exact(keys), np.zeros_like(keys.targets), {}
        there = np.full(keys.released.shape, np.nan)
        for j, name in enumerate(keys.names):
            if name in known.masked and keys.ranked[j]:
                width = _width(known.method.p, keys, j)
                windows.low[:, j], windows.high[:, j] = _window(keys, j, width)
                there[:, j] = ranked(keys.released[:, j]) / width
                far[:, j] = keys.rank(j) / width
                like[j] = _likelihood(int(np.sum(~np.isnan(keys.released[:, j]))), width, known.rng())

        def evidence(target: int, rows: Ints) -> Floats:
            total = np.zeros(len(rows))
            for j, chances in like.items():
                place = np.clip((there[rows, j] - far[target, j] + 1) / 2 * BINS, 0, BINS - 1)
                total += np.where(np.isnan(place), 0.0, chances[np.nan_to_num(place).astype(np.int64)])
            return total

        return Links(linked_within(windows, evidence, known.rng()))


def _width(p: float, keys: ComparedKeys, j: int) -> int:
    return max(1, int(p * int(np.sum(~np.isnan(keys.released[:, j]))) / 100))


def _window(keys: ComparedKeys, j: int, width: int) -> tuple[Floats, Floats]:
    """The least and largest value that each target's may have become; equal values are ranked by chance."""
    values, wanted = np.sort(keys.released[~np.isnan(keys.released[:, j]), j]), keys.targets[:, j]
    first = np.searchsorted(values, wanted, "left") - width
    last = np.searchsorted(values, wanted, "right") - 1 + width
    low = np.where(first < 0, -np.inf, values[np.clip(first, 0, len(values) - 1)])
    high = np.where(last >= len(values), np.inf, values[np.clip(last, 0, len(values) - 1)])
    return np.where(np.isnan(wanted), -np.inf, low), np.where(np.isnan(wanted), np.inf, high)


def _likelihood(size: int, width: int, rng: np.random.Generator) -> Floats:
    """The logarithm of how often swaps go so far, from the largest step down to the largest up."""
    moved = pairs_near(size, width, rng) - np.arange(size)
    share = np.histogram(moved, BINS, (-width - 0.5, width + 0.5))[0] / max(size, 1)
    return np.asarray(np.log(np.maximum(share, LEAST)))
