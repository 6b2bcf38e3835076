"""Drafts of cutpoints for a numeric variable: four ways to bins that each hold at least a minimum of observations.

Equal values are never split and missing values (NaN) are ignored. Methods with widths count in steps, the declared
precision of the variable (1 for years, 0.01 for cents). The custodian chooses a draft once and declares its cutpoints.
Reference: Lucero et al. (2011), section 3.1.3 and Table 3.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from confide.arrays import Floats, Ints
from confide.errors import Mistake

__all__ = ["Bins", "fixed", "increasing", "minimum_width", "partitioned"]

Pair = tuple[float, float]


@dataclass(frozen=True)
class Bins:
    """The bins as (lowest, highest) values, and the `nodes` a user may choose: the bins, or the tree above them.

    >>> Bins(bounds=((1, 2), (3, 6)), nodes=((1, 2), (3, 6))).cutpoints
    (3,)
    """

    bounds: tuple[Pair, ...]
    nodes: tuple[Pair, ...]

    @property
    def cutpoints(self) -> tuple[float, ...]:
        """Give the lower bounds of the second bin on: bin i is [c_i, c_i+1), open at both ends of the list."""
        return tuple(low for low, _ in self.bounds[1:])


def fixed(values: ArrayLike, *, minimum: int, step: float = 1) -> Bins:
    """Give bins of one width: the smallest number of steps with which each holds at least `minimum` observations.

    >>> fixed([1, 1, 2, 2, 4, 4, 5, 6], minimum=2).bounds
    ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))
    """
    grid = _Grid.of(step)
    steps = grid.steps(_observed(values, minimum))
    width = _smallest_width(steps - steps[0], minimum)
    starts = np.arange(steps[0], steps[-1] + 1, width)
    return _flat(grid.values(starts), grid.values(starts + width - 1))


def minimum_width(values: ArrayLike, *, minimum: int) -> Bins:
    """Give the narrowest bins, from the lowest value up, that each hold at least `minimum` observations.

    What is left over at the top joins the last bin.

    >>> minimum_width([1, 1, 2, 2, 4, 4, 5, 6], minimum=2).bounds
    ((1.0, 1.0), (2.0, 2.0), (4.0, 4.0), (5.0, 6.0))
    """
    distinct, before = _distinct(_observed(values, minimum))
    following = np.searchsorted(before, before + minimum).tolist()
    starts = [0]
    while following[following[starts[-1]]] <= len(distinct):
        starts.append(following[starts[-1]])
    ends = np.array([*starts[1:], len(distinct)])
    return _flat(distinct[starts], distinct[ends - 1])


def increasing(
    values: ArrayLike, *, minimum: int, step: float = 1, width: float | None = None, growth: float = 2
) -> Bins:
    """Give bins that widen with the value: each `growth` times as wide as the one below, or wider if it must be.

    The first is `width` wide or, unless given, just wide enough for twice the minimum. A bin that would leave fewer
    than the minimum above it takes them all, so that the last width is without limit.

    >>> increasing([1, 1, 2, 2, 4, 4, 5, 6], minimum=2).bounds
    ((1.0, 2.0), (3.0, 6.0))
    """
    if not 1 <= growth < np.inf:
        raise Mistake("'growth' multiplies the width from bin to bin. Give 1 or more.")
    if width is not None and not step <= width < np.inf:
        raise Mistake("'width' is the width of the first bin. Give at least one step.")
    grid = _Grid.of(step)
    steps = grid.steps(_observed(values, minimum))
    twice = steps[min(2 * minimum, len(steps)) - 1] - steps[0] + 1
    starts = _widening(steps, minimum, int(twice) if width is None else grid.width(width), growth)
    ends = np.append(starts[1:] - 1, steps[-1])
    return _flat(grid.values(starts), grid.values(ends))


def partitioned(values: ArrayLike, *, minimum: int) -> Bins:
    """Give the leaves of a binary tree that halves the observations while both halves hold at least `minimum`.

    Every node may be chosen; `nodes` has them from the root down, and from left to right.

    >>> partitioned([1, 1, 2, 2, 4, 4, 5, 6], minimum=2).nodes[:3]
    ((1.0, 6.0), (1.0, 2.0), (4.0, 6.0))
    """
    distinct, before = _distinct(_observed(values, minimum))
    levels, leaves = [np.array([[0, len(distinct)]])], []
    while len(levels[-1]):
        children, whole = _halved(levels[-1], before, minimum)
        levels.append(children)
        leaves.append(whole)
    bins = np.concatenate(leaves)
    bins = bins[np.argsort(bins[:, 0])]
    return Bins(*(_pairs(distinct[s[:, 0]], distinct[s[:, 1] - 1]) for s in (bins, np.concatenate(levels))))


@dataclass(frozen=True)
class _Grid:
    """The values a variable of this precision can take: multiples of numerator / denominator, correctly rounded."""

    numerator: int
    denominator: int

    @classmethod
    def of(cls, step: float) -> "_Grid":
        if not 1e-12 <= step < np.inf:
            raise Mistake("'step' is the precision of the variable. Give 1e-12 or more, such as 1 or 0.01.")
        return cls(*Fraction(repr(float(step))).as_integer_ratio())

    def width(self, width: float) -> int:
        return ceil(Fraction(repr(float(width))) * self.denominator / self.numerator)

    def values(self, steps: Ints) -> Floats:
        return steps * float(self.numerator) / self.denominator

    def steps(self, values: Floats) -> Ints:
        """Give how many steps lie at or below each value, exactly as comparing with the cutpoints would."""
        with np.errstate(over="ignore"):
            count = np.floor(values * float(self.denominator) / self.numerator)
        if max(abs(count[0]), abs(count[-1])) > 2**52:
            raise Mistake("'step' is too fine for values of this size. Give a larger step.")
        steps = count.astype(np.int64)
        return np.asarray(steps + (self.values(steps + 1) <= values) - (self.values(steps) > values))


def _observed(values: ArrayLike, minimum: int) -> Floats:
    """Give the observed values, sorted."""
    if not minimum >= 1:
        raise Mistake("'minimum' is the fewest observations in a bin. Give 1 or more.")
    array = np.asarray(values, dtype=np.float64).ravel()
    array = np.sort(array[~np.isnan(array)])
    if len(array) < minimum:
        raise Mistake("There are fewer observed values than 'minimum'. Give a smaller minimum or use no cutpoints.")
    if np.isinf(array[[0, -1]]).any():
        raise Mistake("The variable has infinite values. Recode them as missing first.")
    return array


def _distinct(ordered: Floats) -> tuple[Floats, Ints]:
    """Give the distinct values, and how many observations lie before each of them and in all."""
    first = np.flatnonzero(np.append(True, ordered[1:] > ordered[:-1]))
    return ordered[first], np.append(first, len(ordered))


def _smallest_width(steps: Ints, minimum: int) -> int:
    """Give the smallest width that leaves no bin short, for sorted steps that start at 0.

    No width is tried that one short bin alone rules out. As the width grows, bin i starts higher, so to hold enough
    it must at least reach the minimum-th observation above its present start, or start above the last one and be gone.
    """
    last, total = int(steps[-1]), len(steps)
    spans = steps[minimum:] - steps[:-minimum]
    width = max(int(steps[minimum - 1]) + 1, last - int(steps[-minimum]) + 1, int(spans.max(initial=0)) // 2 + 1)
    while True:
        first = np.searchsorted(steps, np.arange(0, last + 1, width))
        short = np.flatnonzero(np.diff(first, append=total) < minimum)
        if not len(short):
            return width
        wanted = first[short] + minimum - 1
        gone = last // short + 1
        reaching = steps[np.minimum(wanted, total - 1)] // (short + 1) + 1
        width = int(np.where(wanted < total, reaching, gone).max())


def _widening(steps: Ints, minimum: int, width: int, growth: float) -> Ints:
    """Give the starts of bins of growing width over sorted steps."""
    starts, low, first, span = [], int(steps[0]), 0, int(steps[-1] - steps[0]) + 1
    while len(steps) - first >= minimum:
        starts.append(low)
        width = max(min(width, span), int(steps[first + minimum - 1]) - low + 1)
        low, first = low + width, int(np.searchsorted(steps, low + width))
        width = ceil(min(width * growth, span))
    return np.array(starts)


def _halved(nodes: Ints, before: Ints, minimum: int) -> tuple[Ints, Ints]:
    """Split each node as near its middle as equal values allow; give the children, and the nodes left whole."""
    low, high = before[nodes].T
    middle = (low + high) / 2
    above = np.searchsorted(before, middle)
    cut = np.where(middle - before[above - 1] <= before[above] - middle, above - 1, above)
    halves = np.minimum(before[cut] - low, high - before[cut]) >= minimum
    start, end, cut = nodes[halves, 0], nodes[halves, 1], cut[halves]
    return np.stack([start, cut, cut, end], axis=1).reshape(-1, 2), nodes[~halves]


def _pairs(lows: Floats, highs: Floats) -> tuple[Pair, ...]:
    return tuple(zip(lows.tolist(), highs.tolist(), strict=True))


def _flat(lows: Floats, highs: Floats) -> Bins:
    bounds = _pairs(lows, highs)
    return Bins(bounds=bounds, nodes=bounds)
