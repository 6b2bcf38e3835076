"""Local suppression: the promise under both readings of blanks, how few values are blanked, and what cannot be done."""

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from confide import measures, microdata
from confide.errors import Mistake
from confide.microdata.search.blanking import cheapest_first, classes_of_k, fitting_k
from confide.microdata.search.classes import class_of, fitting, patterns, sizes

DATA = Path(__file__).parents[3] / "shared" / "data"
IHSN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]

files = st.tuples(st.integers(3, 30), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 3))
)


def whole(codes: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(range(codes.shape[1]))]


def plainly_fitting(row: np.ndarray, codes: np.ndarray) -> int:
    return sum(all(a == b or a < 0 or b < 0 for a, b in zip(row, other, strict=True)) for other in codes)


def test_sets_of_columns_come_by_cost_each_once() -> None:
    prices = np.array([2.0, 1.0, 5.0, 1.5])
    found = list(cheapest_first(prices, np.zeros((1, 4), np.int64)))
    costs = [sum(prices[list(one)]) for one in found]
    assert costs == sorted(costs)
    assert sorted(found) == sorted(one for size in range(1, 5) for one in combinations(range(4), size))


def test_with_many_columns_the_last_set_is_all_of_them() -> None:
    found = list(cheapest_first(np.ones(40), np.zeros((1, 40), np.int64)))
    assert len(found) < 1100 and found[-1] == tuple(range(40)) and len(found[-2]) == 39


def test_a_file_of_many_keys_is_not_blanked_entirely() -> None:
    codes = np.minimum(np.random.default_rng(1).geometric(0.6, (300, 16)), 4)
    for search in (classes_of_k, fitting_k):
        after = search(codes, 2, np.ones(16), whole(codes))
        assert np.mean(after < 0) < 0.9  # guards against regression; set after seeing the result
    assert sizes(classes_of_k(codes, 2, np.ones(16), whole(codes))).min() >= 2


@given(files)
def test_records_that_fit_are_counted_as_one_by_one(codes: np.ndarray) -> None:
    shown, count, number = patterns(codes)
    assert fitting(shown, shown, count)[number].tolist() == [plainly_fitting(row, codes) for row in codes]
    assert sizes(codes).tolist() == [int((codes == row).all(axis=1).sum()) for row in codes]


def test_classes_are_told_apart_however_many_codes_there_are() -> None:
    codes = np.random.default_rng(1).integers(0, 10**6, (50, 12))
    codes[1], codes[2, 0] = codes[0], codes[0, 0]
    assert len(np.unique(class_of(codes))) == 49


@settings(deadline=None)
@given(files, st.integers(2, 3), st.integers(1, 4))
def test_every_set_of_keys_is_shared_by_k_under_the_strict_reading(codes: np.ndarray, k: int, many: int) -> None:
    together = list(combinations(range(codes.shape[1]), min(many, codes.shape[1])))
    after = classes_of_k(codes, k, np.arange(1.0, codes.shape[1] + 1), together)
    assert np.all((after == codes) | (after == -1))
    for keys in together:
        assert sizes(after[:, keys]).min() >= k


@settings(deadline=None)
@given(files, st.integers(2, 3), st.integers(1, 4))
def test_what_a_record_shows_fits_k_of_the_file_as_it_was_and_no_cheaper_set_would_do(
    codes: np.ndarray, k: int, many: int
) -> None:
    width = codes.shape[1]
    prices, together = np.linspace(1, 2, width), list(combinations(range(width), min(many, width)))
    after = fitting_k(codes, k, prices, together)

    def fits(row: np.ndarray) -> bool:
        return all(plainly_fitting(row[list(keys)], codes[:, keys]) >= k for keys in together)

    for old, new in zip(codes, after, strict=True):
        paid = prices[(old >= 0) & (new < 0)].sum()
        ways = [old.copy() for _ in range(1 << width)]
        for way, blanks in zip(ways, product([False, True], repeat=width), strict=True):
            way[list(blanks)] = -1
        least = min(prices[(old >= 0) & (way < 0)].sum() for way in ways if fits(way))
        assert fits(new) and paid == pytest.approx(least)


def fewest(codes: np.ndarray, k: int) -> int:
    """The fewest blanks under the strict reading, by trying all."""
    cells = codes.size
    for many in range(cells + 1):
        for blanks in combinations(range(cells), many):
            tried = codes.copy()
            tried.flat[list(blanks)] = -1
            if sizes(tried).min() >= k:
                return many
    raise AssertionError


def test_on_tiny_files_the_strict_search_is_within_a_twentieth_of_the_fewest_blanks() -> None:
    rng = np.random.default_rng(3)
    least = found = 0
    for trial in range(40):
        codes = rng.integers(0, 3, (5, 2)) if trial % 2 else rng.integers(0, 2, (4, 3))
        k = 2 + trial % 2
        after = classes_of_k(codes, k, np.ones(codes.shape[1]), whole(codes))
        least, found = least + fewest(codes, k), found + int((after < 0).sum())
    assert least <= found <= 1.05 * least


def test_what_is_important_is_blanked_last() -> None:
    rng = np.random.default_rng(2)
    frame = pa.table({name: rng.geometric(0.3, 500) for name in ("a", "b", "c")})
    cheap = {}
    for name in frame.column_names:
        method = microdata.LocalSuppression(k=3, importance={name: 0.1})
        cheap[name] = method.protect(frame, columns=frame.column_names).report["columns"]
    dear = microdata.LocalSuppression(k=3, importance={"a": 50}).protect(frame, columns=frame.column_names)
    assert all(cheap[name][name] == max(cheap[name].values()) for name in cheap)
    assert dear.report["columns"]["a"] < min(cheap[name]["a"] for name in cheap)


def test_the_measures_agree() -> None:
    rng = np.random.default_rng(5)
    frame = pa.table({name: rng.geometric(0.3, 400) for name in ("a", "b", "c")})
    for blank in ("category", "anything"):
        released = microdata.LocalSuppression(k=4, blank=blank).protect(frame, columns=["a", "b", "c"])
        assert measures.risk.k_anonymity(released, keys=["a", "b", "c"], blank=blank).k >= 4
        strict = measures.risk.k_anonymity(released, keys=["a", "b", "c"])
        assert released.report["below"] == (strict.frequency < 4).sum()


def test_whole_numbers_of_pandas_become_numbers_that_can_be_missing() -> None:
    frame = pd.DataFrame({"code": [1, 1, 1, 2], "flag": [True, True, True, False]})
    released = microdata.LocalSuppression(k=2).protect(frame, columns=["code", "flag"]).frame
    assert [str(kind) for kind in released.dtypes] == ["Int64", "boolean"]
    assert released["code"].isna().sum() == 2


def test_a_file_that_is_anonymous_already_is_left_alone() -> None:
    frame = pa.table({"a": ["x", "x", None, None], "b": [1, 1, 2, 2]})
    released = microdata.LocalSuppression(k=2).protect(frame, columns=["a", "b"])
    assert released.frame.equals(frame) and released.report["suppressed"] == 0


def test_with_combs_the_report_counts_records_below_k_in_any_set() -> None:
    rng = np.random.default_rng(6)
    frame = pa.table({name: np.minimum(rng.geometric(0.4, 300), 5) for name in "abcd"})
    reports = {
        blank: microdata.LocalSuppression(k=3, combs=2, blank=blank).protect(frame, columns=list("abcd")).report
        for blank in ("category", "anything")
    }
    assert reports["category"]["below"] == 0 < reports["anything"]["below"]
    assert reports["anything"]["suppressed"] < reports["category"]["suppressed"]


def test_strata_are_reported_by_column() -> None:
    frame = pa.table({"a": list("xxyzzw"), "area": list("pppqqq")})
    report = microdata.LocalSuppression(k=2).protect(frame, columns="a", by="area").report
    assert report["suppressed"] == report["columns"]["a"] == sum(one["suppressed"] for one in report["strata"].values())


def test_what_cannot_be_done_is_a_mistake() -> None:
    frame = pa.table({"a": [1, 2], "b": ["ä", "ö"]})
    for method, words in [
        (microdata.LocalSuppression(k=3), "k is 3, and there are 2 records"),
        (microdata.LocalSuppression(k=2, combs=3), "combs is 3, and there are 2 keys"),
        (microdata.LocalSuppression(k=2, importance={"c": 2}), "importance of 'c'"),
    ]:
        with pytest.raises(Mistake, match=words):
            method.protect(frame, columns=["a", "b"])
    with pytest.raises(Mistake, match="importance of 'a' must be more than 0"):
        microdata.LocalSuppression(importance={"a": 0})


@pytest.mark.reference
def test_the_household_file_takes_fewer_blanks_than_the_293_of_sdcmicro() -> None:
    frame = pd.read_csv(DATA / "ihsn_testdata_sdcmicro.csv.gz")
    weak = microdata.LocalSuppression(k=3, blank="anything").protect(frame, columns=IHSN)
    assert weak.report["suppressed"] == 283 and weak.report["below"] == 192
    assert measures.risk.k_anonymity(weak, keys=IHSN, blank="anything").k == 3
    strict = microdata.LocalSuppression(k=3).protect(frame, columns=IHSN)
    assert strict.report["below"] == 0 and strict.report["suppressed"] <= 403
    assert measures.risk.k_anonymity(strict, keys=IHSN).k == 3
