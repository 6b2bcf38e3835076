"""Partners for an exchange: drawn by the site's secret among units alike, and stable when other units come or go.

The units of a group stand on a circle, each at a place of its own that the secret gives; somebody who looks for a partner
starts at another such place and takes the first free unit from there on that differs. A unit that comes or goes therefore
changes only the partners of those who would have met it.
"""

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.data.compiling import compiled

__all__ = ["FURTHEST", "find_partners"]

FURTHEST = 256
"""Nobody looks further on a circle than so many units, unless told: in a group of one class there is nobody to find."""


def find_partners(
    group: Ints,
    value: Ints,
    level: Ints,
    seeking: Bools,
    spot: Floats,
    aim: Floats,
    *,
    least: int,
    furthest: int = FURTHEST,
) -> Ints:
    """The partner of each unit that seeks one, or of whom one is sought; -1 for none.

    `group` has a number for each unit, -1 for those that may not take part; `value` a column for each level of the key, the
    coarsest first. Partners differ in all columns from the `level` of either on: whoever is taken by somebody exposed at a
    finer level may be exposed at a coarser one, and recodes need not nest. `spot` and `aim` are where a unit stands and
    where it starts to look.
    A group of fewer units than `least` has no partners for anybody.
    """
    wanted = np.zeros(int(group.max(initial=-1)) + 2, bool)
    wanted[group[seeking]] = True
    wanted[-1] = False  # where those of group -1 look
    able = np.flatnonzero(wanted[group])
    return _walk(_ordered(able, group, spot, len(wanted)), group, value, level, seeking, spot, aim, least, furthest)


@compiled
def _ordered(able: Ints, group: Ints, spot: Floats, groups: int) -> Ints:  # pragma: no cover - compiled
    """Units by group and then by spot. Spots are uniform: in a group of n, one in n times its spot is near its place already."""
    start = np.zeros(groups + 1, np.int64)
    for unit in able:
        start[group[unit] + 1] += 1
    sizes, start = start[1:], np.cumsum(start)
    near = np.empty(len(able), np.int64)
    before = np.zeros(len(able) + 1, np.int64)
    for i in range(len(able)):
        own = group[able[i]]
        near[i] = start[own] + min(int(spot[able[i]] * sizes[own]), sizes[own] - 1)
        before[near[i] + 1] += 1
    before = np.cumsum(before)
    order = np.empty(len(able), np.int64)
    for i in range(len(able)):
        order[before[near[i]]] = able[i]
        before[near[i]] += 1
    for i in range(1, len(able)):
        unit, place = order[i], i
        while place > 0 and group[order[place - 1]] == group[unit] and spot[order[place - 1]] > spot[unit]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = unit
    return order


@compiled
def _walk(
    order: Ints,
    group: Ints,
    value: Ints,
    level: Ints,
    seeking: Bools,
    spot: Floats,
    aim: Floats,
    least: int,
    furthest: int,
) -> Ints:  # pragma: no cover - compiled
    partner = np.full(len(group), -1, np.int64)
    first = 0
    while first < len(order):
        last, same = first, True
        while last < len(order) and group[order[last]] == group[order[first]]:
            same = same and value[order[last], -1] == value[order[first], -1]
            last += 1
        size = last - first
        if size >= least and not same:  # where all have the same class there is nobody to look for
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
        first = last
    return partner
