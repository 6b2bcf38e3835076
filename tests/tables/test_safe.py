"""SAFE: no combination of few records, tables near the truth, the same base for the same seed."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.tables import Table
from confide.tables.annealing.safe.base import combined
from confide.tables.annealing.safe.protect import safe

people = st.lists(
    st.tuples(st.sampled_from("fm"), st.sampled_from("abcd"), st.sampled_from(["01", "02", "10"])),
    min_size=1,
    max_size=60,
)


def frame_of(rows) -> dict[str, list[str]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(("sex", "town", "age"))}


def town(records: int, *, seed: int = 1) -> pa.Table:
    """People of 50 quarters with an age pyramid, and status and origin that depend on age and quarter."""
    random = np.random.default_rng(seed)
    quarter = random.choice(50, records, p=(size := random.lognormal(0, 0.6, 50)) / size.sum())
    age = np.clip(random.gamma(4, 11, records), 0, 110).astype(int)
    origin = (random.random(records) * 7 * random.beta(1, 2, 50)[quarter]).astype(int)
    status = np.where(age < 18, 0, np.where(age > 65, 1, 2 + random.integers(0, 6, records)))
    return pa.table(
        {
            "sex": random.integers(0, 2, records),
            "family": np.minimum(age // 25, random.integers(0, 4, records)),
            "origin": origin,
            "status": status,
            "age": age,
            "quarter": quarter,
        }
    )


@given(people, st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4))
def test_every_table_of_the_base_has_no_small_count(rows, seed, controlled, js):
    base = safe(frame_of(rows), by=["sex", "town", "age"], controlled=controlled, js=js, teaching_seed=seed, sweeps=50)
    assert ((base.count == 0) | (base.count > js)).all()
    records = base.expand().to_pandas()
    assert len(records) == len(base) == base.count.sum()
    before = set(map(tuple, rows))
    assert set(map(tuple, records.astype(str).to_numpy())) <= before, "no combination is invented"
    for size in (1, 2, 3):
        for by in combinations(["sex", "town", "age"], size):
            counts = records.groupby(list(by), observed=True).size()
            assert (counts > js).all()


@given(people, st.integers(0, 1000))
def test_two_universes_differ_by_no_record_or_by_three(rows, seed):
    """Differencing has nothing to find: any two sets of combinations differ in whole combinations."""
    base = safe(frame_of(rows), by=["sex", "town", "age"], sweeps=20, teaching_seed=seed)
    random = np.random.default_rng(seed)
    for _ in range(20):
        one, two = random.random((2, len(base.count))) < 0.5
        difference = base.count[one ^ two].sum()
        assert difference == 0 or difference >= 3


def test_deviations_are_not_larger_than_published():
    """Giessing and Höhne (2011), sections 2 and 6: all tables by up to three of six variables, 7 at most and 1.49 on average.

    They had more than 100,000 records; with 15,000 the test is quick. The benchmark has 100,000 and a million.
    """
    records = town(15_000)
    base = safe(records, by=records.column_names, controlled=3, sweeps=800, teaching_seed=1)
    assert base.finished
    assert base.largest <= 7 and base.mean <= 1.49  # of five draws three had 5 at most, two had one cell of 6
    assert len(base.controlled) == 41
    assert abs(len(base) - 15_000) <= 5


def test_deviations_are_those_of_the_tables():
    records = town(2000)
    by = ["sex", "status", "quarter"]
    base = safe(records, by=by, controlled=2, sweeps=200, teaching_seed=1)
    found = base.deviations.to_pandas()
    truth, now = records.to_pandas(), base.expand().to_pandas().astype(int)
    for size in (1, 2):
        for table in combinations(by, size):
            before, after = (frame.groupby(list(table)).size() for frame in (truth, now))
            moved = after.reindex(before.index, fill_value=0) - before
            rows = found[found.table == " x ".join(table)]
            assert (rows.dimension == size).all()
            assert dict(zip(rows.deviation, rows.cells, strict=True)) == moved.value_counts().to_dict()
    assert base.largest == found.deviation.abs().max()
    assert base.mean == pytest.approx(np.average(found.deviation.abs(), weights=found.cells))


def test_any_table_can_be_compared():
    records = town(500)
    base = safe(records, by=["sex", "status", "age"], controlled=1, sweeps=100, teaching_seed=1)
    cells = base.compare(by=["age", "sex"]).to_pandas()
    assert cells.before.sum() == 500 and cells["count"].sum() == len(base)
    assert cells.columns.tolist() == ["age", "sex", "before", "count"]
    true = records.to_pandas().groupby(["age", "sex"]).size()
    assert {(int(a), int(s)): n for a, s, n in zip(cells.age, cells.sex, cells.before, strict=True)} == true.to_dict()
    with pytest.raises(Mistake, match="'aeg'.*Did you mean 'age'"):
        base.compare(by=["aeg"])


def test_only_the_tables_that_were_asked_for_are_kept_near():
    records = town(5000)
    by = ["sex", "origin", "status", "age"]
    base = safe(records, by=by, controlled=[["age", "sex"], ("status",)], sweeps=300, teaching_seed=1)
    assert base.controlled == (("sex", "age"), ("status",))
    free = base.compare(by=["origin", "age"])
    moved = np.abs(free["count"].to_numpy() - free["before"].to_numpy())
    assert base.largest <= 5 < moved.max()


def test_each_table_may_have_a_bound_of_its_own():
    records = town(5000)
    base = safe(
        records,
        by=["sex", "origin", "age", "quarter"],
        controlled={("quarter",): 1, ("age", "origin"): 5},
        teaching_seed=1,
    )
    worst = base.deviations.to_pandas().groupby("table").deviation.apply(lambda d: d.abs().max())
    assert worst["quarter"] <= 1 and worst["origin x age"] <= 5


def test_a_bound_that_is_out_of_reach_is_said():
    records = town(3000)
    base = safe(records, by=records.column_names, bound=0, sweeps=50, teaching_seed=1)
    assert base.largest > 0 and "more than the bound" in base.notes[0]


def test_the_same_seed_gives_the_same_base_and_order_does_not_matter():
    records = town(800)
    by = ["sex", "status", "age"]
    one = safe(records, by=by, sweeps=50, teaching_seed=1)
    assert one.count.tolist() == safe(records, by=by, sweeps=50, teaching_seed=1).count.tolist()
    assert one.count.tolist() != safe(records, by=by, sweeps=50, teaching_seed=2).count.tolist()
    mixed = records.take(np.random.default_rng(1).permutation(800))
    assert one.to_arrow().equals(safe(mixed, by=by, sweeps=50, teaching_seed=1).to_arrow())


@pytest.mark.parametrize("kind", [lambda t: t, lambda t: t.to_pandas(), pl.from_arrow, lambda t: t.to_pydict()])
def test_any_frame_will_do(kind):
    records = town(300)
    given_frame = kind(records)
    assert safe(given_frame, by=["sex", "age"], sweeps=20, teaching_seed=1).count.tolist() == (
        safe(records, by=["sex", "age"], sweeps=20, teaching_seed=1).count.tolist()
    )


def test_the_base_speaks_arrow_and_can_be_tabulated():
    base = safe(town(2000), by=["sex", "status", "age"], sweeps=50, teaching_seed=1)
    frame = pd.DataFrame.from_arrow(base) if hasattr(pd.DataFrame, "from_arrow") else pa.table(base).to_pandas()
    assert frame.columns.tolist() == ["sex", "status", "age", "count"]
    assert (frame["count"] >= 3).all() and frame["count"].sum() == len(base)
    table = Table.from_microdata(base.expand(), by=["sex", "status"])
    assert not np.isin(table.value, (1, 2)).any()
    assert "largest deviation" in repr(base) and f"{len(base):,} records" in repr(base)


def test_codes_keep_their_mean_weights():
    """The hundredth guards against regression; set after seeing the result."""
    records = town(6000)
    weight = 10.0 + 5 * records["origin"].to_numpy() + records["sex"].to_numpy()
    base = safe(
        records.append_column("w", pa.array(weight)),
        by=["sex", "origin", "status"],
        weight="w",
        sweeps=200,
        teaching_seed=1,
    )
    now = base.expand().to_pandas()
    truth = pd.DataFrame({"origin": records["origin"].to_numpy().astype(str), "w": weight})
    true = truth.groupby("origin").w.agg(["mean", "size"])
    means = now.groupby("origin", observed=True).weight.mean()
    for code, row in true.iterrows():
        if row["size"] > 2 and code in means.index:
            assert means[code] == pytest.approx(row["mean"], rel=0.01)
    assert now.weight.sum() == pytest.approx(weight.sum(), rel=0.01)


def test_the_weight_of_a_single_record_does_not_show():
    """The twentieth guards against regression; set after seeing the result."""
    frame = {"u": ["a"] * 20 + ["b"], "w": [1.0] * 20 + [777.0]}
    base = safe(frame, by=["u"], weight="w", teaching_seed=1)
    assert 777.0 not in base.weight.round(6)
    assert base.weight[1] == pytest.approx((20 + 777) / 21, rel=0.05)


def test_a_time_limit_gives_the_best_so_far(clock):
    """A mean of 2.5 guards: a whole search comes to 1.3."""
    records = town(20_000)
    base = safe(records, by=records.column_names, time_limit=30, progress=clock.tick, teaching_seed=1)
    assert clock.seconds <= 31
    assert not base.finished and "ended before" in base.notes[0]
    assert not np.isin(base.count, (1, 2)).any() and base.mean < 2.5


def test_an_interrupt_gives_the_best_so_far():
    told = []

    def impatient(share, words):
        told.append(share)
        if share > 0.3:
            raise KeyboardInterrupt

    records = town(2000)
    base = safe(records, by=records.column_names, progress=impatient, teaching_seed=1)
    assert not base.finished and len(told) > 10 and told == sorted(told)
    assert not np.isin(base.count, (1, 2)).any()


def test_one_record_and_codes_of_any_kind():
    one = safe({"u": ["Ä 漢字 🙂"]}, by=["u"], teaching_seed=1)
    assert one.count.tolist() in ([0], [3]) and (one.notes != ()) == (len(one) == 0)
    wide = {f"v{at}": [str(at * 10**9), "x" * 200, "-"] * 4 for at in range(12)}
    base = safe(wide, by=list(wide), controlled=1, teaching_seed=1)
    assert base.count.tolist() == [4, 4, 4] and base.largest == 0


def test_many_wide_variables_are_numbered_without_overflow():
    random = np.random.default_rng(1)
    places = random.integers(0, 2**20, (50, 9))
    places[25:] = places[:25]
    numbers = combined(places)
    assert (numbers[25:] == numbers[:25]).all() and len(np.unique(numbers)) == 25


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"by": []}, "spanned by variables"),
        ({"by": "sex"}, "spanned by variables"),
        ({"by": ["sex", "sex"]}, "stands twice"),
        ({"by": ["sxe"]}, "No column called 'sxe'.*Did you mean 'sex'"),
        ({"controlled": 0}, "at least one variable"),
        ({"controlled": [["sex", "aeg"]]}, "'aeg' is none.*Did you mean 'age'"),
        ({"controlled": ["sex"]}, "list of variables, not 'sex'"),
        ({"controlled": {("sex",): -1}}, "0 or more"),
        ({"controlled": 1.5}, "at least one variable"),
        ({"controlled": "sex"}, r"list of variables, not 'sex'. Give \['sex'\]"),
        ({"js": 0}, "js of 1"),
        ({"js": 2.5}, "whole js"),
        ({"bound": -1}, "bound of 0"),
        ({"sweeps": 0}, "sweeps of more"),
        ({"sweeps": float("nan")}, "sweeps of more"),
        ({"teaching_seed": -1}, "seed must be a whole number"),
        ({"time_limit": -1}, "seconds"),
        ({"weight": "w"}, "negative"),
        ({"weight": "age"}, "not a number"),
    ],
)
def test_bad_input_is_a_mistake(options, says):
    frame = {"sex": list("fmf"), "age": list("xyx"), "w": [1.0, -1.0, 0.0]}
    with pytest.raises(Mistake, match=says):
        safe(frame, **{"by": ["sex", "age"], "teaching_seed": 1, **options})


@pytest.mark.parametrize("name", ["before", "count", "weight"])
def test_variables_with_names_of_the_bases_own_columns_are_mistakes(name):
    frame = {name: list("aabb"), "w": [1.0] * 4}
    with pytest.raises(Mistake, match=f"column '{name}' of its own"):
        safe(frame, by=[name], weight="w", teaching_seed=1)


def test_a_variable_may_be_called_weight_where_nothing_weighs():
    assert safe({"weight": ["light"] * 5}, by=["weight"], teaching_seed=1).to_arrow().to_pylist() == [
        {"weight": "light", "count": 5}
    ]


def test_weights_that_are_missing_or_not_finite_are_mistakes():
    for wrong in (None, float("nan"), float("inf")):
        with pytest.raises(Mistake, match="no number in 'w'"):
            safe({"u": list("aaab"), "w": [1.0, 2.0, 3.0, wrong]}, by=["u"], weight="w", teaching_seed=1)


@given(people, st.integers(0, 1000))
def test_weights_are_never_negative_and_sum_to_about_the_whole(rows, seed):
    random = np.random.default_rng(seed)
    weight = random.lognormal(0, 1, len(rows))
    base = safe({**frame_of(rows), "w": weight}, by=["sex", "town", "age"], weight="w", sweeps=20, teaching_seed=seed)
    assert (base.weight >= 0).all() and np.isfinite(base.weight).all()
    if len(base):
        mean = (base.count * base.weight).sum() / len(base)
        assert weight.min() / 10 < mean < weight.max() * 10


def test_a_bound_is_met_by_searching_around_the_cells_that_are_beyond_it():
    """With so few sweeps some cells are beyond 6 after the first search."""
    records = town(8000)
    base = safe(records, by=records.column_names, bound=6, sweeps=60, teaching_seed=1)
    assert base.largest <= 6 and not base.notes


def test_no_records_and_records_without_codes_are_mistakes():
    with pytest.raises(Mistake, match="no records"):
        safe(pa.table({"u": pa.array([], pa.string())}), by=["u"], teaching_seed=1)
    with pytest.raises(Mistake, match="no code in 'u'"):
        safe({"u": ["a", None]}, by=["u"], teaching_seed=1)
