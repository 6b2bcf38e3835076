"""Universes as bit masks: a bit for each record, found once and kept for the next question."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.cache import Cache
from confide.data.compiling import compiled
from confide.engines.columns.parallel import in_two
from confide.engines.columns.reading import CHUNK, Words, pick, take
from confide.engines.columns.store import Bytes, ColumnsStore
from confide.model.evidence import Box

__all__ = ["EVERYONE", "Universes", "chosen_rows"]

EVERYONE: Words = np.zeros(0, np.uint64)

LISTED_CELLS = 1 << 16
"""Up to so many joint classes of its variables a universe is looked up in one table, which then stays in the nearest caches."""

KEPT_BYTES = 256 << 20
"""Masks are kept up to so many bytes."""


class Universes:
    """The masks of universes of a store."""

    def __init__(self, store: ColumnsStore) -> None:
        self._store = store
        self._kept = Cache[tuple[Box, ...], Words](KEPT_BYTES, weigh=lambda words: words.nbytes)

    def mask(self, within: tuple[Box, ...], without: Sequence[int] = ()) -> Words:
        """The records in any of the boxes, less those of some units."""
        words = self._whole(within) if within else EVERYONE
        if not without:
            return words
        left = words.copy() if len(words) else np.full(-(-self._store.rows // 64), 2**64 - 1, np.uint64)
        units, gone = self._store.units, np.array(without, np.int64)
        starts, stops = np.searchsorted(units, gone, "left"), np.searchsorted(units, gone, "right")
        _clear(left, starts, stops)
        return left

    def _whole(self, within: tuple[Box, ...]) -> Words:
        words = self._kept.get(within)
        if words is None:
            words = self._within(0, self._store.rows, within)
            self._kept.put(within, words)
        return words

    def rows(self, within: tuple[Box, ...], start: int, stop: int) -> Ints:
        """The records in any of the boxes from `start` to before `stop`; of few records no mask is kept."""
        base = start // 64 * 64
        words = self._within(base, stop, within) if within else EVERYONE
        return base + chosen_rows(words, start - base, stop - base)

    def _within(self, start: int, stop: int, within: tuple[Box, ...]) -> Words:
        """The mask of the records from `start`, a multiple of 64, to before `stop`."""
        sizes = self._store.sizes
        names = sorted({name for box in within for name, _ in box})
        if prod(sizes[name] for name in names) <= LISTED_CELLS:
            table = np.zeros([sizes[name] for name in names], np.bool_)
            for box in within:
                conditions = dict(box)
                chosen = [_places(conditions.get(name, range(sizes[name])), sizes[name]) for name in names]
                table[np.ix_(*chosen)] = True
            return self._looked_up(names, table, start, stop)
        boxes = [
            np.bitwise_and.reduce([self._condition(*condition, start, stop) for condition in box]) for box in within
        ]
        return np.asarray(np.bitwise_or.reduce(boxes), np.uint64)

    def _condition(self, name: str, places: Sequence[int], start: int, stop: int) -> Words:
        table = np.zeros(self._store.sizes[name], np.bool_)
        table[_places(places, len(table))] = True
        return self._looked_up([name], table, start, stop)

    def _looked_up(self, names: Sequence[str], table: NDArray[np.bool_], start: int, stop: int) -> Words:
        """The records whose joint class is marked in a table."""
        columns = [self._store.column(self._store.facts.classes[name]) for name in names]
        digits = np.array([(c.offset, c.kind, size) for c, size in zip(columns, table.shape, strict=True)], np.int64)
        words = np.zeros(-(-(stop - start) // 64), np.uint64)
        marked = table.astype(np.uint64).ravel()

        def work(half: int, first: int, last: int) -> None:
            _mark(self._store.bytes, digits, marked, start + first, start + last, words[first // 64 :])

        in_two(work, stop - start)
        return words


def chosen_rows(words: Words, start: int, stop: int) -> Ints:
    """The records of a mask from `start` to before `stop`."""
    if not len(words):
        return np.arange(start, stop)
    first = start // 64
    bits = np.unpackbits(words[first : -(-stop // 64)].view(np.uint8), bitorder="little")
    return start + np.flatnonzero(bits[start - 64 * first : stop - 64 * first])


def _places(places: Sequence[int], size: int) -> Ints:
    """Those places that are in the data."""
    return np.array([place for place in places if place < size], np.int64)


@compiled
def _clear(words: Words, starts: Ints, stops: Ints) -> None:
    for unit in range(len(starts)):
        for row in range(starts[unit], stops[unit]):
            words[row >> 6] &= ~(np.uint64(1) << np.uint64(row & 63))


@compiled
def _mark(bytes_: Bytes, digits: Ints, marked: Words, start: int, stop: int, words: Words) -> None:
    """The bits of the records from `start` to `stop`: set if their joint class is marked."""
    at, needs, scratch = np.empty(CHUNK, np.int32), np.empty((0, 3), np.int64), np.empty(0, np.int64)
    cell, code = np.empty(CHUNK, np.uint32), np.empty(CHUNK, np.uint32)
    nothing = np.empty(0, np.uint64)
    for begin in range(start, stop, CHUNK):
        n = min(CHUNK, stop - begin)
        pick(nothing, bytes_, needs, begin, n, at, scratch)
        number_cells(bytes_, digits, begin, n, at, n, cell, code)
        for first in range(0, n, 64):
            word = np.uint64(0)
            for i in range(first, min(first + 64, n)):
                word |= marked[cell[i]] << np.uint64(i - first)
            words[(begin - start + first) >> 6] = word


@compiled
def number_cells(
    bytes_: Bytes,
    digits: Ints,
    start: int,
    n: int,
    at: NDArray[np.int32],
    found: int,
    cell: NDArray[np.uint32],
    code: NDArray[np.uint32],
) -> None:
    """The number of each record's cell: its places as digits of a mixed-radix number. A row of `digits`: offset, kind, size."""
    for k in range(found):
        cell[k] = 0
    for digit in range(len(digits)):
        take(bytes_, digits[digit, 0], digits[digit, 1], start, n, at, found, code)
        size = np.uint32(digits[digit, 2])
        for k in range(found):
            cell[k] = cell[k] * size + code[k]
