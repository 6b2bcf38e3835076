"""Which contributors could use what they know of their own cells against the cells of others."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake, nearest
from confide.tables.suppression.problem import Insiders
from confide.tables.table.table import Table

__all__ = ["ATTACKERS", "insiders_of", "ranges"]


FEW = 2
"""Of those whom nobody has named, the contributors of cells with so many or fewer can be told apart."""

ATTACKERS = ("outsider", "singletons", "contributors", "coalitions")
"""Against whom a table can be protected, each with all before: who sees it, and who knows what of it beforehand."""


def insiders_of(table: Table, attackers: str = "contributors") -> Insiders:
    """Each contributor who attacks, or two who share what they know, with what that is of all cells.

    The "singletons" are the sole contributors of a cell. The "contributors" are all whom the table names: with microdata the
    largest of every cell, as many as it keeps; others know less than these. Where nobody is named, they are those of cells
    with one or two. "coalitions" are besides any two of the largest of a cell.

    A holding, or a record that falls in a cell and its totals, is one contributor with one knowledge of them all. Sole
    contributors know their cells; others know that a cell, and every total of it, is at least what they gave, unless
    contributions may be negative. Whoever is counted knows that they are there, not that they are alone: in a table of counts
    there are no insiders, unless it counts the records of holdings.
    """
    if attackers not in ATTACKERS:
        hint = nearest(attackers, ATTACKERS) or [f"They may be {', '.join(ATTACKERS)}."]
        raise Mistake(f"There are no attackers {attackers!r}.", suggestions=hint)
    if attackers == "outsider" or (table.is_count and table.contributions.names is None):
        return Insiders.of(())
    holders, gave = _holders(table)
    cells, ranks = np.nonzero(holders >= 0)
    who, own = holders[cells, ranks], gave[cells, ranks]
    told = (table.units[cells] == 1) | (table.lower_bound[cells] >= 0)
    if attackers == "singletons":
        told &= np.isin(who, who[table.units[cells] == 1])
    cells, who, own = cells[told], who[told], own[told]
    known = _Known(who, cells, np.where(table.units[cells] == 1, table.value[cells], own), np.ones(len(cells)))
    known = known.passed_on(_above(table), table.lower_bound >= 0)
    if attackers == "coalitions":
        known = known.and_pairs(_pairs(holders))
    return known.insiders(table)


@dataclass(frozen=True, eq=False)
class _Known:
    """What everybody gave: `who` at least `least` to each of `cells`, where they are so `many` of the contributors."""

    who: Ints
    cells: Ints
    least: Floats
    many: Floats

    def and_more(self, *others: "_Known") -> "_Known":
        return _Known(*(np.concatenate([vars(each)[name] for each in (self, *others)]) for name in vars(self)))

    def joined(self, join: np.ufunc) -> "_Known":
        """One entry for each of them in each cell."""
        order = np.lexsort((self.cells, self.who))
        who, cells = self.who[order], self.cells[order]
        starts = np.flatnonzero(np.diff(who, prepend=-1) | np.diff(cells, prepend=-1)) if len(order) else order
        least, many = (
            join.reduceat(column[order], starts) if len(order) else column for column in (self.least, self.many)
        )
        return _Known(who[starts], cells[starts], least, many)

    def passed_on(self, above: sparse.csr_array, bounded: Bools) -> "_Known":
        """With what they gave to a cell as the least of what they gave to its totals, where nobody takes anything away."""
        whole = last = self.joined(np.maximum)
        while len(last.cells):
            times = np.diff(above.indptr)[last.cells]
            entry = np.repeat(np.arange(len(times)), times)
            total = above.indices[ranges(above.indptr[last.cells], times)]
            more = _Known(last.who[entry], total, last.least[entry], np.zeros(len(entry))).where(bounded[total])
            both = whole.and_more(more).joined(np.maximum)
            before = np.full(len(both.cells), -np.inf)
            before[np.searchsorted(both.key(len(bounded)), whole.key(len(bounded)))] = whole.least
            whole, last = both, both.where(both.least > before)
        return whole

    def where(self, kept: Bools | Ints) -> "_Known":
        return _Known(*(column[kept] for column in vars(self).values()))

    def key(self, cells: int) -> Ints:
        """A number for each entry, in their order."""
        return self.who * np.int64(cells) + self.cells

    def and_pairs(self, pairs: Ints) -> "_Known":
        """With those who share what they know: what they gave together."""
        if not len(pairs):
            return self
        starts = np.searchsorted(self.who, np.arange(self.who.max() + 2))
        shared = []
        for member in pairs.T:
            times = starts[member + 1] - starts[member]
            theirs = self.where(ranges(starts[member], times))
            shared.append(replace(theirs, who=len(starts) + np.repeat(np.arange(len(pairs)), times)))
        return self.and_more(shared[0].and_more(shared[1]).joined(np.add))

    def insiders(self, table: Table) -> Insiders:
        """What that tells them of the values."""
        value = table.value[self.cells]
        alone = (self.many > 0) & (self.many == table.units[self.cells])
        # What someone gave may be more than the value by rounding, and then must not rule the truth out.
        least = np.where(alone, value, np.minimum(self.least, value))
        starts = np.flatnonzero(np.diff(self.who, prepend=-1)) if len(self.who) else np.zeros(0, np.int64)
        return Insiders(np.append(starts, len(self.who)), self.cells, least, np.where(alone, value, np.inf)).in_order()


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The numbers from each start on, so many of each."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(lengths.sum())


def _pairs(holders: Ints) -> Ints:
    """Any two of the largest of a cell."""
    both = np.concatenate([holders[:, list(two)] for two in combinations(range(holders.shape[1]), 2)])
    return np.unique(np.sort(both[(both >= 0).all(axis=1) & (both[:, 0] != both[:, 1])], axis=1), axis=0)


def _above(table: Table) -> sparse.csr_array:
    """Which cells somebody who gave to a cell gave to as well: its totals, and a part that is all of it."""
    matrix = table.relations.matrix
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    total = np.full(matrix.shape[0], -1)
    total[row[matrix.data < 0]] = matrix.indices[matrix.data < 0]
    there = (matrix.data > 0) & (total[row] >= 0)
    above, below = total[row[there]], matrix.indices[there]
    same = _alike(table, above, below)
    links = (np.ones(len(above) + same.sum()), (np.append(below, above[same]), np.append(above, below[same])))
    return sparse.csr_array(links, shape=(len(table), len(table)))


def _holders(table: Table) -> tuple[Ints, Floats]:
    """Who contributes to each cell, and how much of its value is theirs; -1 for nobody.

    Of those whom nobody has named, only the contributors of cells with one or two get a number, the same in a total and
    its part where they must be the same.
    """
    contributions, few = table.contributions, (len(table), FEW)
    gave = contributions.top if contributions.weights is None else contributions.top * contributions.weights
    holders = np.full(gave.shape, -1) if contributions.holders is None else contributions.holders
    unnamed = (holders < 0).all(axis=1)
    free = int(holders.max(initial=-1)) + 1
    gave, holders = np.hstack([gave, np.zeros(few)]), np.hstack([holders, np.full(few, -1)])
    sole, pairs = (unnamed & (table.units == units) for units in (1, 2))
    number = free + 2 * _named_by_relations(table)
    holders[sole, 0], gave[sole, 0] = number[sole], table.value[sole]
    two = np.column_stack([number, number + 1])
    holders[:, :2] = np.where(pairs[:, None] & (gave[:, :2] > 0), two, holders[:, :2])
    return holders, gave


def _named_by_relations(table: Table) -> Ints:
    """A number for each cell, the same where a total and its part have the same one or two contributors."""
    matrix = table.relations.matrix
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    few = ((table.units > 0) & (table.units <= FEW))[matrix.indices]
    total = np.full(matrix.shape[0], -1)
    total[row[few & (matrix.data < 0)]] = matrix.indices[few & (matrix.data < 0)]
    alone = (table.units == 1)[total[row]] & (table.units == 1)[matrix.indices]
    same = few & (matrix.data > 0) & (total[row] >= 0) & (alone | _alike(table, total[row], matrix.indices))
    edges = (np.ones(same.sum()), (total[row[same]], matrix.indices[same]))
    _, number = connected_components(sparse.csr_array(edges, shape=(len(table), len(table))), directed=False)
    return np.asarray(number, dtype=np.int64)


def _alike(table: Table, totals: Ints, parts: Ints) -> Bools:
    """Where a total and its part have the same contributors, who gave the same: nobody gave anything to other parts."""
    there = (table.units[totals] == table.units[parts]) & (table.units[parts] > 0)
    return np.asarray(there & np.isclose(table.value[totals], table.value[parts], rtol=1e-9, atol=0.0))
