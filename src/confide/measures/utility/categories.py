"""How much categories changed: record by record, in tables, and in what they still say."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from confide.arrays import Floats, Ints
from confide.errors import Mistake
from confide.measures.pairs import Both, Pair, matched, paired, unpaired
from confide.measures.records import FileRecords, listed, weights_of
from confide.measures.risk.classes import class_of

__all__ = ["Changes", "EntropyLoss", "changes", "entropy_loss", "pram_entropy", "table_distance"]


@dataclass(frozen=True)
class Changes:
    """Of each column the percentage of values suppressed, of values changed to another, and the mean distance of both.

    The distance of two categories is 1, or in an ordered column their difference in rank over the largest possible; a
    value that was suppressed is at distance 1, and so is one that was missing and has been filled in.
    """

    columns: tuple[str, ...]
    suppressed: Floats
    changed: Floats
    distance: Floats

    @property
    def percent(self) -> float:
        """The mean distance over all columns, in percent."""
        return 100 * float(self.distance.mean())


def changes(
    original: Any,
    released: Any,
    *,
    columns: str | Sequence[str],
    weight: str | None = None,
    identifier: str | None = None,
) -> Changes:
    """Direct comparison of categories (Domingo-Ferrer and Torra 2001): how many were suppressed or changed, and how far.

    >>> import pyarrow as pa
    >>> original, released = pa.table({"sex": list("ffmm")}), pa.table({"sex": ["f", "m", "m", None]})
    >>> found = changes(original, released, columns="sex")
    >>> found.suppressed.tolist(), found.changed.tolist(), found.percent
    ([25.0], [25.0], 50.0)
    """
    pair = paired(original, released, columns, identifier=identifier)
    weights = weights_of(original, weight)
    share = None if weights is None else weights[pair.truth]
    found = np.array(
        [[np.average(part, weights=share) for part in _changed(column, pair)] for column in pair.columns]
    ).T
    return Changes(tuple(column.name for column in pair.columns), 100 * found[0], 100 * found[1], found[2])


def _changed(column: Both, pair: Pair) -> tuple[Any, Any, Floats]:
    """Of each record: is its value suppressed, is it another, how far is it."""
    before, after = column.original[pair.truth], column.released
    blank = [np.isnan(side) if column.numeric else side < 0 for side in (before, after)]
    suppressed, filled = ~blank[0] & blank[1], blank[0] & ~blank[1]
    other = ~blank[0] & ~blank[1] & (before != after)
    widest = max(1, len(column.labels or ()) - 1)
    far = np.abs(before - after) / widest if column.ordered else np.ones(len(before))
    return suppressed, other, np.where(other, far, 0.0) + suppressed + filled


def table_distance(
    original: Any, released: Any, *, columns: str | Sequence[str], ways: int = 2, weight: str | None = None
) -> float:
    """Comparison of contingency tables (Domingo-Ferrer and Torra 2001): the mean percentage of records in another cell.

    That is half the sum of absolute differences of the shares of cells, over all tables: from 0 to 100. A missing value
    is a category. Files need not have the same records.

    >>> import pyarrow as pa
    >>> original, released = pa.table({"sex": list("ffmm")}), pa.table({"sex": list("fmmm")})
    >>> table_distance(original, released, columns="sex")
    25.0
    """
    pair = unpaired(original, released, columns)
    if ways < 1:
        raise Mistake(f"Tables have 1 column or more, not {ways}.")
    weights = [
        _shares(weights_of(frame, weight), rows) for frame, rows in zip((original, released), pair.rows, strict=True)
    ]
    codes = np.column_stack([_cells(column) for column in pair.columns])
    chosen = [c for w in range(1, min(ways, len(pair.columns)) + 1) for c in combinations(range(len(pair.columns)), w)]
    return 100 * float(np.mean([_table_distance(codes[:, list(some)], weights) for some in chosen]))


def _shares(weights: Floats | None, rows: int) -> Floats:
    return np.full(rows, 1 / rows) if weights is None else weights / weights.sum()


def _cells(column: Both) -> Ints:
    """Both files one under the other, as codes."""
    joined = np.append(column.original, column.released)
    if not column.numeric:
        return joined.astype(np.int64)
    return np.where(np.isnan(joined), -1, np.unique(joined, return_inverse=True)[1])


def _table_distance(codes: Ints, weights: list[Floats]) -> float:
    number = class_of(codes)
    split, cells = len(weights[0]), int(number.max()) + 1
    before = np.bincount(number[:split], weights[0], minlength=cells)
    after = np.bincount(number[split:], weights[1], minlength=cells)
    return min(1.0, float(np.abs(before - after).sum()) / 2)


@dataclass(frozen=True)
class EntropyLoss:
    """Of each column, what released values leave unknown about original ones: bits a record, and that in percent of all."""

    columns: tuple[str, ...]
    bits: Floats
    share: Floats

    @property
    def percent(self) -> float:
        """The mean percentage of the information that is lost."""
        return float(self.share.mean())


def entropy_loss(
    original: Any,
    released: Any,
    *,
    columns: str | Sequence[str],
    weight: str | None = None,
    identifier: str | None = None,
) -> EntropyLoss:
    """Entropy-based information loss (Kooiman, Willenborg and Gouweleeuw 1998): what released values no longer tell.

    H(V | V') = -sum p(v, v') log2 p(v | v') over the pairs of the two files, and its percentage of H(V): 0 if the original
    value can be told from the released one, 100 if nothing can. Categories may be other ones, as after recoding.
    Reference: Domingo-Ferrer and Torra (2001).

    >>> import pyarrow as pa
    >>> original, released = pa.table({"area": list("abcd")}), pa.table({"area": list("xxyy")})
    >>> found = entropy_loss(original, released, columns="area")
    >>> found.bits.tolist(), found.share.tolist()
    ([1.0], [50.0])
    """
    names = listed(columns, "columns to compare")
    truth = matched(original, released, names, identifier=identifier)
    before, after = FileRecords.of(original, names), FileRecords.of(released, names)
    weights = weights_of(original, weight)
    share = _shares(None if weights is None else weights[truth], len(truth))
    found = [_entropies(before.columns[n].coded[0][truth], after.columns[n].coded[0], share) for n in names]
    return EntropyLoss(names, np.array([bits for bits, _ in found]), np.array([part for _, part in found]))


def _entropies(before: Ints, after: Ints, share: Floats) -> tuple[float, float]:
    left = _entropy(np.stack([before, after], axis=1), share) - _entropy(after[:, None], share)
    whole = _entropy(before[:, None], share)
    left = min(max(0.0, left), whole)
    return left, 100 * left / whole if whole else 0.0


def _entropy(codes: Ints, share: Floats) -> float:
    mass = np.bincount(class_of(codes), share)
    return float(-(mass * np.log2(mass)).sum())


def pram_entropy(frequency: Sequence[float], matrix: Any) -> float:
    """Expected entropy-based loss of PRAM (Kooiman et al. 1998): bits a record, before anything is drawn.

    The matrix has a row for each original category, with the probabilities of what it becomes; frequencies are the
    original ones. Reference: as `entropy_loss`, with p(v | v') by Bayes from the matrix.

    >>> pram_entropy([50, 50], [[1.0, 0.0], [0.0, 1.0]]), pram_entropy([50, 50], [[0.5, 0.5], [0.5, 0.5]])
    (0.0, 1.0)
    """
    share, rows = np.asarray(frequency, np.float64), np.asarray(matrix, np.float64)
    if rows.ndim != 2 or len(rows) != len(share) or not np.allclose(rows.sum(axis=1), 1) or (rows < 0).any():
        raise Mistake("The matrix needs a row for each frequency, of probabilities that sum to 1.")
    if not (share >= 0).all() or not share.sum():
        raise Mistake("Frequencies are 0 or more, and not all 0.")
    joint = share[:, None] / share.sum() * rows
    given = joint / np.where(joint.sum(axis=0) > 0, joint.sum(axis=0), 1.0)
    return float(-(joint * np.log2(np.where(given > 0, given, 1.0))).sum()) + 0.0
