"""Partners for an exchange: drawn by the site's secret among units alike, and stable when other units come or go.

The units of a group stand on a circle, each at a place of its own that the secret gives; somebody who looks for a partner
starts at another such place and takes the first free unit from there on that differs. A unit that comes or goes therefore
changes only the partners of those who would have met it.
"""

import numpy as np

from confide.arrays import Bools, Floats, Narrow
from confide.data.compiling import compiled

__all__ = ["FURTHEST", "find_partners", "joined"]

FURTHEST = 256
"""Nobody looks further on a circle than so many units, unless told: in a group of one class there is nobody to find."""


def find_partners(
    partner: Narrow,
    group: Narrow,
    value: Narrow,
    level: Narrow,
    seeking: Bools,
    spot: Floats,
    aim: Floats,
    *,
    least: int,
    furthest: int = FURTHEST,
) -> None:
    """Put down the partner of each unit that seeks one, or of whom one is sought; whoever has one already takes no part.

    `partner` is -1 for none, and changed in place. `group` has a number for each unit; `value` a column for each level of the
    key, the coarsest first. Partners differ in all columns from the `level` of either on: whoever is taken by somebody exposed
    at a finer level may be exposed at a coarser one, and recodes need not nest. `spot` and `aim` are where a unit stands and
    where it starts to look; units are given in the order of their spots.
    A group of fewer units than `least` has no partners for anybody.
    """
    wanted = np.zeros(int(group.max(initial=0)) + 1, bool)
    order, start = np.empty(len(group), np.int32), np.zeros(len(wanted) + 1, np.int32)
    _put_in_order(order, start, wanted, partner, group, seeking)
    _walk(partner, order, start, value, level, seeking, spot, aim, least, furthest)


def joined(group: Narrow, column: Narrow) -> Narrow:
    """Groups parted by a column too, numbered without gaps where there is room to count.

    >>> joined(np.array([0, 0, 1, 1]), np.array([0, 2, 0, 0])).tolist()
    [0, 1, 2, 2]
    """
    width = int(column.max(initial=0)) + 1
    size = (int(group.max(initial=0)) + 1) * width
    if size > 8 * max(len(group), 1):
        cell = group.astype(np.int64) * width + column
        return np.asarray(np.unique(cell, return_inverse=True)[1].ravel(), np.int32)
    # room is made here: numpy asks the system for large pages, compiled code does not, and waits a thousand times as often
    found, number = np.empty(len(group), np.int32), np.zeros(size, np.int32)
    _number(found, number, group, column, width)
    return found


@compiled
def _number(
    cell: Narrow, number: Narrow, group: Narrow, column: Narrow, width: int
) -> None:  # pragma: no cover - compiled
    found = 0
    for i in range(len(group)):
        cell[i] = np.int64(group[i]) * width + column[i]
        number[cell[i]] = 1
    for i in range(len(number)):
        found += number[i]
        number[i] = found - 1
    for i in range(len(group)):
        cell[i] = number[cell[i]]


@compiled
def _put_in_order(
    order: Narrow, start: Narrow, wanted: Bools, partner: Narrow, group: Narrow, seeking: Bools
) -> None:  # pragma: no cover - compiled
    """The free units of groups in which somebody seeks, by group and each in the order they stand in, and where each group starts."""
    for i in range(len(group)):
        if seeking[i]:
            wanted[group[i]] = True
    for i in range(len(group)):
        if wanted[group[i]] and partner[i] < 0:
            start[group[i] + 1] += 1
    for own in range(len(wanted)):
        start[own + 1] += start[own]
    done = start[:-1].copy()
    for i in range(len(group)):
        if wanted[group[i]] and partner[i] < 0:
            order[done[group[i]]] = i
            done[group[i]] += 1


@compiled
def _walk(
    partner: Narrow,
    order: Narrow,
    start: Narrow,
    value: Narrow,
    level: Narrow,
    seeking: Bools,
    spot: Floats,
    aim: Floats,
    least: int,
    furthest: int,
) -> None:  # pragma: no cover - compiled
    for own in range(len(start) - 1):
        first, last = start[own], start[own + 1]
        size, same = last - first, True
        for at in range(first + 1, last):
            same = same and value[order[at], -1] == value[order[first], -1]
            if not same:
                break
        if size < least or same:  # where all have the same class there is nobody to look for
            continue
        for at in range(first, last):
            unit = order[at]
            if not seeking[unit] or partner[unit] >= 0:
                continue
            low, high = first, last
            while low < high:
                middle = (low + high) // 2
                if spot[order[middle]] < aim[unit]:
                    low = middle + 1
                else:
                    high = middle
            for step in range(min(size, furthest)):
                place = low + step
                if place >= last:
                    place -= size
                other = order[place]
                if partner[other] >= 0 or other == unit:
                    continue
                column = min(level[unit], level[other])
                while column < value.shape[1] and value[other, column] != value[unit, column]:
                    column += 1
                if column == value.shape[1]:
                    partner[unit], partner[other] = other, unit
                    break
