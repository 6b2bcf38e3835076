"""Microaggregation against plain Python, published figures, and the laws that it promises."""

from math import fsum, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.data.kdtree.shrinking import NOBODY, CategoryTrees, MixedPoints, build, farthest, nearest, remove
from confide.errors import Mistake
from confide.microdata import Microaggregation
from confide.microdata.search.partition import mdav, optimal, v_mdav

DATA = Path(__file__).parents[3] / "shared" / "data"

Point = list[float]
FLAT = CategoryTrees(np.zeros(0, np.int64), np.zeros((0, 1, 1), np.int64), np.zeros((0, 1)))


def silent(share: float) -> None:
    """Nobody listens."""


# ---- the plain algorithms, as they are printed, with ties to the lowest row


class Plain:
    """Records as lists: numbers first, then leaves of trees. Every step looks at every record."""

    def __init__(self, space: MixedPoints) -> None:
        self.points: list[Point] = space.points.tolist()
        self.numbers, self.trees = space.numbers, space.trees

    def gap(self, a: Point, b: Point) -> float:
        squares = 0.0
        for x, y in zip(a[: self.numbers], b[: self.numbers], strict=True):
            squares += (x - y) * (x - y)
        more = 0.0
        for t, (x, y) in enumerate(zip(a[self.numbers :], b[self.numbers :], strict=True)):
            more += self.apart(t, int(x), int(y)) ** 2
        return squares + more

    def apart(self, t: int, a: int, b: int) -> float:
        above, level = self.trees.above[t], int(self.trees.depth[t])
        while above[level][a] != above[level][b]:
            level -= 1
        return 0.0 if level == self.trees.depth[t] else float(self.trees.apart[t][level])

    def average(self, rows: list[int]) -> Point:
        means = [fsum(self.points[i][j] for i in rows) / len(rows) for j in range(self.numbers)]
        return means + [self.commonest(t, rows) for t in range(len(self.trees.depth))]

    def commonest(self, t: int, rows: list[int]) -> float:
        leaves = [int(self.points[i][self.numbers + t]) for i in rows]
        return float(
            min(set(leaves), key=lambda one: (round(sum(self.apart(t, one, leaf) ** 2 for leaf in leaves), 9), one))
        )

    def farthest(self, at: Point, rows: list[int]) -> int:
        return min(rows, key=lambda i: (-self.gap(self.points[i], at), i))

    def nearest(self, at: Point, rows: list[int], count: int) -> list[int]:
        return sorted(rows, key=lambda i: (self.gap(self.points[i], at), i))[:count]

    def mdav(self, k: int) -> list[set[int]]:
        left, groups = list(range(len(self.points))), []

        def form(rows: list[int]) -> None:
            groups.append(set(rows))
            for row in rows:
                left.remove(row)

        while len(left) >= 2 * k:
            one = self.farthest(self.average(left), left)
            if len(left) < 3 * k:
                form(self.nearest(self.points[one], left, k))
                break
            other = self.farthest(self.points[one], [i for i in left if i != one])
            form(self.nearest(self.points[one], [i for i in left if i != other], k))
            form(self.nearest(self.points[other], left, k))
        form(left[:])
        return groups

    def v_mdav(self, k: int, gamma: float) -> list[set[int]]:
        left, groups = list(range(len(self.points))), []
        centre = self.average(left)
        order = sorted(left, key=lambda i: (-sqrt(self.gap(self.points[i], centre)), i))
        while len(left) >= k:
            seed = next(i for i in order if i in left)
            group = self.nearest(self.points[seed], left, k)
            left = [i for i in left if i not in group]
            while len(group) < 2 * k - 1 and left:
                inside, guest = min((self.gap(self.points[i], self.points[m]), i) for i in left for m in group)
                others = [self.gap(self.points[i], self.points[guest]) for i in left if i != guest]
                if not sqrt(inside) < gamma * sqrt(min(others, default=float("inf"))):
                    break
                group.append(guest)
                left.remove(guest)
            groups.append(set(group))
        return groups


def members(group: np.ndarray) -> list[set[int]]:
    return [set(np.flatnonzero(group == number).tolist()) for number in range(int(group.max(initial=-1)) + 1)]


# ---- the same partition as the plain algorithm


def cloud(kind: str, size: int, seed: int = 0) -> MixedPoints:
    """Points of one kind: scattered, on a grid with many ties, all the same, in clusters, or with categories."""
    rng = np.random.default_rng(seed)
    if kind == "same":
        return MixedPoints(np.zeros((size, 2)), 2, FLAT)
    if kind == "grid":
        return MixedPoints(rng.integers(0, 4, (size, 3)).astype(float), 3, FLAT)
    if kind == "clusters":
        return MixedPoints(rng.integers(0, 5, (size, 1)) * 10.0 + rng.standard_normal((size, 4)), 4, FLAT)
    if kind == "mixed":
        above = np.array([[[0] * 6, [0, 0, 0, 1, 1, 1], range(6)], [[0] * 6, range(6), [0] * 6]])
        trees = CategoryTrees(np.array([2, 1]), above, np.array([[1.5, 0.5, 0.0], [1.25, 0.0, 0.0]]))
        leaves = rng.integers(0, [6, 4], (size, 2)).astype(float)
        return MixedPoints(np.hstack([rng.standard_normal((size, 2)), leaves]), 2, trees)
    return MixedPoints(rng.standard_normal((size, 3)), 3, FLAT)


KINDS = ["scattered", "grid", "same", "clusters", "mixed"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("size", "k"), [(1, 2), (5, 2), (6, 2), (7, 3), (9, 3), (50, 3), (203, 5), (200, 17)])
def test_mdav_forms_the_groups_of_the_plain_algorithm(kind: str, size: int, k: int) -> None:
    space = cloud(kind, size, seed=size)
    assert members(mdav(space, k=k, progress=silent)) == Plain(space).mdav(k)


def test_mdav_forms_the_groups_of_the_plain_algorithm_on_a_larger_file() -> None:
    space = cloud("scattered", 1000, seed=5)
    assert members(mdav(space, k=5, progress=silent)) == Plain(space).mdav(5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.1, 5.0])
def test_v_mdav_forms_the_groups_of_the_plain_algorithm(kind: str, gamma: float) -> None:
    for size, k in ((3, 3), (50, 3), (101, 4)):
        space = cloud(kind, size, seed=size)
        assert members(v_mdav(space, k=k, gamma=gamma, progress=silent)) == Plain(space).v_mdav(k, gamma)


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=2, max_size=2), min_size=2, max_size=60),
    st.integers(2, 7),
)
def test_mdav_agrees_with_the_plain_algorithm_on_anything(points: list[list[int]], k: int) -> None:
    space = MixedPoints(np.array(points, float), 2, FLAT)
    assert members(mdav(space, k=k, progress=silent)) == Plain(space).mdav(k)


@pytest.mark.parametrize("kind", KINDS)
def test_the_index_finds_what_a_full_scan_finds_while_records_leave(kind: str) -> None:
    space, rng = cloud(kind, 400, seed=3), np.random.default_rng(4)
    plain, index, left = Plain(space), build(space), list(range(400))
    while len(left) > 10:
        at = space.points[rng.integers(400)]
        besides = left[rng.integers(len(left))]
        others = [row for row in left if row != besides]
        assert farthest(index, at, besides)[0] == plain.farthest(at.tolist(), others)
        assert nearest(index, at, 7, NOBODY)[0].tolist() == plain.nearest(at.tolist(), left, 7)
        for row in rng.choice(left, 10, replace=False).tolist():
            remove(index, row)
            left.remove(row)


# ---- one number, optimally


def cost(values: list[float]) -> float:
    mean = fsum(values) / len(values)
    return fsum((value - mean) ** 2 for value in values)


def best(values: list[float], k: int) -> float:
    """The least loss of all ways to cut the sorted values into runs of k or more."""
    if not values:
        return 0.0
    sizes = [m for m in range(k, len(values) + 1) if len(values) - m == 0 or len(values) - m >= k]
    return min(cost(values[:m]) + best(values[m:], k) for m in sizes)


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=14), st.integers(2, 4))
def test_no_other_groups_of_one_number_lose_less(values: list[int], k: int) -> None:
    if len(values) < k:
        return
    groups = members(optimal(np.array(values, float), k=k))
    assert min(map(len, groups)) >= k
    found = sum(cost([float(values[i]) for i in group]) for group in groups)
    assert found == pytest.approx(best(sorted(map(float, values)), k), abs=1e-6)


def test_large_values_far_from_zero_lose_no_digits() -> None:
    values = np.random.default_rng(0).permutation(np.repeat([1e9, 1e9 + 1, 1e9 + 5], 7))
    groups = members(optimal(values, k=7))
    assert all(len(set(values[list(group)])) == 1 for group in groups)


# ---- published figures


@pytest.fixture(scope="module")
def tarragona() -> pd.DataFrame:
    return pd.read_csv(DATA / "casc_tarragona.csv.gz")


@pytest.mark.reference
@pytest.mark.parametrize(("k", "loss"), [(3, 16.93), (5, 22.46), (10, 33.19)])
def test_mdav_on_tarragona_loses_what_is_published(tarragona: pd.DataFrame, k: int, loss: float) -> None:
    """Domingo-Ferrer, Martínez-Ballesté, Mateo-Sanz and Sebé (2006), VLDB Journal 15, Table 1 (MDAV, Tarragona)."""
    released = Microaggregation(k=k).protect(tarragona, columns=list(tarragona))
    assert round(100 * released.report["loss"], 2) == loss


@pytest.mark.reference
@pytest.mark.parametrize("k", [3, 5, 10])
def test_mdav_on_tarragona_forms_the_groups_of_the_plain_algorithm(tarragona: pd.DataFrame, k: int) -> None:
    values = tarragona.to_numpy(float)
    space = MixedPoints(np.ascontiguousarray((values - values.mean(0)) / values.std(0)), 13, FLAT)
    assert members(mdav(space, k=k, progress=silent)) == Plain(space).mdav(k)


# ---- the method


def frame(size: int = 200, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.normal(0, 1, size), "b": rng.lognormal(3, 1, size), "w": rng.uniform(1, 5, size)})


def test_totals_stay_with_weights_and_without() -> None:
    data = frame()
    plain = Microaggregation(k=4).protect(data, columns=["a", "b"]).frame
    weighted = Microaggregation(k=4).protect(data, columns=["a", "b"], weight="w").frame
    for name in ("a", "b"):
        assert plain[name].sum() == pytest.approx(data[name].sum())
        assert (weighted[name] * data["w"]).sum() == pytest.approx((data[name] * data["w"]).sum())


def test_the_loss_is_sse_over_sst_of_standardised_columns_with_strata_too() -> None:
    data = frame().assign(area=lambda d: d["b"] > 20)
    for by in ([], ["area"]):
        released = Microaggregation(k=4).protect(data, columns=["a", "b"], by=by)
        z = (data[["a", "b"]] - data[["a", "b"]].mean()) / data[["a", "b"]].std(ddof=0)
        moved = (released.frame[["a", "b"]] - data[["a", "b"]]) / data[["a", "b"]].std(ddof=0)
        assert released.report["loss"] == pytest.approx((moved**2).sum().sum() / (z**2).sum().sum())


def test_optimal_loses_no_more_than_mdav_on_one_column() -> None:
    data = frame()
    losses = {
        a: Microaggregation(k=4, algorithm=a).protect(data, columns="b").report["loss"] for a in ("optimal", "mdav")
    }
    assert losses["optimal"] <= losses["mdav"]


def test_columns_of_different_groups_are_masked_as_if_alone() -> None:
    data = frame().assign(c=lambda d: d["a"] ** 2)
    both = Microaggregation(k=3, groups=[["a", "c"], ["b"]]).protect(data, columns=["a", "b", "c"])
    alone = Microaggregation(k=3).protect(data, columns=["a", "c"])
    assert both.frame["a"].equals(alone.frame["a"]) and both.frame["c"].equals(alone.frame["c"])
    assert not both.frame["b"].equals(Microaggregation(k=3).protect(data, columns=["a", "b", "c"]).frame["b"])


def test_groups_that_do_not_fit_the_columns_are_mistakes() -> None:
    with pytest.raises(Mistake, match="'aa' is not among the columns.*'a'"):
        Microaggregation(groups=[["aa", "b"]]).protect(frame(), columns=["a", "b"])
    with pytest.raises(Mistake, match="leave out column 'b'"):
        Microaggregation(groups=[["a"]]).protect(frame(), columns=["a", "b"])
    with pytest.raises(Mistake, match="no column twice"):
        Microaggregation(groups=[["a"], ["a"]])
    with pytest.raises(Mistake, match="optimal"):
        Microaggregation(groups=[["a"]], algorithm="optimal")


def test_k_larger_than_the_file_or_a_stratum_is_a_mistake_that_says_where() -> None:
    with pytest.raises(Mistake, match="Fewer than k = 300 records have"):
        Microaggregation(k=300).protect(frame(), columns=["a", "b"])
    data = frame().assign(area=["x"] * 198 + ["y"] * 2)
    with pytest.raises(Mistake, match="k = 3 records in stratum y"):
        Microaggregation(k=3).protect(data, columns="a", by="area")


def test_every_average_is_over_k_records_that_have_the_column() -> None:
    data = frame(60).drop(columns="w")
    data.loc[:19, "a"] = np.nan
    data.loc[20:21, "b"] = np.nan
    data.loc[22, ["a", "b"]] = np.nan
    after = Microaggregation(k=5).protect(data, columns=["a", "b"]).frame
    assert after.isna().equals(data.isna())
    complete = after.dropna()
    assert complete.groupby(["a", "b"]).size().min() >= 5
    assert after.loc[:19, "b"].value_counts().min() >= 5
    # the two records without b are too few for a group: they take the average of one that has a
    assert set(after.loc[20:21, "a"]) <= set(complete["a"])
    # and do not count for it
    assert complete["a"].sum() == pytest.approx(data.dropna()["a"].sum())


def test_too_few_records_with_a_column_are_named() -> None:
    data = frame(30).assign(a=[1.0, 2.0] + [np.nan] * 28)
    with pytest.raises(Mistake, match="have 'a', 'b' known"):
        Microaggregation(k=3).protect(data, columns=["a", "b"])


def test_minus_999_is_a_number() -> None:
    data = pd.DataFrame({"a": [-999.0, -999.0, -999.0, 1.0, 2.0, 3.0]})
    assert Microaggregation(k=3).protect(data, columns="a").frame["a"].tolist() == [-999.0] * 3 + [2.0] * 3


def test_whole_numbers_stay_whole_and_dates_dates() -> None:
    days = pd.to_datetime(["2020-01-01", "2020-01-03", "2021-01-01", "2021-01-02"])
    data = pd.DataFrame({"age": [1, 2, 50, 60], "day": days})
    after = Microaggregation(k=2).protect(data, columns=["age", "day"]).frame
    assert after["age"].tolist() == [2, 2, 55, 55]
    assert after["day"].tolist()[:2] == [pd.Timestamp("2020-01-02")] * 2


# ---- categories


def test_ordered_categories_become_medians_and_others_the_commonest() -> None:
    order = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    data = pd.DataFrame(
        {
            "area": ["s", "s", "s", "t", "t", "t"],
            "level": pd.Series(["low", "mid", "high", "high", "high", "low"], dtype=order),
            "kind": ["b", "a", "b", "c", "d", "d"],
        }
    )
    after = Microaggregation(k=3).protect(data, columns=["level", "kind"], by="area").frame
    assert after["level"].tolist() == ["mid"] * 3 + ["high"] * 3
    assert after["kind"].tolist() == ["b"] * 3 + ["d"] * 3
    assert after["level"].dtype == order


TRADES = "Farms\n@F1\n@F2\n@F3\nShops\n@S1\n@S2\n"


def test_a_hierarchy_brings_together_what_is_near_in_it() -> None:
    codes = ["F1", "S1", "F2", "S2", "F3", "S1"]
    data = pd.DataFrame({"trade": codes})
    after = Microaggregation(k=3, hierarchies={"trade": TRADES}).protect(data, columns="trade").frame["trade"]
    assert [a[0] for a in after] == [code[0] for code in codes]
    assert after.nunique() == 2 and set(after) <= set(codes)


def test_a_category_that_the_hierarchy_does_not_know_is_named() -> None:
    data = pd.DataFrame({"trade": ["F1", "F2", "S11"]})
    with pytest.raises(Mistake, match="'S11' of column 'trade'.*'S1'"):
        Microaggregation(k=3, hierarchies={"trade": TRADES}).protect(data, columns="trade")
    with pytest.raises(Mistake, match="optimal.*'trade' holds categories"):
        Microaggregation(k=3, algorithm="optimal").protect(data, columns="trade")


def test_every_kind_of_column_weighs_the_same_whatever_its_unit() -> None:
    data = frame(90).assign(c=lambda d: np.where(d["b"] > 20, "u", "v"))
    scaled = data.assign(a=data["a"] * 1000 - 7)
    one, other = (Microaggregation(k=3).protect(d, columns=["a", "b", "c"]).frame for d in (data, scaled))
    assert one["b"].equals(other["b"]) and one["c"].equals(other["c"])


def test_one_report_for_each_stratum_and_one_for_all() -> None:
    data = pa.table({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "area": ["a", "a", "a", "b", "b", "b"]})
    report = Microaggregation(k=3).protect(data, columns="x", by="area").report
    assert report["groups"] == 2 and report["strata"][("a",)]["groups"] == 1
    assert report["columns"]["x"]["sst"] == pytest.approx(17.5)
    assert report["strata"][("a",)]["columns"]["x"]["sst"] == pytest.approx(2.0)
