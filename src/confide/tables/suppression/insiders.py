"""Which contributors could use what they know of their own cells against the cells of others."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from confide.arrays import Bools, Floats, Ints
from confide.tables.suppression.problem import Insider
from confide.tables.table.table import Table

__all__ = ["insiders_of"]


FEW = 2
"""Contributors of cells with so many or fewer are insiders."""


def insiders_of(table: Table) -> tuple[Insider, ...]:
    """Each contributor of a cell with one or two of them, and what they know of all cells.

    A holding, or a record that falls in a cell and its totals, is one contributor with one knowledge of them all. Sole
    contributors know their cells; others know that a cell, and every total of it, is at least what they gave, unless
    contributions may be negative. Whoever is counted knows that they are there, not that they are alone: in a table of counts
    there are no insiders, unless it counts the records of holdings.
    """
    if table.is_count and table.contributions.names is None:
        return ()
    holders, gave = _holders(table)
    cells, ranks = np.nonzero(holders >= 0)
    who, own = holders[cells, ranks], gave[cells, ranks]
    inside = np.isin(who, who[table.units[cells] <= FEW])
    order = np.flatnonzero(inside)[np.lexsort((cells[inside], who[inside]))]
    groups = np.split(order, np.flatnonzero(np.diff(who[order])) + 1) if len(order) else []
    others = _Others(table)
    found = [others.insider(cells[group], own[group]) for group in groups]
    # In an order that does not depend on that of the records, for the same pattern.
    return tuple(sorted((one for one in found if len(one.cells)), key=_content))


def _content(one: Insider) -> tuple[list[float], ...]:
    return one.cells.tolist(), one.least.tolist(), one.most.tolist()


class _Others:
    """Which cells somebody who gave to a cell gave to as well."""

    def __init__(self, table: Table) -> None:
        matrix = table.relations.matrix
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        self._table = table
        total = np.full(matrix.shape[0], -1)
        total[row[matrix.data < 0]] = matrix.indices[matrix.data < 0]
        there = (matrix.data > 0) & (total[row] >= 0)
        above, below = total[row[there]], matrix.indices[there]
        same = _alike(table, above, below)
        links = (np.ones(len(above) + same.sum()), (np.append(below, above[same]), np.append(above, below[same])))
        self._others = sparse.csr_array(links, shape=(len(table), len(table)))
        self._least_bound = table.lower_bound >= 0

    def insider(self, cells: Ints, own: Floats) -> Insider:
        """What somebody knows who gave this in these cells."""
        value, units = self._table.value, self._table.units
        known = {cell: gave for cell, gave in zip(cells.tolist(), own.tolist(), strict=True) if self._least_bound[cell]}
        sole = [cell for cell in cells.tolist() if units[cell] == 1]
        known |= {cell: float(value[cell]) for cell in sole}
        for cell in list(known):
            self._pass_on(cell, known)
        found = np.array(sorted(known), dtype=np.int64)
        # What someone gave may be more than the value by rounding, and then must not rule the truth out.
        least = np.minimum([known[cell] for cell in found.tolist()], value[found])
        return Insider(found, least, np.where(np.isin(found, sole), value[found], np.inf))

    def _pass_on(self, cell: int, known: dict[int, float]) -> None:
        """What they gave in a cell they gave in its totals; what they are known to have given there may be more."""
        for other in self._others.indices[self._others.indptr[cell] : self._others.indptr[cell + 1]].tolist():
            if self._least_bound[other] and known.get(other, 0.0) < known[cell]:
                known[other] = known[cell]
                self._pass_on(other, known)


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
