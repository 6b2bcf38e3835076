"""Where trees are cut."""

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled

__all__ = ["select"]


@compiled
def select(order: Ints, begin: int, end: int, middle: int, value: Floats) -> None:
    """Put in place `middle` what stands there in sorted order, smaller before it and greater behind."""
    # Hoare's FIND. The pivot from the middle keeps columns that come sorted linear, and nothing is drawn, so that the same
    # records make the same tree. Both scans stop at equal values: a long run of one category is split evenly, where a scan
    # that passed over it would take quadratic time.
    last = end - 1
    while begin < last:
        pivot = value[order[(begin + last) // 2]]
        i, j = begin, last
        while i <= j:
            while value[order[i]] < pivot:
                i += 1
            while value[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            begin = i
        else:
            return
