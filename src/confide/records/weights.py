"""Weights that go with keys: who exchanged a key has the weight of those who have what they have now.

Where firms are drawn by size class and section, a weight tells both. A record that kept its own beside another's section would tell
that it is not what it seems, and where it belongs: under the keys of a firm that is alone stands somebody of another weight, and one
of the right weight stands next to it. Weighted counts by such keys would be off, too.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from confide.arrays import Floats, Ints, Narrow
from confide.engines import Coded
from confide.records.cells import parts_of
from confide.records.sums import add_counts, add_values
from confide.records.traits import Trait

__all__ = ["strata_of", "weights_with_keys"]

SEEN = 50_000
"""Records that tell which keys weights depend on."""

EACH = 20
"""Keys tell of weights only where their cells have so many records on average: of a few, any seem to."""

DIGITS = 2
"""A key that tells no hundredth more of the spread of weights, beside those that tell more, is none of them."""

MOST_CELLS = 1_000_000
"""Keys with more cells tell nothing more of weights that anybody could know."""


def weights_with_keys(weights: Ints, true: Coded, moved: Coded, names: tuple[str, ...]) -> Ints:
    """The weights of records whose keys were exchanged: in the ratio of the mean weights of those with their keys now and before.

    Where all of a cell by these keys have one weight, records that moved there have it too. Where nobody was in such a cell, fewer of
    the keys tell.
    """
    found = weights.copy()
    old, new = ([one.classes(name) for name in names] for one in (true, moved))
    sizes = [int(places.max(initial=0)) + 1 for places in old]
    apart = np.zeros(len(weights), bool)
    for was, now in zip(old, new, strict=True):
        apart |= was != now
    left = np.flatnonzero(apart)
    for number in range(len(names), 0, -1):
        mean = _means(weights, old[:number], sizes[:number])
        was, now = (_cells([places[left] for places in some[:number]], sizes) for some in (old, new))
        known = mean[now] > 0
        rows = left[known]
        found[rows] = np.rint(weights[rows] * (mean[now] / np.maximum(mean[was], 1e-300))[known])
        left = left[~known]
    return found


def strata_of(weights: Ints, coded: Coded, traits: Iterable[Trait]) -> tuple[str, ...]:
    """The keys, each at one of its levels, on which weights depend; those that tell most first, and none that hardly tells more."""
    rows = np.unique(np.linspace(0, len(weights) - 1, min(SEEN, len(weights))).astype(np.int64))
    logs = np.log(np.maximum(weights[rows], 1))
    places = {name: coded.classes(name)[rows] for trait in traits for name in trait.levels}
    chosen: list[str] = []
    told, left, cell = 0.0, [trait.levels for trait in traits], np.zeros(len(rows), np.int64)
    while left:
        # levels stand with the coarsest first, which is taken if finer ones tell no more
        shares = {name: _told(logs, _parted(cell, places[name])) for levels in left for name in levels}
        best = max(shares, key=lambda name: shares[name])
        if shares[best] <= told:
            break
        chosen.append(best)
        told, cell = shares[best], _parted(cell, places[best])
        left = [levels for levels in left if best not in levels]
    return tuple(chosen)


def _parted(cell: Ints, places: Narrow) -> Ints:
    return _cells([cell, places], [0, int(places.max(initial=0)) + 1])


def _told(logs: Floats, cell: Ints) -> float:
    """The share of the variance that lies between cells, less what chance makes of it: adjusted R², and four of its standard
    errors less where cells tell nothing."""
    if cell.max(initial=0) >= MOST_CELLS:
        return 0.0
    sizes = np.bincount(cell)
    cells, whole = np.count_nonzero(sizes), float(np.square(logs - logs.mean()).sum()) if len(logs) else 0.0
    if len(logs) < EACH * cells or whole < 1e-9:
        return 0.0
    free, chance = len(logs) - cells, 4 * float(np.sqrt(2 * cells)) / len(logs)
    mean = np.bincount(cell, logs) / np.maximum(sizes, 1)
    within = float(np.square(logs - mean[cell]).sum())
    return round(1 - within / free / (whole / (len(logs) - 1)) - chance, DIGITS)


def _means(weights: Ints, classes: list[Narrow], sizes: list[int]) -> Floats:
    """The mean weight of each cell by some keys; 0 where nobody is."""
    sums, counts = np.zeros(int(np.prod(sizes))), np.zeros(int(np.prod(sizes)), np.int64)
    for part in parts_of(len(weights)):
        cell = _cells([places[part] for places in classes], sizes)
        add_counts(counts, cell)
        add_values(sums, cell, weights[part].astype(np.float64))
    return np.asarray(sums / np.maximum(counts, 1))


def _cells(places: Sequence[Narrow | Ints], sizes: Sequence[int]) -> Ints:
    cell = places[0].astype(np.int64)
    for more, size in zip(places[1:], sizes[1:], strict=False):
        cell = cell * size + more
    return cell
