"""Variables that go together, counted as one: a region follows from its county, and few have a wage without an income.

So all tables by two of many variables come from the crosses of a few bundles, in one pass over the records.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.engines.duckdb.pair_kernels import join_codes, see_codes

__all__ = ["BATCH", "PairBundle", "Places", "find_bundles", "parts"]

Places = Mapping[str, NDArray[Any]]

BATCH = 1 << 15
"""Records that are looked at together: their columns stay in the cache while one cross after the other is counted."""

SAMPLE = 100_000
"""So many records tell which variables go together; how they do is then found in all."""

MOST_COMBINATIONS = 64
"""Bundles have at most so many combinations, if not those of one variable: the cells of two of them then stay in the
cache. Of 32, 64 and 128, 64 took the least time on people of the demonstration."""


@dataclass(frozen=True, eq=False)
class PairBundle:
    """Some variables. `places` has a row for each combination of theirs that there is, `joined` how codes are made of them."""

    names: tuple[str, ...]
    places: Ints
    joined: tuple[NDArray[np.int32], ...] = ()
    classes: tuple[int, ...] = ()

    @classmethod
    def of(cls, name: str, classes: int) -> "PairBundle":
        """A single variable."""
        return cls((name,), np.arange(classes)[:, None])

    @classmethod
    def nothing(cls) -> "PairBundle":
        """No variable: every record has the same code."""
        return cls((), np.zeros((1, 0), np.int64))

    def codes(self, columns: Places, start: int, stop: int) -> NDArray[np.int32]:
        """The number of each record's combination."""
        if not self.names:
            return np.zeros(stop - start, np.int32)
        codes = columns[self.names[0]][start:stop].astype(np.int32)
        for name, joined, classes in zip(self.names[1:], self.joined, self.classes, strict=True):
            join_codes(codes, columns[name][start:stop], joined, classes)
        return codes

    def with_variable(self, name: str, classes: int, columns: Places, rows: int) -> "PairBundle":
        """The bundle with one variable more, as the first so many records combine them."""
        seen = np.zeros(len(self.places) * classes, bool)
        for start, stop in parts(rows):
            see_codes(self.codes(columns, start, stop), columns[name][start:stop], seen, classes)
        there = np.flatnonzero(seen)
        joined = (np.cumsum(seen) - 1).astype(np.int32)
        places = np.column_stack([self.places[there // classes], there % classes])
        return PairBundle((*self.names, name), places, (*self.joined, joined), (*self.classes, classes))


def find_bundles(columns: Places, sizes: Mapping[str, int], rows: int) -> list[PairBundle]:
    """Every variable in one bundle, those with most classes first."""
    found = []
    for names in _grouped(columns, sizes, min(rows, SAMPLE)):
        bundle = PairBundle.of(names[0], sizes[names[0]])
        for name in names[1:]:
            bundle = bundle.with_variable(name, sizes[name], columns, rows)
        found.append(bundle)
    return found


def _grouped(columns: Places, sizes: Mapping[str, int], rows: int) -> list[Sequence[str]]:
    """The variables of each bundle: each joins the one that grows least by it."""
    bundles: list[PairBundle] = []
    for name in sorted(sizes, key=lambda each: (-sizes[each], each)):
        grown = [bundle.with_variable(name, sizes[name], columns, rows) for bundle in bundles]
        growth = [len(new.places) / max(1, len(old.places)) for new, old in zip(grown, bundles, strict=True)]
        able = [at for at, new in enumerate(grown) if len(new.places) <= MOST_COMBINATIONS or growth[at] <= 1]
        best = min(able, key=growth.__getitem__, default=None)
        if best is None:
            bundles.append(PairBundle.of(name, sizes[name]))
        else:
            bundles[best] = grown[best]
    return [bundle.names for bundle in bundles]


def parts(rows: int) -> Iterator[tuple[int, int]]:
    """Where batches of records begin and end."""
    return ((start, min(rows, start + BATCH)) for start in range(0, rows, BATCH))
