"""The risk-utility map, its frontier, and the choice of a release, exhaustive and greedy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.answering.frontier.frontier import EXHAUSTIVE, _greedy, evaluate
from confide.answering.frontier.measures import attained, r_pred, u_rsq
from confide.answering.frontier.setting import Setting, Target
from confide.answering.frontier.splits import RISKS, UTILITIES, every_split, these_splits
from confide.data.risk_utility import RiskUtilityMap
from confide.errors import Mistake

seeds = st.integers(0, 10_000)

risks, utilities = st.sampled_from(RISKS), st.sampled_from(UTILITIES)


def numbered(cross, **options):
    return Setting(cross, {f"x{i}": (i,) for i in range(len(cross))}, "x0", **options)


def records(seed, columns=7):
    generator = np.random.default_rng(seed)
    shared = generator.standard_normal((100, 2)) @ generator.standard_normal((2, columns))
    return shared * generator.uniform(0, 1) + generator.standard_normal((100, columns))


def beaten(risk, utility):
    """Rows that another row beats, by looking at every pair."""
    lower, higher = risk[:, None] >= risk, utility[:, None] <= utility
    strictly = (risk[:, None] > risk) | (utility[:, None] < utility)
    return np.any(lower & higher & strictly, axis=1)


def test_510_releases_of_nine_variables_are_judged_together(setting_of, data_set_1, calls_of):
    setting = setting_of(data_set_1())
    found = evaluate(setting, risk="residual").proper()
    assert calls_of(lambda: evaluate(setting, risk="residual").proper().choose(threshold=0.2)) < 510
    assert len(found.risk) == 510 and found.ceiling is None


def test_the_map_measures_each_release_as_one_regression_would(cross_products):
    cross = cross_products(5)
    found, predicted = evaluate(numbered(cross)), evaluate(numbered(cross), risk="predicted")
    for row, free in enumerate(found.free):
        rho = u_rsq(cross, response=0, free=tuple(np.flatnonzero(free) + 1))
        assert found.released[row] == pytest.approx(rho, abs=1e-12) and found.utility[row] == found.released[row]
        assert found.risk[row] == pytest.approx(attained(rho, 4 - free.sum()), abs=1e-12)
        assert predicted.risk[row] == pytest.approx(r_pred(rho, 4 - free.sum()), abs=1e-12)
        assert found.volume[row] == free.sum()


@given(seeds)
def test_all_splits_at_once_and_one_by_one_agree(setting_of, seed):
    every = every_split(setting_of(records(seed, columns=5)))
    single = these_splits(every.setting, every.free)
    np.testing.assert_allclose(every.released, single.released, atol=1e-10)
    np.testing.assert_allclose(every.squares, single.squares, rtol=1e-8)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=40))
def test_the_frontier_is_what_nothing_beats(points):
    risk, utility = np.array(points, dtype=float).T
    rows = RiskUtilityMap(risk, utility).frontier()
    assert {(risk[i], utility[i]) for i in rows} == {(r, u) for r, u in zip(*(risk, utility), strict=True)} - {
        (risk[i], utility[i]) for i in np.flatnonzero(beaten(risk, utility))
    }
    assert np.all(np.diff(risk[rows]) > 0) and np.all(np.diff(utility[rows]) > 0)


@settings(max_examples=30, deadline=None)
@given(seeds, risks, utilities, st.floats(0, 1), st.floats(0, 5))
def test_choices_are_the_best_by_looking_at_all_and_lie_on_the_frontier(setting_of, seed, risk, utility, level, slope):
    found = evaluate(setting_of(records(seed, columns=6)), risk=risk, utility=utility)
    threshold = float(np.quantile(found.risk, level))
    release = found.choose(threshold=threshold)
    allowed = found.risk <= threshold
    assert release.risk <= threshold and release.utility == found.utility[allowed].max()
    assert not beaten_by_any(found, release)
    benefit = found.choose(slope=slope + 0.01)
    best = np.max((slope + 0.01) * found.utility - found.risk)
    assert (slope + 0.01) * benefit.utility - benefit.risk == pytest.approx(best)
    assert not beaten_by_any(found, benefit)


def beaten_by_any(found, release):
    better = (found.risk <= release.risk) & (found.utility >= release.utility)
    return np.any(better & ((found.risk < release.risk - 1e-12) | (found.utility > release.utility + 1e-12)))


def test_a_release_names_what_is_free_and_what_is_suppressed():
    cross = np.array([[1, 0.9, 0.1], [0.9, 1, 0], [0.1, 0, 1]])
    names = {"income": (0,), "rent": (1,), "cars": (2,)}
    release = evaluate(Setting(cross, names, "income"), risk="released").choose(threshold=0.5)
    assert (release.sensitive, release.free, release.suppressed) == ("income", ("cars",), ("rent",))
    assert release.risk == release.released == pytest.approx(0.01) and release.gap == 0
    assert release.answers(["income", "cars"]) and release.answers(["rent", "cars"])
    assert not release.answers(["cars", "income", "rent"])


def test_a_limit_on_the_attained_r_squared_is_no_limit_on_the_released_one():
    """Why the released R² is shown with every choice: (2k + 2)ρ - k over k + 2 at k = 8 turns 0.6 into 0.28."""
    cross = np.eye(10)
    cross[0, 1] = cross[1, 0] = np.sqrt(0.6)
    release = evaluate(numbered(cross)).choose(threshold=0.3)
    assert release.free == ("x1",) and release.risk < 0.3 and release.released == pytest.approx(0.6)


def test_a_weight_of_one_forces_a_variable_only_where_the_risk_allows_it():
    """Section 5.2 says that w = 1 forces a variable to be free; a risk threshold can still forbid it."""
    setting = numbered(np.array([[1, 0.9, 0.2], [0.9, 1, 0], [0.2, 0, 1]]), weights={"x1": 1.0})
    found = evaluate(setting, risk="released", utility="rsqwt")
    assert "x1" in found.choose(threshold=0.9).free and "x1" in found.choose(slope=1.1).free
    assert found.choose(threshold=0.5).free == ("x2",)


def test_categories_are_freed_together_and_count_as_columns(cross_products):
    names = {"y": (0,), "region": (1, 2, 3), "age": (4,)}
    found = evaluate(Setting(cross_products(5), names, "y"))
    assert found.free.shape == (4, 2)
    np.testing.assert_allclose(found.risk, attained(found.released, [4, 1, 3, 0]))


def test_one_other_variable_leaves_only_the_two_ends(cross_products):
    found = evaluate(numbered(cross_products(2)))
    assert len(found.risk) == 2 and len(found.proper().risk) == 0 and len(found.proper().frontier()) == 0
    with pytest.raises(Mistake, match="No release"):
        found.proper().choose(threshold=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Give one of them"),
        ({"threshold": 0.1, "slope": 1.0}, "Give one of them"),
        ({"threshold": np.nan}, "finite"),
        ({"slope": -1.0}, "0 or more"),
        ({"threshold": -2.0}, "No release"),
    ],
)
def test_choices_that_make_no_sense_are_mistakes(cross_products, options, words):
    with pytest.raises(Mistake, match=words):
        evaluate(numbered(cross_products(4))).choose(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"risk": "guess"}, "No risk"), ({"utility": "joy"}, "No utility"), ({"risk": "residual"}, "target set")],
)
def test_unknown_measures_are_mistakes(cross_products, options, words):
    with pytest.raises(Mistake, match=words):
        evaluate(numbered(cross_products(4)), **options)


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("risk", RISKS)
@settings(max_examples=6)
@given(seeds, st.floats(0.05, 0.95))
def test_the_stated_gap_of_a_greedy_choice_is_never_less_than_the_true_one(setting_of, risk, utility, seed, level):
    setting = setting_of(records(seed))
    whole, some = evaluate(setting, risk=risk, utility=utility), _greedy(setting, risk, utility)
    threshold = float(np.quantile(some.risk, level))
    best, ours = whole.choose(threshold=threshold), some.choose(threshold=threshold)
    assert ours.gap >= best.utility - ours.utility - 1e-9
    slope = 0.1 + level
    best, ours = whole.choose(slope=slope), some.choose(slope=slope)
    assert ours.gap >= slope * (best.utility - ours.utility) - (best.risk - ours.risk) - 1e-9


def lies_within(whole, top):
    covered = (top.risk <= whole.risk[:, None] + 1e-9) & (top.utility >= whole.utility[:, None] - 1e-9)
    return np.all(np.any(covered, axis=1))


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("risk", RISKS)
@settings(max_examples=6)
@given(seeds)
def test_no_release_lies_beyond_the_ceiling(setting_of, risk, utility, seed):
    simple = setting_of(records(seed, columns=8))
    names = {"x0": (0,), "a": (1,), "b": (2, 3, 4), "c": (5,), "d": (6, 7)}
    for setting in (simple, replace(simple, variables=names)):
        top = _greedy(setting, risk, utility).ceiling
        assert lies_within(evaluate(setting, risk=risk, utility=utility), top)


@pytest.mark.parametrize(("risk", "utility"), [("predicted", "volume"), ("attained", "volume"), ("released", "rsqwt")])
def test_the_ceiling_counts_with_large_blocks_and_heavy_weights(risk, utility):
    """All but a are unrelated to y and leave the ceiling no slack, so that a wrong count or order of weights shows."""
    cross, names = np.eye(7), {"y": (0,), "a": (1,), "b": (2, 3, 4, 5), "c": (6,)}
    cross[0, 1] = cross[1, 0] = 0.995
    setting = Setting(cross, names, "y", weights={"a": 0.3, "b": 0.1, "c": 0.2})
    assert lies_within(evaluate(setting, risk=risk, utility=utility), _greedy(setting, risk, utility).ceiling)


def test_where_the_target_is_everybody_the_ceiling_of_residual_risk_is_as_tight_as_that_of_the_released_r_squared():
    x = records(1, columns=8)
    x -= x.mean(axis=0)
    setting = numbered(x.T @ x, target=Target(x.T @ x, len(x)))
    rho = float(np.median(evaluate(setting).released))
    limits = {"released": rho, "residual": float(np.sqrt(len(x) / ((1 - rho) * setting.cross[0, 0])))}
    gaps = [_greedy(setting, risk, "rsq").choose(threshold=limit).gap for risk, limit in limits.items()]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-9) and gaps[0] < 0.02


def test_greedy_choices_come_close_on_twelve_variables(setting_of):
    """The loss stays under 2 % of the utility on these data; the paths see 3 to 10 % of the 4096 releases."""
    for seed in range(4):
        setting = setting_of(records(seed, columns=13))
        for risk in ("attained", "released", "residual"):
            whole, some = evaluate(setting, risk=risk), _greedy(setting, risk, "rsq")
            assert len(some.risk) < 0.12 * len(whole.risk)
            threshold = float(np.median(whole.risk))
            assert some.choose(threshold=threshold).utility > 0.98 * whole.choose(threshold=threshold).utility


def test_beyond_twenty_variables_the_map_is_greedy_and_states_its_gap(cross_products):
    found = evaluate(numbered(cross_products(EXHAUSTIVE + 3, strength=0.3)), risk="released", utility="rsq")
    assert found.ceiling is not None and len(found.risk) < 5000
    release = found.choose(threshold=0.15)
    assert 0 < release.gap < 0.02 and release.utility + release.gap <= 0.1501 + 0.001
