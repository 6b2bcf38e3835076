"""How far the distribution of each column has moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.arrays import Floats, Ints
from confide.errors import Mistake
from confide.measures.pairs import Both, unpaired
from confide.measures.records import weights_of

__all__ = ["Hellinger", "hellinger"]


@dataclass(frozen=True)
class Hellinger:
    """The Hellinger distance of each column, from 0 (same shares) to 1 (nothing in common)."""

    columns: tuple[str, ...]
    distance: Floats

    @property
    def percent(self) -> float:
        """The mean over columns, in percent."""
        return 100 * float(self.distance.mean())


def hellinger(
    original: Any, released: Any, *, columns: str | Sequence[str], bins: int = 20, weight: str | None = None
) -> Hellinger:
    """Hellinger distance (Hellinger 1909) between the original and the released distribution of each column.

    sqrt(1 - sum sqrt(p q)) over categories, or, of numbers, over bins that hold equal shares of the original. A missing
    value is a category. Files need not have the same records.

    >>> import pyarrow as pa
    >>> original, released = pa.table({"sex": list("ffmm")}), pa.table({"sex": list("xxxx")})
    >>> hellinger(original, released, columns="sex").distance.tolist()
    [1.0]
    """
    if bins < 1:
        raise Mistake(f"There is 1 bin or more, not {bins}.")
    pair = unpaired(original, released, columns)
    weights = weights_of(original, weight), weights_of(released, weight)
    found = [_distance(*_binned(column, bins), weights) for column in pair.columns]
    return Hellinger(tuple(column.name for column in pair.columns), np.array(found))


def _binned(column: Both, bins: int) -> tuple[Ints, Ints]:
    """Both sides as numbers of bins, from 0 for what is missing."""
    if not column.numeric:
        return column.original + 1, column.released + 1
    known = column.original[~np.isnan(column.original)]
    cuts = np.unique(np.quantile(known, np.arange(1, bins) / bins)) if len(known) else np.empty(0)
    sides = (np.where(np.isnan(x), 0, np.searchsorted(cuts, x) + 1) for x in (column.original, column.released))
    first, second = sides
    return first.astype(np.int64), second.astype(np.int64)


def _distance(original: Ints, released: Ints, weights: tuple[Floats | None, Floats | None]) -> float:
    size = int(max(original.max(), released.max())) + 1
    p, q = (np.bincount(side, w, minlength=size) for side, w in zip((original, released), weights, strict=True))
    apart = (np.sqrt(p / p.sum()) - np.sqrt(q / q.sum())) ** 2
    return float(np.sqrt(min(1.0, apart.sum() / 2)))
