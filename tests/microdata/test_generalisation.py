"""Generalisation: the node that is found is the best of all, and what it promises is what the measures find."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide import measures, microdata
from confide.errors import Mistake
from confide.microdata.search.lattice import Judged, climbed, search

DATA = Path(__file__).parents[3] / "shared" / "data"
TOWNS = "West\n@A\n@@a1\n@@a2\n@B\n@@b1\n@@b2\nEast\n@C\n@@c1\n@@c2\n"
KEYS = ["town", "sex", "age"]
AGES = "young\n@10\n@20\nold\n@30\n@40\n"


def people(size: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "town": rng.choice(["a1", "a2", "b1", "b2", "c1", "c2"], size, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]),
            "sex": pa.array(rng.choice(["f", "m"], size), mask=rng.random(size) < 0.02 * (seed % 2)),
            "age": rng.integers(1, 5, size) * 10,
            "ill": pa.array(rng.choice(["no", "flu", "gout"], size), mask=rng.random(size) < 0.03 * (seed % 3)),
            "pay": rng.integers(1, 6, size),
        }
    )


def climb(frame: pa.Table, node: tuple[int, ...]) -> pd.DataFrame:
    """The keys on these levels, from tables written out by hand."""
    west = {town: town[0].upper() for town in ("a1", "a2", "b1", "b2", "c1", "c2")}
    side = {town: "East" if town[0] == "c" else "West" for town in west}
    age = {10: "young", 20: "young", 30: "old", 40: "old"}
    ladders: list[list[Any]] = [[None, west, side], [None], [None, age]]
    keys = frame.select(KEYS).to_pandas()
    for name, level, ladder in zip(KEYS, node, ladders, strict=True):
        known = keys[name].notna()
        values = keys[name] if level == 0 else keys[name].map(ladder[level]) if level < len(ladder) else "*"
        keys[name] = pd.Series(values, keys.index).astype(object).where(known, None)
    return keys


def plainly_best(frame: pa.Table, method: microdata.Generalisation) -> float:
    """The least loss of all nodes, each judged by the measures."""
    best, n = np.inf, len(frame)
    for node in product(range(4), range(2), range(3)):
        keys = climb(frame, node).assign(ill=frame["ill"].to_pandas(), pay=frame["pay"].to_pandas())
        table = pa.table({name: pa.array(list(keys[name]), from_pandas=True) for name in keys})
        size = measures.risk.k_anonymity(table, keys=KEYS).frequency
        bad = size < method.k
        if method.diversity is not None:
            bad |= measures.risk.l_diversity(table, keys=KEYS, confidential="ill").distinct < method.diversity
        if method.closeness is not None:
            found = measures.risk.t_closeness(table, keys=KEYS, confidential=str(method.confidential)).distance
            bad |= found > method.closeness + 1e-12
        if bad.sum() > method.left_out * n or bad.all():
            continue
        share = np.mean([node[0] / 3, node[1] / 1, node[2] / 2])
        levels = np.where(bad, 1.0, share).mean()
        best = min(best, levels if method.loss == "levels" else np.where(bad, n, size).mean() / n)
    return float(best)


METHODS = [
    microdata.Generalisation(k=k, hierarchies={"town": TOWNS, "age": AGES}, **more)
    for k, more in [
        (2, {}),
        (5, {"left_out": 0.1}),
        (4, {"loss": "classes"}),
        (4, {"loss": "classes", "left_out": 0.2}),
        (3, {"confidential": "ill", "diversity": 2}),
        (3, {"confidential": "ill", "diversity": 3, "left_out": 0.15}),
        (2, {"confidential": "ill", "closeness": 0.3}),
        (2, {"confidential": "pay", "closeness": 0.2}),
        (2, {"confidential": "pay", "closeness": 0.15, "left_out": 0.2}),
    ]
]


@pytest.mark.parametrize("method", METHODS, ids=range(len(METHODS)))
def test_no_other_combination_of_levels_loses_less(method: microdata.Generalisation) -> None:
    for seed in range(4):
        frame = people(60, seed)
        try:
            report = method.protect(frame, columns=KEYS).report
        except Mistake as error:
            assert "not even the coarsest" in str(error) and plainly_best(frame, method) == np.inf
            continue
        assert report["loss"] == pytest.approx(plainly_best(frame, method))
        assert report["left_out"] <= method.left_out * 60


def test_classes_have_what_was_asked_for() -> None:
    """The limits are those asked for: k, diversity and closeness are promised."""
    frame = people(300, 2)
    method = microdata.Generalisation(
        k=6, hierarchies={"town": TOWNS, "age": AGES}, confidential="ill", diversity=3, closeness=0.25
    )
    released = method.protect(frame, columns=KEYS)
    assert measures.risk.k_anonymity(released, keys=KEYS).k >= 6
    assert measures.risk.l_diversity(released, keys=KEYS, confidential="ill").level >= 3
    assert measures.risk.t_closeness(released, keys=KEYS, confidential="ill").level <= 0.25
    assert released.frame.drop(KEYS).equals(frame.drop(KEYS))


def test_records_that_are_left_out_are_not_in_the_file() -> None:
    frame = pa.table({"town": ["a1"] * 9 + ["c1"], "n": range(10)})
    method = microdata.Generalisation(k=2, hierarchies={"town": TOWNS}, left_out=0.1)
    released = method.protect(frame, columns="town")
    assert released.frame["town"].to_pylist() == ["a1"] * 9 and released.report["levels"] == {"town": 0}
    assert released.frame["n"].to_pylist() == list(range(9))
    assert method.protect(frame.slice(1), columns="town").frame["town"].to_pylist() == ["*"] * 9


heights = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@settings(deadline=None)
@given(heights, st.data())
def test_the_search_finds_the_best_of_any_lattice_and_looks_at_few(shape: tuple[int, ...], data: st.DataObject) -> None:
    lowest = data.draw(st.lists(st.tuples(*[st.integers(0, height - 1) for height in shape]), max_size=3))
    share = climbed(shape)

    def judge(node: tuple[int, ...]) -> Judged:
        suffices = any(all(a >= b for a, b in zip(node, one, strict=True)) for one in lowest)
        return Judged(suffices, float(share[node]), float(share[node]))

    found = search(shape, judge, monotone=True)
    wanted = min((float(share[one]) for one in lowest), default=None)
    assert (None if found is None else found.loss) == wanted
    every = search(shape, judge, monotone=False)
    assert (None if every is None else every.loss) == wanted


def test_halving_paths_looks_at_a_small_part_of_a_large_lattice() -> None:
    shape, share = (6,) * 6, climbed((6,) * 6)
    wall = (3, 3, 3, 3, 3, 3)
    judge = lambda node: Judged(all(a >= b for a, b in zip(node, wall, strict=True)), share[node], share[node])  # noqa: E731
    found = search(shape, judge, monotone=True)
    assert found is not None and found.node == wall and found.looked_at < share.size / 10


def test_what_cannot_be_done_is_a_mistake() -> None:
    frame = people(20, 0)
    for method, words in [
        (microdata.Generalisation(k=21), "k is 21, and there are 20 records"),
        (microdata.Generalisation(hierarchies={"twon": TOWNS}), "'twon' is not among .*'town'"),
        (microdata.Generalisation(hierarchies={"sex": "f\n"}), "'m' of column 'sex' is not on the finest level"),
        (microdata.Generalisation(confidential="age", diversity=2), "cannot be confidential too"),
        (microdata.Generalisation(confidential="ill", diversity=4), "not even the coarsest"),
        (microdata.Generalisation(confidential="il", diversity=2), "'il'.*'ill'"),
    ]:
        with pytest.raises(Mistake, match=words):
            method.protect(frame, columns=KEYS)
    for wrong in ({"diversity": 2}, {"closeness": 0.1}, {"confidential": "ill"}):
        with pytest.raises(Mistake, match="confidential"):
            microdata.Generalisation(**wrong)
    deep = "\n".join("@" * depth + f"x{depth}" for depth in range(30)) + "\n"
    many = pa.table({f"c{j}": ["x29"] * 5 for j in range(4)})
    with pytest.raises(Mistake, match="too many to search"):
        microdata.Generalisation(hierarchies=dict.fromkeys(many.column_names, deep)).protect(
            many, columns=many.column_names
        )


@pytest.mark.reference
def test_the_household_file_is_made_anonymous_by_the_fewest_columns_dropped() -> None:
    frame = pd.read_csv(DATA / "ihsn_testdata_sdcmicro.csv.gz")
    keys = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
    released = microdata.Generalisation(k=3, left_out=0.02).protect(frame, columns=keys)
    assert measures.risk.k_anonymity(released, keys=keys).k >= 3
    assert len(released.frame) >= 0.98 * len(frame)
