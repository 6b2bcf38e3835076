"""The hot loops of balancing: sums over the cells of one table after the other, and residuals cleared of them.

Cells are numbered without a sign: an index that could be below 0 is looked at first, which takes a quarter of the time.
"""

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.records.sums import Places

__all__ = ["FARTHEST", "SUMS", "displace", "grams", "project"]

SUMS = 7
"""What is added up for each cell: three products for the equations, then size and squares of both shares."""

FARTHEST = 5.0
"""The sums of a cell are moved by no more than so many of their standard deviations, both together. Where amounts go nearly with their
logarithms, each may be a few off and both together hundreds: all who are there would be moved by that."""


@compiled
def grams(
    sums: Floats, terms: Floats, ease: Floats, spread: Floats, places: Places, tables: Ints
) -> None:  # pragma: no cover - compiled
    """Add up for each cell of tables by two variables, one after the other: the products of both terms, and whether a few hold much.

    A row of `tables` has the two rows of `places`, and the sizes of both variables.
    """
    start = 0
    for table in tables:
        first, second, width = places[table[0]], places[table[1]], np.uint32(table[3])
        cells = sums[start : start + table[2] * table[3]]
        start += table[2] * table[3]
        for i in range(len(ease)):
            one, two, square = terms[i, 0], terms[i, 1], spread[i] * spread[i]
            cell = cells[np.uint32(first[i]) * width + np.uint32(second[i])]
            cell[0] += ease[i] * one * one
            cell[1] += ease[i] * one * two
            cell[2] += ease[i] * two * two
            one, two = one * square, two * square
            cell[3] += one
            cell[4] += one * one
            cell[5] += two
            cell[6] += two * two


@compiled
def displace(
    sums: Floats, moved: Floats, columns: Floats, was: Places, places: Places, tables: Ints
) -> None:  # pragma: no cover - compiled
    """For each cell, as `grams` has them: add up the columns of those who were there before, and of those who came less those who
    left; `was` has the places of records before."""
    start = 0
    for table in tables:
        width = np.uint32(table[3])
        before, after, size = was[table[0]], places[table[0]], table[2] * table[3]
        next_before, next_after = was[table[1]], places[table[1]]
        all_sums, all_moved = sums[start : start + size], moved[start : start + size]
        for i in range(len(columns)):
            old = np.uint32(before[i]) * width + np.uint32(next_before[i])
            new = np.uint32(after[i]) * width + np.uint32(next_after[i])
            for k in range(4):
                all_sums[old, k] += columns[i, k]
            if old != new:
                for k in range(4):
                    all_moved[old, k] -= columns[i, k]
                    all_moved[new, k] += columns[i, k]
        start += size


@compiled
def project(
    residual: Floats,
    offset: Floats,
    terms: Floats,
    ease: Floats,
    places: Places,
    tables: Ints,
    inverse: Floats,
    excess: Floats,
) -> None:  # pragma: no cover - compiled
    """Change residuals so that in each cell of the last table, and nearly so in those before, both weighted sums are 0.

    The sums are of `terms[:, 0] * residual` and of `offset + terms[:, 1] * residual`, with the `excess` of each cell. `inverse`
    has the inverse matrices of all cells of all tables, one after the other: 0 for what is to be left alone. One pass takes out
    what the table before has and adds up the next.
    """
    sums, pull = np.zeros((len(inverse), 2)), np.zeros((len(inverse), 2))
    before, start = tables[0], 0
    for number in range(len(tables) + 1):
        now = tables[min(number, len(tables) - 1)]
        a, b, width = places[before[0]], places[before[1]], np.uint32(before[3])
        c, d, next_width = places[now[0]], places[now[1]], np.uint32(now[3])
        if number < len(tables):
            sums[: now[2] * now[3]] = excess[start : start + now[2] * now[3]]
        for i in range(len(residual)):
            cell = np.uint32(a[i]) * width + np.uint32(b[i])
            one, two = terms[i, 0], terms[i, 1]
            left = residual[i] - ease[i] * (one * pull[cell, 0] + two * pull[cell, 1])
            residual[i] = left
            cell = np.uint32(c[i]) * next_width + np.uint32(d[i])
            sums[cell, 0] += one * left
            sums[cell, 1] += offset[i] + two * left
        if number < len(tables):
            for group in range(now[2] * now[3]):
                matrix = inverse[start + group]
                pull[group, 0] = matrix[0] * sums[group, 0] + matrix[1] * sums[group, 1]
                pull[group, 1] = matrix[1] * sums[group, 0] + matrix[2] * sums[group, 1]
                square = sums[group, 0] * pull[group, 0] + sums[group, 1] * pull[group, 1]
                if square > FARTHEST * FARTHEST:
                    pull[group] *= FARTHEST / np.sqrt(square)
            start += now[2] * now[3]
            before = now
