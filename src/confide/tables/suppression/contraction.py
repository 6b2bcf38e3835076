"""Fewer unknowns, the same polytope: relations among few suppressed cells are solved beforehand.

Everything is in moves, the differences from the true values, so every right side is 0.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from confide.arrays import Floats, Ints

__all__ = ["Contracted", "contract", "tighten"]


ROUNDS = 20
"""How often bounds are passed on along the relations; a little less tight is no harm."""


@dataclass(frozen=True, eq=False)
class Contracted:
    """Unknowns z with matrix @ z = 0 and lower <= z <= upper; the move of unknown cell i is factor[i] * z[of[i]].

    A cell whose `of` is -1 cannot move.
    """

    matrix: sparse.csr_array
    lower: Floats
    upper: Floats
    of: Ints
    factor: Floats

    def components(self) -> Ints:
        """The connected component of each unknown, by number: relations connect those they are among."""
        joint = abs(self.matrix).T @ abs(self.matrix)
        return np.asarray(connected_components(joint, directed=False)[1], dtype=np.int64)


def contract(matrix: sparse.csr_array, lower: Floats, upper: Floats) -> Contracted:
    """The unknowns that remain when relations of one and of two cells are solved, with the bounds of all merged in them.

    >>> matrix = sparse.csr_array([[1.0, 1, 0], [0, 1, 1]])
    >>> found = contract(matrix, np.array([-5.0, -2, -9]), np.array([5.0, 9, 9]))
    >>> found.of.tolist(), found.factor.tolist(), found.lower.tolist(), found.upper.tolist()
    ([0, 0, 0], [1.0, -1.0, 1.0], [-5.0], [2.0])
    """
    whole = Contracted(matrix, lower, upper, np.arange(len(lower)), np.ones(len(lower)))
    while True:
        rows = _distinct(whole.matrix)
        lengths = np.diff(rows.indptr)
        whole = Contracted(rows, whole.lower, whole.upper, whole.of, whole.factor)
        if (lengths == 1).any():
            whole = _without(whole, np.unique(rows[lengths == 1].indices))
        elif (lengths == 2).any():
            whole = _merged(whole, sparse.csr_array(rows[lengths == 2]))
        else:
            return whole


def _distinct(matrix: sparse.csr_array) -> sparse.csr_array:
    """The rows without those that are empty or said before."""
    matrix = sparse.csr_array(matrix)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    seen: dict[bytes, int] = {}
    for row in range(matrix.shape[0]):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        index, value = matrix.indices[part], matrix.data[part]
        if len(index):
            seen.setdefault(index.tobytes() + (value / value[0]).round(9).tobytes(), row)
    return sparse.csr_array(matrix[list(seen.values())]) if seen else sparse.csr_array((0, matrix.shape[1]))


def _without(whole: Contracted, fixed: Ints) -> Contracted:
    """These unknowns are 0."""
    kept = np.setdiff1d(np.arange(len(whole.lower)), fixed)
    place = np.full(len(whole.lower) + 1, -1)
    place[kept] = np.arange(len(kept))
    matrix = sparse.csr_array(whole.matrix[:, kept])
    return Contracted(matrix, whole.lower[kept], whole.upper[kept], place[whole.of], whole.factor)


def _merged(whole: Contracted, pairs: sparse.csr_array) -> Contracted:
    """Unknowns that are multiples of one another become one. Where that is a contradiction, a row of one unknown is left."""
    count = len(whole.lower)
    one, other = pairs.indices[::2], pairs.indices[1::2]
    ratio = -pairs.data[::2] / pairs.data[1::2]
    # Of two relations of the same two unknowns one is a link; together they leave nothing but 0.
    link = np.unique(one * np.int64(count) + other, return_index=True)[1]
    links = sparse.coo_array((link + 1.0, (one[link], other[link])), shape=(count, count)).tocsr()
    _, group = connected_components(links, directed=False)
    factor = np.ones(count)
    for root in np.unique(group, return_index=True)[1][np.bincount(group) > 1].tolist():
        order, before = breadth_first_order(links, root, directed=False)
        for cell in order[1:].tolist():
            up = before[cell]
            at, forward = (int(links[up, cell]), True) if links[up, cell] else (int(links[cell, up]), False)
            factor[cell] = factor[up] * (ratio[at - 1] if forward else 1 / ratio[at - 1])
    lower, upper = np.full(group.max() + 1, -np.inf), np.full(group.max() + 1, np.inf)
    ends = np.sort([whole.lower / factor, whole.upper / factor], axis=0)
    np.maximum.at(lower, group, ends[0])
    np.minimum.at(upper, group, ends[1])
    expand = sparse.csr_array((factor, (np.arange(count), group)))
    place, multiple = np.append(group, -1), np.append(factor, 1.0)
    return Contracted(
        sparse.csr_array(whole.matrix @ expand), lower, upper, place[whole.of], whole.factor * multiple[whole.of]
    )


def tighten(matrix: sparse.csr_array, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Bounds that follow from the relations one by one, passed on until they settle.

    >>> tighten(sparse.csr_array([[1.0, 1, -1]]), np.array([0.0, 0, 0]), np.array([np.inf, 5, 3]))[1].tolist()
    [3.0, 3.0, 3.0]
    """
    entries = matrix.tocoo()
    row, cell, sign = entries.row, entries.col, entries.data
    for _ in range(ROUNDS):
        low = np.where(sign > 0, lower[cell], upper[cell]) * sign
        high = np.where(sign > 0, upper[cell], lower[cell]) * sign
        most, least = -_others(row, low, matrix.shape[0]), -_others(row, high, matrix.shape[0])
        ends = np.sort([least / sign, most / sign], axis=0)
        tighter = lower.copy(), upper.copy()
        np.maximum.at(tighter[0], cell, ends[0])
        np.minimum.at(tighter[1], cell, ends[1])
        settled = np.array_equal(tighter[0], lower) and np.array_equal(tighter[1], upper)
        # The true table is always possible, so 0 is, whatever rounding says.
        lower, upper = np.minimum(tighter[0], 0.0), np.maximum(tighter[1], 0.0)
        if settled:
            break
    return lower, upper


def _others(row: Ints, ends: Floats, rows: int) -> Floats:
    """For every entry, the sum of the ends of the others in its row; infinite if one of them is."""
    infinite = np.isinf(ends)
    finite = np.where(infinite, 0.0, ends)
    total = np.bincount(row, finite, minlength=rows)[row] - finite
    many = np.bincount(row, infinite, minlength=rows)[row] - infinite
    unlimited = np.sign(ends[infinite].sum()) * np.inf if infinite.any() else np.inf
    return np.where(many > 0, unlimited, total)
