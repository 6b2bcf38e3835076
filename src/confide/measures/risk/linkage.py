"""Records that an intruder links by distance: they hold the original values and look for the nearest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from confide.arrays import Floats
from confide.data.kdtree.static import apart, build, distinct_rows, links
from confide.errors import Mistake
from confide.measures.pairs import Pair, paired
from confide.measures.space import Scaling, Space

__all__ = ["Linkage", "distance_linkage", "one_to_one_linkage"]

MOST = 6_000
"""A one-to-one linkage compares all records with all; beyond so many of them that takes minutes and gigabytes."""


@dataclass(frozen=True)
class Linkage:
    """How likely the intruder is to link each released record with the right one of `candidates` original records."""

    probability: Floats
    candidates: int

    @property
    def percent(self) -> float:
        """The expected percentage of released records that are linked correctly."""
        return 100 * float(self.probability.mean())

    @property
    def guessing(self) -> float:
        """The percentage that an intruder gets right who only guesses."""
        return 100 / self.candidates


def distance_linkage(
    original: Any,
    released: Any,
    *,
    columns: str | Sequence[str],
    scaling: Scaling = "standardised",
    identifier: str | None = None,
) -> Linkage:
    """Distance-based record linkage, DLD (Domingo-Ferrer and Torra 2001): how many records the nearest original finds.

    Every released record is compared with every original one on `columns`, the attributes they know: numbers by their
    difference in the given scaling, categories by being equal. If several original records are equally near they pick
    one by chance, so a record counts by its probability of being linked correctly, not by the order of the file. A
    suppressed value tells nothing. Reference: Domingo-Ferrer and Torra (2001); the survey's re-identification.

    >>> import pyarrow as pa
    >>> original = pa.table({"age": [20, 30, 40], "pay": [1.0, 2.0, 3.0]})
    >>> released = pa.table({"age": [21, 31, 31], "pay": [1.1, 2.5, 2.5]})
    >>> distance_linkage(original, released, columns=["age", "pay"]).probability.tolist()
    [1.0, 1.0, 0.0]
    """
    pair = paired(original, released, columns, identifier=identifier, recoded=True)
    space = Space.of(pair, scaling)
    first, _, count = distinct_rows(space.original)
    tree = build(space.original[first], space.nominal, count)
    tied = links(space.released, tree, apart(space.released, space.original[pair.truth], space.nominal))
    return Linkage(np.where(tied > 0, 1 / np.maximum(tied, 1), 0.0), pair.rows[0])


def one_to_one_linkage(
    original: Any,
    released: Any,
    *,
    columns: str | Sequence[str],
    scaling: Scaling = "standardised",
    identifier: str | None = None,
) -> Linkage:
    """One-to-one linkage by the assignment problem (Kuhn 1955): how many links are right if each original is used once.

    This is the strongest linkage by distance for an intruder who knows that every released record stands for one of
    theirs: the assignment problem, solved exactly, for files of up to 6,000 records. Records that nothing tells apart
    share their links by chance.

    >>> import pyarrow as pa
    >>> original = pa.table({"age": [20, 30, 40], "pay": [1.0, 2.0, 3.0]})
    >>> released = pa.table({"age": [21, 31, 34], "pay": [1.1, 2.4, 2.5]})
    >>> one_to_one_linkage(original, released, columns=["age", "pay"]).percent
    100.0
    """
    pair = paired(original, released, columns, identifier=identifier, recoded=True)
    if max(pair.rows) > MOST:
        raise Mistake(
            f"A one-to-one linkage takes files of up to {MOST:,} records; there are {max(pair.rows):,}.",
            suggestions=["Use distance_linkage, or link a sample."],
        )
    space = Space.of(pair, scaling)
    rows, links_to = linear_sum_assignment(_distances(space))
    return Linkage(_expected(space, pair, rows, links_to), pair.rows[0])


def _distances(space: Space) -> Floats:
    """The squared distance of every released record to every original one."""
    number = ~space.nominal
    known = [np.nan_to_num(side[:, number]) for side in (space.released, space.original)]
    total = cdist(*known, "sqeuclidean") if number.any() else np.zeros((len(space.released), len(space.original)))
    for d in np.flatnonzero(space.nominal):
        total += space.released[:, d][:, None] != space.original[:, d][None, :]
    blank = [np.isnan(side) for side in (space.released, space.original)]
    for d in np.flatnonzero(blank[0].any(axis=0) | blank[1].any(axis=0)):
        total += _correction(space, int(d), (blank[0][:, d], blank[1][:, d]))
    return np.asarray(total)


def _correction(space: Space, d: int, blank: tuple[Any, Any]) -> Floats:
    """What must be added because values of a dimension are missing: 0 apart if in the released record, else 1."""
    released, original = (np.nan_to_num(side[:, d]) for side in (space.released, space.original))
    unlike = space.released[:, d][:, None] != space.original[:, d][None, :]
    counted = unlike if space.nominal[d] else (released[:, None] - original[None, :]) ** 2
    meant = np.where(blank[0][:, None], 0.0, np.where(blank[1][None, :], 1.0, counted))
    return np.asarray(meant - counted)


def _expected(space: Space, pair: Pair, rows: Any, links_to: Any) -> Floats:
    """The chance of each record if equal records share their links: P(its own kind) / how many are of that kind."""
    _, kind, count = distinct_rows(space.original)
    _, alike, many = distinct_rows(space.released)
    size = len(count)
    linked, times = np.unique(alike[rows] * size + kind[links_to], return_counts=True)
    wanted = alike * size + kind[pair.truth]
    place = np.minimum(np.searchsorted(linked, wanted), len(linked) - 1)
    hits = np.where(linked[place] == wanted, times[place], 0)
    return np.asarray(hits / many[alike] / count[kind[pair.truth]])
