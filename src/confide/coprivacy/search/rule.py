"""Who submits a query: the strategies of section 4, from counts alone (Domingo-Ferrer 2011).

H(Y) is the entropy of the queries that a peer has submitted to the database, its own and others'. With n queries of which
the x-th occurs c_x times it is log2 n - S / n, where S = sum c_x log2 c_x; so one more query changes it in constant time.
"""

from collections.abc import Iterable
from math import log2

__all__ = ["CLOSE", "entropy", "entropy_gain", "spread"]

CLOSE = 1e-12
"""Entropies that differ by less are equal: rounding. A helper submits only what raises theirs by more."""


def spread(count: int) -> float:
    """The part c log2 c of a query that occurs so often."""
    return count * log2(count) if count > 0 else 0.0


def entropy(counts: Iterable[int]) -> float:
    """Shannon's entropy, in bits, of what occurs so often.

    >>> entropy([2, 1, 1])
    1.5
    """
    some = list(counts)
    total = sum(some)
    return log2(total) - sum(map(spread, some)) / total if total else 0.0


def entropy_gain(count: int, total: int, spreads: float) -> float:
    """What one more of a query that occurs `count` times among `total` adds to the entropy; `spreads` is S.

    A query that is new to somebody who has asked something always adds: so the rule submits it directly.

    >>> entropy_gain(0, 4, 4 * 2.0) > 0 > entropy_gain(4, 5, 4 * 2.0)
    True
    """
    if total == 0:
        return 0.0
    now = log2(total) - spreads / total
    before = count * log2(count) if count > 0 else 0.0
    after = spreads - before + (count + 1) * log2(count + 1)
    return log2(total + 1) - after / (total + 1) - now
