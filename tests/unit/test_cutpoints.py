"""Drafts of cutpoints: Table 3 of Lucero et al. (2011), and the laws every method keeps."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.site.cutpoints.methods import Bins, fixed, increasing, minimum_width, partitioned

TABLE_3 = [1, 1, 2, 2, 4, 4, 5, 6]
METHODS = [fixed, minimum_width, increasing, partitioned]
numbers = st.lists(st.integers(-30, 60), min_size=1, max_size=60)
cents = st.lists(st.integers(-400, 900).map(lambda n: n / 100), min_size=1, max_size=60)
wild = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


def counts(values, cutpoints):
    """Count the observations of each bin [c_i, c_i+1)."""
    return np.bincount(np.searchsorted(cutpoints, values, side="right"), minlength=len(cutpoints) + 1)


@pytest.mark.parametrize(
    ("method", "bounds"),
    [
        (fixed, ((1, 2), (3, 4), (5, 6))),
        (minimum_width, ((1, 1), (2, 2), (4, 4), (5, 6))),
        (increasing, ((1, 2), (3, 6))),
        (partitioned, ((1, 1), (2, 2), (4, 4), (5, 6))),
    ],
)
def test_bins_of_table_3_of_lucero(method, bounds):
    assert method(TABLE_3, minimum=2).bounds == bounds


def test_every_node_of_figure_4_of_lucero_may_be_chosen():
    nodes = ((1, 6), (1, 2), (4, 6), (1, 1), (2, 2), (4, 4), (5, 6))
    assert partitioned(TABLE_3, minimum=2).nodes == nodes


@pytest.mark.parametrize("method", [fixed, minimum_width, increasing])
def test_the_bins_themselves_may_be_chosen(method):
    assert method(TABLE_3, minimum=2).nodes == method(TABLE_3, minimum=2).bounds


@pytest.mark.parametrize("method", METHODS)
@given(values=numbers | cents | wild, data=st.data())
def test_each_bin_holds_the_minimum_and_bounds_are_in_order(method, values, data):
    minimum = data.draw(st.integers(1, len(values)))
    bins = method(values, minimum=minimum)
    assert counts(values, bins.cutpoints).min() >= minimum
    edges = np.ravel(bins.bounds)
    assert (np.diff(edges) >= 0).all()
    assert (np.diff(bins.cutpoints) > 0).all()
    assert edges[0] <= min(values)


@pytest.mark.parametrize("method", METHODS)
@given(values=numbers, data=st.data())
def test_bins_state_the_values_they_cover(method, values, data):
    bins = method(values, minimum=data.draw(st.integers(1, len(values))))
    stated = [sum(low <= v <= high for v in values) for low, high in bins.bounds]
    assert stated == counts(values, bins.cutpoints).tolist()
    assert sum(stated) == len(values)


@pytest.mark.parametrize("method", [fixed, increasing])
@given(values=cents, data=st.data())
def test_widths_are_whole_cents_and_bounds_cover_each_cent_value(method, values, data):
    bins = method(values, minimum=data.draw(st.integers(1, len(values))), step=0.01)
    assert sum(low <= v <= high for low, high in bins.bounds for v in values) == len(values)
    assert all(edge == round(edge, 2) for edge in np.ravel(bins.bounds).tolist())


def test_values_a_rounding_error_off_the_grid_are_counted_as_the_cutpoints_divide_them():
    """The float below 0.9 is below a cutpoint of 0.9, although ten times it is 9; 0.3 is not, although 3 * 0.1 > 0.3."""
    below = float(np.nextafter(0.9, 0))
    assert below * 10 == 9
    assert fixed([0.8, below], minimum=1, step=0.1).bounds == ((0.8, 0.8),)
    assert fixed([0.2, 0.3], minimum=1, step=0.1).cutpoints == (0.3,)


@pytest.mark.parametrize("method", METHODS)
@given(values=numbers, seed=st.integers(0, 99))
def test_order_and_missing_values_do_not_matter(method, values, seed):
    shuffled = np.random.default_rng(seed).permutation([*values, np.nan, np.nan])
    assert method(shuffled, minimum=1) == method(values, minimum=1)


def plain_fixed_width(values, minimum):
    """Give the smallest width by trying them all."""
    low, high = min(values), max(values)
    width = 0
    while True:
        width += 1
        sizes = [sum(s <= v < s + width for v in values) for s in range(low, high + 1, width)]
        if min(sizes) >= minimum:
            return width


@given(values=numbers, data=st.data())
def test_fixed_finds_the_smallest_width(values, data):
    minimum = data.draw(st.integers(1, len(values)))
    bins = fixed(values, minimum=minimum)
    widths = {high - low + 1 for low, high in bins.bounds}
    assert widths == {plain_fixed_width(values, minimum)}


def plain_minimum_width(values, minimum):
    """Give bins by walking up the values one by one."""
    bins = [[]]
    for value in sorted(values):
        if len(bins[-1]) >= minimum and value != bins[-1][-1]:
            bins.append([])
        bins[-1].append(value)
    if len(bins) > 1 and len(bins[-1]) < minimum:
        bins[-2:] = [bins[-2] + bins[-1]]
    return tuple((b[0], b[-1]) for b in bins)


@given(values=numbers, data=st.data())
def test_minimum_width_agrees_with_a_plain_walk(values, data):
    minimum = data.draw(st.integers(1, len(values)))
    assert minimum_width(values, minimum=minimum).bounds == plain_minimum_width(values, minimum)


def plain_partition(values, minimum):
    """Give the tree, root first, and its leaves, by recursion."""
    values = sorted(values)
    cuts = [i for i in range(1, len(values)) if values[i - 1] < values[i] and minimum <= i <= len(values) - minimum]
    node = (values[0], values[-1])
    if not cuts:
        return [node], [node]
    cut = min(cuts, key=lambda i: abs(2 * i - len(values)))
    (left, low), (right, high) = plain_partition(values[:cut], minimum), plain_partition(values[cut:], minimum)
    return [node, *left, *right], low + high


@given(values=numbers, data=st.data())
def test_partitioned_agrees_with_plain_recursion(values, data):
    minimum = data.draw(st.integers(1, len(values)))
    nodes, leaves = plain_partition(values, minimum)
    bins = partitioned(values, minimum=minimum)
    assert bins.bounds == tuple(leaves)
    assert sorted(bins.nodes) == sorted(nodes)
    assert bins.nodes[0] == (min(values), max(values))


@given(values=numbers, growth=st.sampled_from([1, 1.5, 2, 10, 1e300]), width=st.sampled_from([None, 1, 3, 1e300]))
def test_widths_of_increasing_bins_never_fall_below_the_growth_asked(values, growth, width):
    bins = increasing(values, minimum=2 if len(values) > 1 else 1, growth=growth, width=width)
    inner = [high - low + 1 for low, high in bins.bounds[:-1]]
    assert all(b >= growth * a for a, b in pairwise(inner))
    assert not inner or inner[0] >= (width or 1)


def test_increasing_without_growth_widens_only_where_it_must():
    values = [0, 0, 1, 1, 2, 2, 3, 7, 9, 12, 30]
    assert increasing(values, minimum=2, width=1, growth=1).bounds == ((0, 0), (1, 1), (2, 2), (3, 7), (8, 30))


def test_a_first_width_is_counted_in_exact_steps():
    values = np.arange(60) / 10
    assert increasing(values, minimum=1, step=0.1, width=1.1, growth=1).cutpoints[:3] == (1.1, 2.2, 3.3)


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_column_is_one_bin(method):
    assert method([7.0] * 9, minimum=3) == Bins(bounds=((7, 7),), nodes=((7, 7),))
    assert method([7.0] * 9, minimum=3).cutpoints == ()


def test_a_million_skewed_values_get_fixed_bins_that_hold_the_minimum():
    values = np.random.default_rng(3).lognormal(10, 0.5, 1_000_000)
    bins = fixed(values, minimum=10, step=0.01)
    assert len(bins.bounds) > 1
    assert counts(values, bins.cutpoints).min() >= 10


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("values", "minimum"), [([], 1), ([np.nan], 1), ([1, 2], 3), ([1, 2, np.inf], 1), ([1, 2], 0)], ids=str
)
def test_values_that_cannot_be_binned_are_mistakes(method, values, minimum):
    with pytest.raises(Mistake, match="Give|Recode"):
        method(values, minimum=minimum)


@pytest.mark.parametrize("method", [fixed, increasing])
@pytest.mark.parametrize("step", [0, -1, float("nan"), float("inf")])
def test_a_step_out_of_range_is_a_mistake(method, step):
    with pytest.raises(Mistake, match="precision"):
        method(TABLE_3, minimum=2, step=step)


@pytest.mark.parametrize("value", [1e20, 1.7e308])
def test_a_step_too_fine_for_the_values_is_a_mistake(value):
    with pytest.raises(Mistake, match="larger step"):
        fixed([1, value], minimum=1, step=0.01)


@pytest.mark.parametrize("bad", [{"growth": 0.9}, {"growth": float("inf")}, {"width": 0}, {"width": 0.5}])
def test_growth_and_width_out_of_range_are_mistakes(bad):
    with pytest.raises(Mistake, match="Give"):
        increasing(TABLE_3, minimum=2, **bad)
