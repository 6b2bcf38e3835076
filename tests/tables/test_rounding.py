"""Rounding: multiples that add up, next to the values, least change proven on small tables."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import ReleaseKey
from confide.errors import Mistake
from confide.tables import Hierarchy, Table
from confide.tables.rounding.round import round as round_table
from confide.tables.table.build import assemble, every_cell

DATA = Path(__file__).parents[3] / "shared" / "data"


def table_of(cells: np.ndarray, *, measure: str = "count") -> Table:
    """A table with all its totals, from its inner cells."""
    full = cells.astype(float)
    for axis in range(cells.ndim):
        full = np.concatenate([full.sum(axis=axis, keepdims=True), full], axis=axis)
    hierarchies = [Hierarchy.flat(map(str, range(size))) for size in cells.shape]
    names = [f"v{axis}" for axis in range(cells.ndim)]
    return assemble(names, hierarchies, every_cell(hierarchies), full.ravel(), measure=measure)


def random_cells(shape: tuple[int, ...], seed: int, mean: float = 3.0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.poisson(random.gamma(1.0, mean, shape))


def neighbours(before: Table, value: np.ndarray, base: float) -> bool:
    """Whether every value is a multiple of the base less than one base away; so multiples stay."""
    units = value / base
    return bool((np.abs(units - np.rint(units)) < 1e-9).all() and (np.abs(value - before.value) < base).all())


shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


@given(shapes, st.integers(0, 10**6), st.sampled_from([2, 3, 5, 10, 2.5]))
def test_controlled_rounding_adds_up_and_goes_to_neighbouring_multiples(shape, seed, base):
    table = table_of(random_cells(shape, seed))
    rounded = round_table(table, base=base, teaching_seed=1)
    rounded.table.check()
    units = rounded.table.value / base
    assert (units == np.rint(units)).all() and (rounded.table.value[table.value == 0] == 0).all()
    assert rounded.finished and neighbours(table, rounded.table.value, base) == (not rounded.notes)
    if len(shape) <= 2:
        assert not rounded.notes, "a table by two variables always has such a rounding"


@given(shapes, st.integers(0, 10**6))
def test_magnitudes_of_any_sign_are_rounded_too(shape, seed):
    cells = np.random.default_rng(seed).normal(0, 50, shape)
    table = table_of(cells, measure="balance")
    rounded = round_table(table, base=7, teaching_seed=1)
    rounded.table.check()
    assert neighbours(table, rounded.table.value, 7) == (not rounded.notes)


def least(table: Table, base: int) -> float:
    """The least sum of changes, by trying all roundings of the inner cells."""
    inner = np.flatnonzero((table.places > 0).all(axis=1))
    shape = tuple(len(hierarchy.codes) - 1 for hierarchy in table.hierarchies)
    choices = [sorted({int(v // base) * base, int(-(-v // base)) * base}) for v in table.value[inner]]
    best = np.inf
    for cells in product(*choices):
        value = table_of(np.array(cells).reshape(shape)).value
        if (np.abs(value - table.value) < base).all():
            best = min(best, np.abs(value - table.value).sum())
    return best


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 2)])
def test_no_controlled_rounding_is_nearer_in_a_small_table(shape, seed):
    table = table_of(random_cells(shape, seed, mean=6))
    assert np.abs(round_table(table, base=3, teaching_seed=1).deviations).sum() == pytest.approx(least(table, 3))


def test_where_no_rounding_to_neighbours_exists_a_cell_goes_farther_and_it_is_said():
    table = table_of(np.array([[[1, 2], [1, 0], [1, 2]], [[2, 0], [0, 1], [0, 0]], [[0, 1], [1, 0], [0, 1]]]))
    assert least(table, 3) == np.inf
    rounded = round_table(table, base=3, teaching_seed=1)
    rounded.table.check()
    assert (rounded.table.value % 3 == 0).all() and (rounded.table.value[table.value == 0] == 0).all()
    assert rounded.notes == ("No rounding was found with all cells at neighbouring multiples; cells that are not: 1.",)
    assert rounded.largest < 6


def test_a_large_table_is_rounded_by_the_search():
    """About 9,000 cells: more than are solved to the end."""
    table = table_of(random_cells((20, 20, 20), 3))
    rounded = round_table(table, base=3, time_limit=None, teaching_seed=1)
    rounded.table.check()
    assert neighbours(table, rounded.table.value, 3) and not rounded.notes[1:]
    assert np.abs(rounded.deviations)[table.value % 3 != 0].mean() < 1.22, "by chance it would be 1.33"


def test_the_same_seed_gives_the_same_table():
    table = table_of(random_cells((12, 12, 12), 3))
    one, two = (round_table(table, base=5, teaching_seed=4, time_limit=None).table.value.tolist() for _ in range(2))
    assert one == two


def test_an_interrupt_gives_a_table_that_adds_up():
    def impatient(share, words):
        raise KeyboardInterrupt

    table = table_of(random_cells((15, 15, 15), 3))
    rounded = round_table(table, progress=impatient, teaching_seed=1)
    rounded.table.check()
    assert not rounded.finished and "ended before" in rounded.notes[0]
    assert (rounded.table.value % 3 == 0).all()


def test_a_time_limit_ends_the_search(clock):
    table = table_of(random_cells((25, 25, 25), 3))
    rounded = round_table(table, time_limit=10, progress=clock.tick, teaching_seed=1)
    assert clock.seconds <= 11
    rounded.table.check()
    assert not rounded.finished


def test_a_table_whose_totals_are_entangled_is_put_right_by_the_solver():
    """Places in counties in parts of the country, and industries in branches: the search alone leaves totals wrong."""
    random = np.random.default_rng(2)
    place, industry = random.integers(0, 60, 4000), random.integers(0, 6, 4000)
    numbers = {"part": place // 15, "county": place // 3, "place": place, "branch": industry // 2, "industry": industry}
    frame = {name: [f"{name} {number}" for number in column] for name, column in numbers.items()}
    frame["size"] = random.integers(0, 4, 4000)
    levels = {"place": ["part", "county"], "industry": ["branch"]}
    table = Table.from_microdata(frame, by=["place", "industry", "size"], hierarchies=levels)
    rounded = round_table(table, base=3, teaching_seed=1)
    rounded.table.check()
    assert neighbours(table, rounded.table.value, 3) and not rounded.notes


def test_inner_cells_go_to_neighbours_even_where_totals_cannot_in_the_time(clock):
    """Few tables by five variables have a rounding with all totals at neighbours, and here the search alone takes the time."""
    table = table_of(random_cells((5, 5, 4, 4, 3), 3))
    rounded = round_table(table, base=3, time_limit=100, progress=clock.tick, teaching_seed=1)
    rounded.table.check()
    inner = (table.places > 0).all(axis=1)
    assert (np.abs(rounded.deviations)[inner] < 3).all() and (rounded.table.value % 3 == 0).all()
    assert (rounded.table.value[table.value == 0] == 0).all()
    astray = int((np.abs(rounded.deviations) >= 3).sum())
    assert astray > 0 and f"cells that are not: {astray}" in rounded.notes[-1]


def test_codes_of_any_kind_and_weighted_counts_are_rounded():
    frame = {"u": ["ä", "漢字 🙂", "x" * 300, "-9999999999999999999"] * 3, "w": [1.5, 2.25, 3.1, 0.5] * 3}
    table = Table.from_microdata(frame, by=["u"], weight="w")
    rounded = round_table(table, base=3, teaching_seed=1)
    rounded.table.check()
    assert neighbours(table, rounded.table.value, 3)


def test_linked_tables_without_common_detail_are_rounded_jointly():
    frame = {"u": list("aaabbbcc") * 3, "v": list("xyxyxyxy") * 3, "w": list("11221122") * 3}
    linked = Table.link([Table.from_microdata(frame, by=["u", by]) for by in "vw"])
    rounded = round_table(linked, base=5, teaching_seed=1)
    rounded.table.check()
    assert neighbours(linked, rounded.table.value, 5)
    with pytest.raises(Mistake, match="no inner counts"):
        round_table(linked, method="small", teaching_seed=1)


# Small counts.


@given(shapes, st.integers(0, 10**6), st.integers(2, 6))
def test_small_inner_counts_go_to_zero_or_the_base_and_others_stay(shape, seed, base):
    table = table_of(random_cells(shape, seed))
    rounded = round_table(table, base=base, method="small", teaching_seed=seed)
    rounded.table.check()
    inner = (table.places > 0).all(axis=1)
    before, now = table.value[inner], rounded.table.value[inner]
    small = (before > 0) & (before < base)
    assert np.isin(now[small], (0, base)).all() and (now[~small] == before[~small]).all()
    assert not ((rounded.table.value > 0) & (rounded.table.value < base)).any()


def test_small_counts_are_rounded_the_same_way_for_the_same_seed():
    table = table_of(random_cells((8, 9, 4), 5, mean=1.0))
    one, two, other = (
        round_table(table, method="small", teaching_seed=seed).table.value.tolist() for seed in (1, 1, 2)
    )
    assert one == two != other


@pytest.mark.reference
def test_the_largest_difference_is_not_larger_than_that_of_the_peer():
    """County by industry in sector by size, base 3: R's SmallCountRounding has a largest difference of 4."""
    frame = pyarrow.csv.read_csv(DATA / "bench_table3d_100k.csv.gz")
    table = Table.from_microdata(frame, by=["county", "ind", "siz"], hierarchies={"ind": ["sector"]})
    assert len(table) == 3087
    rounded = round_table(table, method="small", teaching_seed=1)
    assert rounded.largest <= 3
    rounded.table.check()


# At random.


def test_random_rounding_leaves_expected_values_as_they_are():
    table = table_of(np.array([[1, 2, 3], [4, 7, 11]]))
    drawn = np.array(
        [round_table(table, base=5, method="random", teaching_seed=seed).table.value for seed in range(4000)]
    )
    over = table.value % 5
    error = np.sqrt(over * (5 - over) / len(drawn))
    assert (np.abs(drawn.mean(axis=0) - table.value) <= 4 * error).all()
    assert (drawn % 5 == 0).all() and (np.abs(drawn - table.value) < 5).all()
    assert len({tuple(row) for row in drawn.tolist()}) > 50


def test_random_rounding_says_that_it_does_not_add_up_and_repeats_by_seed():
    table = table_of(random_cells((6, 6), 1))
    one, two = (round_table(table, method="random", teaching_seed=3) for _ in range(2))
    assert one.table.value.tolist() == two.table.value.tolist()
    assert "totals may differ" in one.notes[0]
    with pytest.raises(Mistake, match="does not add up"):
        one.table.check()


# Bad input.


@pytest.mark.parametrize("base", [0, -3, float("nan"), float("inf")])
def test_a_base_is_a_positive_number(base):
    with pytest.raises(Mistake, match="positive"):
        round_table(table_of(np.array([1, 2])), base=base, teaching_seed=1)


def test_a_method_that_does_not_exist_is_a_mistake_that_offers_the_nearest():
    with pytest.raises(Mistake, match="'controled'.*Did you mean 'controlled'"):
        round_table(table_of(np.array([1, 2])), method="controled", teaching_seed=1)


@pytest.mark.parametrize(("cells", "base"), [([1.5, 2], 3), ([-1, 2], 3), ([1, 2], 2.5)])
def test_small_counts_must_be_counts(cells, base):
    with pytest.raises(Mistake, match="whole base"):
        round_table(table_of(np.array(cells)), base=base, method="small", teaching_seed=1)


@pytest.mark.parametrize("method", ["small", "random"])
def test_a_seed_is_a_whole_number(method):
    with pytest.raises(Mistake, match="seed must be a whole number"):
        round_table(table_of(np.array([1, 2])), method=method, teaching_seed=-1)


def test_a_table_that_does_not_add_up_is_not_rounded():
    table = replace(table_of(np.array([1, 2])), value=np.array([4.0, 1, 2]))
    with pytest.raises(Mistake, match="does not add up"):
        round_table(table, teaching_seed=1)


def test_values_beyond_whole_numbers_are_a_mistake():
    for wrong in (np.inf, np.nan, 1e300):
        with pytest.raises(Mistake, match=r"too large|not finite"):
            round_table(replace(table_of(np.array([1, 2])), value=np.array([wrong, wrong, 0])), teaching_seed=1)


def test_huge_counts_are_rounded_exactly():
    table = table_of(np.array([10**12 + 1, 10**12 + 1, 10**12 + 2]))
    rounded = round_table(table, base=3, teaching_seed=1)
    rounded.table.check()
    assert neighbours(table, rounded.table.value, 3)


def test_one_cell_is_rounded_with_its_total():
    assert round_table(table_of(np.array([4])), base=3, teaching_seed=1).table.value.tolist() == [3.0, 3.0]
    assert round_table(table_of(np.array([0])), base=3, teaching_seed=1).table.value.tolist() == [0.0, 0.0]


def test_random_rounding_has_no_default_to_guess_and_no_draws_in_common_with_another_table(tmp_path):
    one, two = (table_of(np.full((20, 20), count)) for count in (7, 10))
    with pytest.raises(Mistake, match="Rounding draws at random, from a secret key"):
        round_table(one, method="random")
    key = ReleaseKey.kept(tmp_path / "k")
    up = [round_table(table, method="random", key=key).deviations > 0 for table in (one, two)]
    again = round_table(one, method="random", key=key).deviations > 0
    assert (again == up[0]).all()
    # both round up with probability 2/3; of 400 inner cells 5/9 agree by chance, with a standard error of 2.5 %
    assert abs(np.mean(up[0] == up[1]) - 5 / 9) < 0.12
