"""Partners for an exchange: drawn by the site's secret among units alike, and stable when other units come or go.

The units of a group stand on a circle, each at a place of its own that the secret gives; somebody who looks for a partner
starts at another such place and takes the first free unit from there on that differs. A unit that comes or goes therefore
changes only the partners of those who would have met it.
"""

import numba as nb
import numpy as np

from confide.arrays import Bools, Floats, Ints

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
    order = able[np.lexsort((spot[able], group[able]))]
    return _walk(order, group, value, level, seeking, spot, aim, least, furthest)


@nb.njit(cache=True)
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
        last = first
        while last < len(order) and group[order[last]] == group[order[first]]:
            last += 1
        size = last - first
        if size >= least:
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
