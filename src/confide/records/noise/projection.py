"""The hot loops of balancing: sums over the cells of one table after the other, and residuals cleared of them.

Records are looked through once for each cover, a larger table of which several are parts. What the tables of a cover take out of
residuals follows from sums over its cells: each record's part is linear in what its cell pulls.
Cells are numbered without a sign: an index that could be below 0 is looked at first, which takes a quarter of the time.
"""

import numpy as np

from confide.arrays import Floats, Ints, Narrow
from confide.data.compiling import compiled
from confide.records.sums import Places

__all__ = ["FARTHEST", "SUMS", "displace", "grams", "project"]

SUMS = 7
"""What is added up for each cell: three products for the equations, then size and squares of both shares."""

FARTHEST = 5.0
"""The sums of a cell are moved by no more than so many of their standard deviations, both together. Where amounts go nearly with their
logarithms, each may be a few off and both together hundreds: all who are there would be moved by that."""

BLOCK = 1 << 12
"""Records whose cells are numbered at once: these stay in the processor's nearest cache."""


@compiled
def _number(
    cell: Narrow, places: Places, first: int, variables: Ints, sizes: Ints
) -> None:  # pragma: no cover - compiled
    """Number the cells of records from the `first` on, in a table by some rows of `places`."""
    row = places[variables[0]]
    for i in range(len(cell)):
        cell[i] = row[first + i]
    for k in range(1, len(variables)):
        row, size = places[variables[k]], np.uint32(sizes[k])
        if size > 1:
            for i in range(len(cell)):
                cell[i] = cell[i] * size + np.uint32(row[first + i])


@compiled
def grams(
    sums: Floats, terms: Floats, ease: Floats, spread: Floats, places: Places, variables: Ints, sizes: Ints
) -> None:  # pragma: no cover - compiled
    """Add up for each cell of covers, one after the other: the products of both terms, and whether a few hold much.

    A row of `variables` has the rows of `places`, and one of `sizes` how many classes each has.
    """
    start, cell = 0, np.empty(len(ease), np.uint32)
    for cover in range(len(variables)):
        _number(cell, places, 0, variables[cover], sizes[cover])
        cells = sums[start : start + sizes[cover].prod()]
        start += len(cells)
        for i in range(len(ease)):
            one, two, square = terms[i, 0], terms[i, 1], spread[i] * spread[i]
            own = cells[cell[i]]
            own[0] += ease[i] * one * one
            own[1] += ease[i] * one * two
            own[2] += ease[i] * two * two
            one, two = one * square, two * square
            own[3] += one
            own[4] += one * one
            own[5] += two
            own[6] += two * two


@compiled
def displace(
    sums: Floats, moved: Floats, columns: Floats, was: Places, places: Places, variables: Ints, sizes: Ints
) -> None:  # pragma: no cover - compiled
    """For each cell, as `grams` has them: add up the columns of those who were there before, and of those who came less those who
    left; `was` has the places of records before."""
    start, old, new = 0, np.empty(len(columns), np.uint32), np.empty(len(columns), np.uint32)
    for cover in range(len(variables)):
        _number(old, was, 0, variables[cover], sizes[cover])
        _number(new, places, 0, variables[cover], sizes[cover])
        size = sizes[cover].prod()
        all_sums, all_moved = sums[start : start + size], moved[start : start + size]
        for i in range(len(columns)):
            for k in range(4):
                all_sums[old[i], k] += columns[i, k]
            if old[i] != new[i]:
                for k in range(4):
                    all_moved[old[i], k] -= columns[i, k]
                    all_moved[new[i], k] += columns[i, k]
        start += size


@compiled
def project(
    residual: Floats,
    offset: Floats,
    terms: Floats,
    ease: Floats,
    places: Places,
    variables: Ints,
    sizes: Ints,
    parts: Ints,
    cells: Narrow,
    products: Floats,
    inverse: Floats,
    excess: Floats,
) -> float:  # pragma: no cover - compiled
    """Change residuals so that in each cell of the last table, and nearly so in those before, both weighted sums are 0.

    The sums are of `terms[:, 0] * residual` and of `offset + terms[:, 1] * residual`, with the `excess` of each cell. `inverse`
    has the inverse matrices of all cells of all tables, one after the other: 0 for what is to be left alone. A row of `parts` has the
    cover of a table and how many cells it has; `cells` has them for each cell of the cover, one table after the other. `products` are
    those of both terms over the cells of covers. One pass takes out what the cover before has and adds up the next. Given back is how
    much there was to take out: the sum of squares, in variances, over all cells.
    """
    most = 0
    for cover in range(len(sizes)):
        most = max(most, sizes[cover].prod())
    sums, pull = np.zeros((most, 2)), np.zeros((most, 2))
    old, new = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    part, start, done, begun, found = 0, 0, 0, 0, 0.0
    for number in range(len(variables) + 1):
        before, now = max(number - 1, 0), min(number, len(variables) - 1)
        size = sizes[now].prod()
        sums[:size] = 0.0
        for first in range(0, len(residual), BLOCK):
            here = min(BLOCK, len(residual) - first)
            _number(old[:here], places, first, variables[before], sizes[before])
            _number(new[:here], places, first, variables[now], sizes[now])
            for i in range(here):
                row = first + i
                one, two = terms[row, 0], terms[row, 1]
                left = residual[row] - ease[row] * (one * pull[old[i], 0] + two * pull[old[i], 1])
                residual[row] = left
                sums[new[i], 0] += one * left
                sums[new[i], 1] += offset[row] + two * left
        if number < len(variables):
            pull[:size] = 0.0
            while part < len(parts) and parts[part, 0] == number:
                own = slice(start, start + parts[part, 1])
                whole = products[done : done + size]
                found += _settle(
                    sums[:size], pull[:size], whole, cells[begun : begun + size], inverse[own], excess[own]
                )
                part, start, begun = part + 1, start + parts[part, 1], begun + size
            done += size
    return found


@compiled
def _settle(
    sums: Floats, pull: Floats, products: Floats, cells: Narrow, inverse: Floats, excess: Floats
) -> float:  # pragma: no cover - compiled
    """Take one table out of what is left in the cells of its cover, and add to what these pull; how much there was."""
    own, found = excess.copy(), 0.0
    for cell in range(len(cells)):
        own[cells[cell]] += sums[cell]
    for group in range(len(own)):
        matrix, one, two = inverse[group], own[group, 0], own[group, 1]
        by, and_by = matrix[0] * one + matrix[1] * two, matrix[1] * one + matrix[2] * two
        square = one * by + two * and_by
        found += square
        less = FARTHEST / np.sqrt(square) if square > FARTHEST * FARTHEST else 1.0
        own[group, 0], own[group, 1] = by * less, and_by * less
    for cell in range(len(cells)):
        by, and_by = own[cells[cell]]
        sums[cell, 0] -= products[cell, 0] * by + products[cell, 1] * and_by
        sums[cell, 1] -= products[cell, 1] * by + products[cell, 2] * and_by
        pull[cell, 0] += by
        pull[cell, 1] += and_by
    return found
