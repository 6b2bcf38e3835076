"""Interval disclosure by ranks and by standard deviations."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.measures.risk import interval_disclosure

pairs = st.lists(st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(0, 9))), min_size=1, max_size=30)


def tables(rows):
    columns = zip(*rows, strict=True)
    return [
        pa.table({"x": pa.array([None if v is None else float(v) for v in column], pa.float64())}) for column in columns
    ]


@given(pairs, st.sampled_from([1, 5, 20, 60, 100]))
def test_rank_intervals_are_those_of_walking_through_the_sorted_file(rows, percent):
    original, released = tables(rows)
    found = interval_disclosure(original, released, columns="x", percent=[percent]).inside[0, 0]
    values = sorted(float(b) for _, b in rows if b is not None)
    reach, inside = int(percent / 100 * len(values)), []
    for a, b in rows:
        if b is None:
            continue
        places = [i for i, v in enumerate(values) if v == b]
        low, high = values[max(0, places[0] - reach)], values[min(len(values) - 1, places[-1] + reach)]
        inside.append(low <= a <= high)
    assert np.isnan(found) if not inside else found == pytest.approx(100 * np.mean(inside))


@given(pairs, st.sampled_from([1, 5, 20, 60, 100]))
def test_deviation_intervals_are_those_of_the_definition(rows, percent):
    original, released = tables(rows)
    found = interval_disclosure(original, released, columns="x", width="deviations", percent=[percent]).inside[0, 0]
    known = [(a, b) for a, b in rows if b is not None]
    reach = percent / 100 * np.std([b for _, b in known]) if known else 0
    inside = [abs(a - b) <= reach for a, b in known]
    assert np.isnan(found) if not inside else found == pytest.approx(100 * np.mean(inside))


@pytest.mark.parametrize("width", ["ranks", "deviations"])
def test_unchanged_values_are_always_inside_and_wider_intervals_hold_more(people_of, masked_of, width):
    original = people_of(300)
    names = ["age", "income", "wealth"]
    assert interval_disclosure(original, original, columns=names, width=width).percent == 100
    found = interval_disclosure(original, masked_of(original), columns=names, width=width)
    assert (np.diff(found.inside, axis=1) >= 0).all() and 0 < found.percent < 100
    assert found.inside.shape == (3, 10)


def test_a_column_that_is_missing_altogether_counts_for_nothing():
    original = pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    released = pa.table({"x": [1.0, 2.0], "y": pa.array([None, None], pa.float64())})
    assert interval_disclosure(original, released, columns=["x", "y"]).percent == 100
    assert interval_disclosure(original, released, columns=["y"]).percent == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"columns": "s"}, "holds categories"),
        ({"columns": "x", "width": "metres"}, "'ranks' or 'deviations'"),
        ({"columns": "x", "percent": []}, "at least one"),
        ({"columns": "x", "percent": [0]}, "above 0"),
        ({"columns": "x", "percent": [101]}, "up to 100"),
    ],
)
def test_what_makes_no_sense_is_a_mistake(change, words):
    file = pa.table({"x": [1.0], "s": ["a"]})
    with pytest.raises(Mistake, match=words):
        interval_disclosure(file, file, **change)
