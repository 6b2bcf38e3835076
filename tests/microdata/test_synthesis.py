"""Synthesis: trees as plain ones, distributions and relations that stay, and inference from several versions."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from confide import microdata
from confide.errors import Mistake
from confide.microdata.synthesis.models import (
    DrawingTask,
    SynthesisPredictors,
    SynthesisVariable,
    by_regressions,
    by_trees,
)
from confide.microdata.synthesis.trees import grow, leaves

Group = frozenset[int]


def plain_leaves(bins: np.ndarray, y: np.ndarray, least: int) -> set[Group]:
    """The leaves of a tree grown in plain Python on one-hot or single targets y."""

    def gain(rows: list[int], side: list[int]) -> float:
        rest = [row for row in rows if row not in set(side)]
        return sum(float((y[part].sum(axis=0) ** 2).sum()) / len(part) for part in (side, rest))

    def cut(rows: list[int]) -> set[Group]:
        best, sides = float((y[rows].sum(axis=0) ** 2).sum()) / len(rows) + 1e-7, None
        for j in range(bins.shape[1]):
            for at in sorted({int(bins[row, j]) for row in rows})[:-1]:
                side = [row for row in rows if bins[row, j] <= at]
                if least <= len(side) <= len(rows) - least and gain(rows, side) > best + 1e-12:
                    best, sides = gain(rows, side), side
        if sides is None:
            return {frozenset(rows)}
        return cut(sides) | cut([row for row in rows if row not in set(sides)])

    return cut(list(range(len(bins))))


def found_leaves(bins: np.ndarray, code: np.ndarray, value: np.ndarray, width: int, least: int) -> set[Group]:
    tree = grow(bins, code, value, width=width, least=least)
    leaf = leaves(tree, bins)
    groups = {frozenset(np.flatnonzero(leaf == one).tolist()) for one in np.unique(leaf)}
    kept = {
        frozenset(tree.order[a:b].tolist())
        for a, b, child in zip(tree.start, tree.stop, tree.child, strict=True)
        if child < 0
    }
    assert groups == kept
    return groups


@pytest.mark.parametrize("seed", range(5))
def test_leaves_are_those_of_a_tree_grown_plainly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, 9, (50, 3)).astype(np.uint8)
    amount = rng.normal(size=50) + bins[:, 0]
    assert found_leaves(bins, np.zeros(50, np.int64), amount, 1, 4) == plain_leaves(bins, amount[:, None], 4)
    code = (bins[:, 1] + rng.integers(0, 3, 50)) // 4
    assert found_leaves(bins, code, np.ones(50), 3, 4) == plain_leaves(bins, np.eye(3)[code], 4)


def test_leaves_are_as_pure_as_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    bins = rng.integers(0, 40, (2000, 4)).astype(np.uint8)
    amount = np.sin(bins[:, 0] / 5) + bins[:, 1] / 20 + rng.normal(0, 0.3, 2000)
    code = (amount > 1).astype(np.int64) + (bins[:, 2] > 20)

    def impurity(leaf: np.ndarray, y: np.ndarray) -> float:
        return float(pd.DataFrame(y).groupby(leaf).transform(lambda part: part - part.mean()).pow(2).to_numpy().sum())

    for tree, code_of, value, width, y in [
        (DecisionTreeRegressor(min_samples_leaf=10), np.zeros(2000, np.int64), amount, 1, amount[:, None]),
        (DecisionTreeClassifier(min_samples_leaf=10), code, np.ones(2000), 3, np.eye(3)[code]),
    ]:
        theirs = impurity(tree.fit(bins, y[:, 0] if width == 1 else code).apply(bins), y)
        ours = impurity(leaves(grow(bins, code_of, value, width=width, least=10), bins), y)
        assert ours == pytest.approx(theirs, rel=0.05)  # guards against regression; set after seeing the result


def survey(size: int = 2000, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], size)
    region = rng.choice([f"r{j:02}" for j in range(20)], size)
    age = rng.integers(18, 90, size)
    income = np.exp(7 + 0.01 * age + 0.3 * (sex == "m") + 0.05 * (region < "r10") + rng.normal(0, 0.4, size))
    income = np.where(rng.random(size) < 0.1, 0.0, income)
    income[rng.random(size) < 0.1 + 0.2 * (sex == "f")] = np.nan
    works = pd.Categorical(np.where(age < 65, "yes", "no"))
    return pd.DataFrame({"sex": sex, "region": region, "age": age, "works": works, "income": income})


ALL = ["sex", "region", "age", "works", "income"]


@pytest.mark.parametrize("model", ["trees", "regressions"])
def test_distributions_relations_and_gaps_stay_and_values_do_not(model: str) -> None:
    """Shares within 4 standard errors; the other limits guard against regression and were set after seeing the result."""
    before = survey()
    after = microdata.Synthesis(model=model).protect(before, columns=ALL, teaching_seed=4).frame
    assert list(after.dtypes) == list(before.dtypes)
    old, new = (frame.assign(log=np.log(frame["income"].where(frame["income"] > 0))) for frame in (before, after))
    error = np.sqrt(0.25 / 2000) * 4
    assert abs((old["sex"] == "f").mean() - (new["sex"] == "f").mean()) < error
    for sex in "fm":
        one, two = (frame[frame["sex"] == sex] for frame in (old, new))
        assert abs(one["income"].isna().mean() - two["income"].isna().mean()) < 2 * error
        assert abs((one["income"] == 0).mean() - (two["income"] == 0).mean()) < error
        assert abs(one["log"].mean() - two["log"].mean()) < 0.08
    assert abs(old["log"].corr(old["age"]) - new["log"].corr(new["age"])) < 0.12
    assert ((new["age"] < 65) == (new["works"] == "yes")).mean() > 0.97
    assert abs(old["age"].mean() - new["age"].mean()) < 2
    shared = set(old["income"].dropna()) & set(new["income"].dropna())
    assert shared == {0.0}
    assert new["income"].max() <= old["income"].max() and new["income"].min() == 0


def test_partial_synthesis_leaves_the_rest_and_versions_differ() -> None:
    before = survey(400)
    drawn = microdata.Synthesis(given=("sex", "age"), versions=3).protect(before, columns=["income"], teaching_seed=1)
    assert len(drawn.replicates) == 3 and drawn.frame is drawn.replicates[0]
    for frame in drawn.replicates:
        assert frame.drop(columns="income").equals(before.drop(columns="income"))
    assert not drawn.replicates[0]["income"].equals(drawn.replicates[1]["income"])
    more = microdata.Synthesis(given=("sex", "age"), versions=1).protect(before, columns=["income"], teaching_seed=1)
    assert more.frame.equals(drawn.frame)


def test_a_category_can_be_predicted_by_many_others() -> None:
    rng = np.random.default_rng(2)
    town = rng.integers(0, 60, 3000)
    kind = (town * 7) % 3
    towns = [SynthesisVariable(town.astype(float), 60)]
    task = DrawingTask(
        SynthesisVariable(kind.astype(float), 3), np.zeros(3000, bool), SynthesisPredictors(towns, towns, 3000), 5
    )
    for draw, share in ((by_trees, 0.97), (by_regressions, 0.9)):
        assert np.mean(draw(task, np.random.default_rng(1)) == kind) > share


def test_versions_give_intervals_that_cover_as_often_as_they_say() -> None:
    truth, covered, rounds = 2.0, {"trees": 0, "regressions": 0}, 60
    for seed in range(rounds):
        rng = np.random.default_rng(seed)
        group = rng.integers(0, 2, 200)
        frame = pa.table({"group": group.astype(str), "y": truth * group + rng.normal(0, 1, 200)})
        for model in covered:
            drawn = microdata.Synthesis(model=model, given=("group",), versions=5, least=20).protect(
                frame, columns="y", teaching_seed=seed
            )
            slopes = []
            for version in drawn.replicates:
                y = version["y"].to_numpy()
                parts = [y[group == one] for one in (0, 1)]
                slopes.append((parts[1].mean() - parts[0].mean(), sum(part.var(ddof=1) / len(part) for part in parts)))
            low, high = microdata.combine(*np.transpose(slopes), rule="partial").interval()
            covered[model] += int(low <= truth <= high)
    assert all(0.87 * rounds <= count for count in covered.values()), covered


def test_the_rules_of_combining_are_those_of_the_papers() -> None:
    q, v = [3.0, 5.0, 4.0, 6.0], [1.0, 2.0, 1.0, 2.0]
    b, mean = np.var(q, ddof=1), 1.5
    for rule, variance, freedom in [
        ("partial", mean + b / 4, 3 * (1 + mean / (b / 4)) ** 2),
        ("missing", mean + 1.25 * b, 3 * (1 + mean / (1.25 * b)) ** 2),
        ("full", 1.25 * b - mean, 3 * (1 - mean / (1.25 * b)) ** 2),
    ]:
        found = microdata.combine(q, v, rule=rule)
        assert (found.estimate, found.variance, found.freedom) == pytest.approx((4.5, variance, freedom))
    both = microdata.combine(np.column_stack([q, q]), np.column_stack([v, np.array(v) * 9]), rule="full")
    assert both.variance == pytest.approx([1.25 * b - mean, 13.5]) and both.freedom[1] == 3
    low, high = microdata.combine([1.0, 1.0], [4.0, 4.0]).interval(0.95)
    assert (low, high) == pytest.approx((1 - 1.959964 * 2, 1 + 1.959964 * 2))


def test_what_cannot_be_combined_is_a_mistake() -> None:
    for q, v, rule, words in [
        ([1.0], [1.0], "partial", "One version"),
        ([1.0, 2.0], [1.0], "partial", "same shape"),
        ([1.0, 2.0], [1.0, -1.0], "partial", "not negative"),
        ([1.0, np.nan], [1.0, 1.0], "partial", "must be known"),
        ([1.0, 2.0], [1.0, 1.0], "parial", "partial"),
    ]:
        with pytest.raises(Mistake, match=words):
            microdata.combine(q, v, rule=rule)
    with pytest.raises(Mistake, match="level"):
        microdata.combine([1.0, 2.0], [1.0, 1.0]).interval(95)


def test_what_cannot_be_drawn_is_a_mistake() -> None:
    frame = pa.table({"id": [f"p{i}" for i in range(3000)], "x": [1.0, 2.0] + [None] * 2998, "y": range(3000)})
    for method, columns, words in [
        (microdata.Synthesis(), ["id"], "3,000 categories"),
        (microdata.Synthesis(), ["x"], "fewer than 5 known values"),
        (microdata.Synthesis(given=("y",)), ["y"], "cannot be given"),
        (microdata.Synthesis(given=("z",)), ["y"], "No column called 'z'"),
        (microdata.Synthesis(least=4000), ["y"], "least is 4000"),
    ]:
        with pytest.raises(Mistake, match=words):
            method.protect(frame, columns=columns, teaching_seed=1)


@pytest.mark.parametrize("model", ["trees", "regressions"])
@pytest.mark.parametrize("times", [3, 100])
def test_an_outlier_many_times_the_next_value_is_not_reproduced(model: str, times: int) -> None:
    """Neither at the top nor at the bottom; in 6 to 8 of 20 files it was. Within 10 % counts as known, as in attacks; it guards."""
    rng = np.random.default_rng(times)
    for seed in range(10):
        pay = np.round(np.exp(7 + rng.normal(0, 0.4, 400)), 2)
        pay[17] = times * pay.max()
        frame = pd.DataFrame({"age": rng.integers(18, 90, 400), "pay": pay, "debt": -pay})
        drawn = microdata.Synthesis(model=model).protect(frame, columns=list(frame), teaching_seed=31_337 + seed).frame
        for name in ("pay", "debt"):
            away = np.abs(drawn[name] / frame[name][17] - 1)
            assert away.min() > 0.1
