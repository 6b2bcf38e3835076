"""Which values to blank so that records with equal keys are k or more: the searches behind local suppression."""

import heapq
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints
from confide.microdata.search.classes import fitting, patterns, sizes

__all__ = ["cheapest_first", "classes_of_k", "fitting_k"]

Hashes = NDArray[np.uint64]

MOST = 1 << 10
"""Sets of keys to try, cheapest first, before they grow key by key; up to 10 keys that is every set."""


def cheapest_first(prices: Floats, shown: Ints) -> Iterator[tuple[int, ...]]:
    """Sets of columns to blank, by what they cost, the empty set left out; all of them comes last.

    If there are too many, the cheapest are followed by sets that grow, the columns that tell most for their price first.

    >>> list(cheapest_first(np.array([3.0, 1.0]), np.zeros((1, 2), np.int64)))
    [(1,), (0,), (0, 1)]
    """
    order = np.argsort(prices, kind="stable")
    heap: list[tuple[float, tuple[int, ...]]] = [(float(prices[order[0]]), (0,))] if len(prices) else []
    for _ in range(MOST):
        if not heap:
            return
        cost, places = heapq.heappop(heap)
        yield tuple(sorted(int(order[place]) for place in places))
        last = places[-1] + 1
        if last < len(prices):  # each set is reached once: from the one without its dearest, or with the one before it
            more = float(prices[order[last]])
            heapq.heappush(heap, (cost + more, (*places, last)))
            heapq.heappush(heap, (cost + more - float(prices[order[last - 1]]), (*places[:-1], last)))
    told = np.log1p([len(np.unique(column)) for column in shown.T]) / prices
    grown = np.argsort(-told, kind="stable")
    yield from (tuple(sorted(int(j) for j in grown[:size])) for size in range(2, len(prices) + 1))


def fitting_k(codes: Ints, k: int, prices: Floats, together: Sequence[tuple[int, ...]]) -> Ints:
    """Each record blanked, as cheaply as can be, until what it shows fits k records of the file as it was given.

    Exact up to 10 keys: no cheaper set of values of a record would do. `together` are the sets of keys looked at.
    """
    shown, count, number = patterns(codes)
    result, others = shown.copy(), shown
    risky = np.flatnonzero(~_fits(shown, others, count, k, together))
    for blanks in cheapest_first(prices, shown):
        if not len(risky):
            break
        tried = shown[risky]
        tried[:, blanks] = -1
        fits = _fits(tried, others, count, k, together)
        result[risky[fits]] = tried[fits]
        risky = risky[~fits]
    return result[number]


def _fits(shown: Ints, others: Ints, count: Ints, k: int, together: Sequence[tuple[int, ...]]) -> Bools:
    fits = np.ones(len(shown), bool)
    for keys in together:
        left = np.flatnonzero(fits)
        fits[left] = fitting(shown[left[:, None], keys], others[:, keys], count) >= k
    return fits


def classes_of_k(codes: Ints, k: int, prices: Floats, together: Sequence[tuple[int, ...]]) -> Ints:
    """Records blanked until each shares all it shows, blanks too, with k or more, in every set of keys `together`.

    A heuristic: the problem is NP-hard. Blanks of one set of keys may break another, so all are gone through until
    none is broken; values are only ever blanked, so that ends.
    """
    codes = codes.copy()
    broken = True
    while broken:
        broken = False
        for keys in together:
            part = codes[:, keys]
            if len(part) and sizes(part).min() < k:
                codes[:, keys] = _settled(part, k, prices[list(keys)])
                broken = True
    return codes


def _settled(codes: Ints, k: int, prices: Floats) -> Ints:
    """One set of keys.

    Each round counts exactly, blanks more or joins the rest to a class, and never shows a value again: so it ends.
    """
    while True:
        before = sizes(codes) < k
        if not before.any():
            return codes
        codes = _Search(codes, k, prices).done()
        # What is left may be settled by a new search, since classes have changed; if that gained nothing, it is joined.
        left = sizes(codes) < k
        if left.any() and left.sum() == before.sum():
            codes = _merged(codes, left, prices)


def _merged(codes: Ints, left: Bools, prices: Floats) -> Ints:
    """The few records that are left, joined with the class for which that costs least."""
    rest = codes[left]
    shown, count, number = patterns(codes)
    agree = (shown == rest[0]) & np.all(rest == rest[0], axis=0)
    known = (shown >= 0).astype(np.float64)
    cost = (count * ((~agree) * known @ prices[:, None])[:, 0]) + ((~agree) * (rest >= 0).sum(axis=0)) @ prices
    cost[np.unique(number[left])] = np.inf
    best = int(np.argmin(cost))
    joined = left | (number == best)
    result = codes.copy()
    result[np.ix_(joined, ~agree[best])] = -1
    return result


class _Search:
    """The greedy search over one set of keys: again and again the move that costs least for each record it settles.

    A move blanks a set of keys in all records that are at risk and then look alike. If these are fewer than k, records
    of larger classes that would look the same join them, as long as k stay behind.
    """

    def __init__(self, codes: Ints, k: int, prices: Floats) -> None:
        self.codes, self.k, self.prices = codes, k, prices
        self.shown, self.size, number = patterns(codes)
        self.members, self.start = np.argsort(number, kind="stable"), np.cumsum(self.size) - self.size
        self.risky = np.flatnonzero(self.size < k)
        self.hashes = _hashes(self.shown)
        self.whole = self.hashes.sum(axis=1, dtype=np.uint64)
        self.formed: dict[int, int] = {}
        self.blanked = np.zeros(codes.shape, bool)

    def done(self) -> Ints:
        """The codes with blanks. Fewer than k records may be left as they were."""
        # Lazy greedy (Minoux 1978): a set of keys is priced when its turn comes, not after each move. Until then the sum of
        # its prices stands for what it costs a record, and afterwards the price last seen: as records are settled, groups
        # shrink and mostly become dearer. Pricing takes a pass over all patterns, and 10 keys have 1,023 sets.
        fresh = cheapest_first(self.prices, self.shown)
        waiting: list[tuple[float, tuple[int, ...]]] = []
        coming = next(fresh, None)
        while len(self.risky) and (waiting or coming is not None):
            if coming is not None and (not waiting or self._price(coming) <= waiting[0][0]):
                blanks, coming = coming, next(fresh, None)
            else:
                blanks = heapq.heappop(waiting)[1]
            ahead = min(waiting[0][0] if waiting else np.inf, np.inf if coming is None else self._price(coming))
            again = self._tried(blanks, ahead)
            if again < np.inf:
                heapq.heappush(waiting, (again, blanks))
        return np.where(self.blanked, -1, self.codes)

    def _price(self, blanks: tuple[int, ...]) -> float:
        return float(self.prices[list(blanks)].sum())

    def _tried(self, blanks: tuple[int, ...], ahead: float) -> float:
        """Make the moves that blank these keys, if none is cheaper elsewhere; and say at which price to look again."""
        move = _Move(self, blanks)
        if move.best <= ahead and move.best < np.inf:
            move.made(move.best)
        return move.best

    def take(self, pattern: int, many: int, blanks: tuple[int, ...]) -> None:
        """Blank these keys in so many records of a pattern."""
        # From the end, so that those which stay are still the first `size` of the pattern.
        end = self.start[pattern] + self.size[pattern]
        rows = self.members[end - many : end]
        self.blanked[rows[:, None], blanks] = True
        self.size[pattern] -= many


class _Move:
    """What blanking a set of keys would do: the records at risk that then look alike, and who could join them."""

    def __init__(self, search: _Search, blanks: tuple[int, ...]) -> None:
        self.search, self.blanks = search, blanks
        # How rows look without some keys is a subtraction, whatever the number of keys: sums of hashes wrap round exactly.
        looks = search.whole - search.hashes[:, blanks].sum(axis=1, dtype=np.uint64)
        self.groups, self.group = np.unique(looks[search.risky], return_inverse=True)
        size = search.size[search.risky]
        known = search.shown[search.risky[:, None], blanks] >= 0
        self.settled = np.bincount(self.group, size)
        cost = np.bincount(self.group, size * (known @ search.prices[list(blanks)]))
        there = self._joined(looks)
        self.lacking = np.maximum(search.k - self.settled - there, 0)
        self.cost = cost + self.lacking * search._price(blanks)
        self.cost[self.lacking > self.spare] = np.inf
        self.best = float((self.cost / self.settled).min())

    def _joined(self, looks: Hashes) -> Floats:
        """Records that look so already; and, as `spare`, how many larger classes could give."""
        search = self.search
        place = np.minimum(np.searchsorted(self.groups, looks), len(self.groups) - 1)
        safe = (self.groups[place] == looks) & (search.size >= search.k)
        already = safe & (looks == search.whole)
        givers = safe & ~already & (search.size > search.k)
        self.givers = np.flatnonzero(givers)
        self.of_giver = place[self.givers]
        spare = search.size - search.k
        self.spare = np.bincount(self.of_giver, spare[self.givers], minlength=len(self.groups))
        formed = [search.formed.get(int(look), 0) for look in self.groups]
        there = np.bincount(place[already], search.size[already], minlength=len(self.groups))
        return np.asarray(there + formed, np.float64)

    def made(self, price: float) -> None:
        """Settle the groups at this price."""
        search = self.search
        chosen = self.cost / self.settled <= price
        done = chosen[self.group]
        for pattern in search.risky[done]:
            search.take(int(pattern), int(search.size[pattern]), self.blanks)
        for place in np.flatnonzero(chosen & (self.lacking > 0)):
            self._given(self.givers[self.of_giver == place], int(self.lacking[place]))
        for place in np.flatnonzero(chosen):
            look = int(self.groups[place])
            search.formed[look] = search.formed.get(look, 0) + int(self.settled[place] + self.lacking[place])
        search.risky = search.risky[~done]

    def _given(self, givers: Ints, many: int) -> None:
        for giver in givers:
            part = min(many, int(self.search.size[giver]) - self.search.k)
            self.search.take(int(giver), part, self.blanks)
            many -= part


def _hashes(shown: Ints) -> Hashes:
    """A number for every value, so that the sum over some keys tells rows apart; a blank counts nothing.

    64 random bits each: of a million patterns two are taken for one with a chance below 1 in 10 million for each set of
    keys. Even then the promise holds, and some values too many are blanked: `_settled` counts classes by their codes.
    """
    rng = np.random.default_rng(0)
    hashes = np.zeros(shown.shape, np.uint64)
    for j, column in enumerate(shown.T):
        table = rng.integers(0, 1 << 63, int(column.max(initial=-1)) + 2, np.uint64, endpoint=True)
        table[0] = 0
        hashes[:, j] = table[column + 1]
    return hashes
