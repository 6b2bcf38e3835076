"""Multiplicative noise: what it keeps in every record, always, and what on average (Oganian 2011)."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from confide.errors import Mistake
from confide.microdata import MultiplicativeNoise, masked_moment, original_moment
from confide.microdata.methods.multiplicative_noise.chains import Chains
from confide.microdata.methods.multiplicative_noise.schemes import Scheme

NAMES = ["a", "b", "c"]
N = 10_000
HALF = 0.5 + 0.5 * np.eye(3)


def normal(seed: int) -> np.ndarray:
    """Means around 3.5, variances from 5 to 10, correlation .5 (Oganian, section 5)."""
    spread = np.sqrt([5.0, 7.0, 10.0])
    return np.random.default_rng(seed).multivariate_normal([3.2, 3.5, 3.8], HALF * np.outer(spread, spread), N)


def lognormal(seed: int) -> np.ndarray:
    """Means around 2, variances from 4 to 16, values of 50 and more (Oganian, section 5)."""
    variance, mean = np.array([4.0, 9.0, 16.0]), np.full(3, 2.0)
    log = np.log1p(variance / mean**2)
    z = np.random.default_rng(seed).multivariate_normal(np.zeros(3), HALF, N)
    return np.exp(np.log(mean) - log / 2 + np.sqrt(log) * z)


def frame(x: np.ndarray, names: list[str] = NAMES) -> pa.Table:
    return pa.table({name: x[:, j] for j, name in enumerate(names)})


def masked(method: MultiplicativeNoise, x: np.ndarray | pa.Table, seed: int = 1) -> np.ndarray:
    table = x if isinstance(x, pa.Table) else frame(x, NAMES[: x.shape[1]])
    after = method.protect(table, columns=table.column_names, teaching_seed=seed).frame
    return np.column_stack([after[name].to_numpy(zero_copy_only=False) for name in table.column_names])


def ratios(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (np.cov(y.T) / np.cov(x.T))[np.triu_indices(x.shape[1])]


# ---- Oganian (2011), section 5: k = .15, 10,000 records


def replicated(method: MultiplicativeNoise, draw: object, times: int = 60) -> np.ndarray:
    files = [draw(seed) for seed in range(times)]
    return np.array([ratios(x, masked(method, x, seed)) for seed, x in enumerate(files)])


def test_section_5_symmetrical_files_keep_their_covariances() -> None:
    found = replicated(MultiplicativeNoise(), normal, 200)
    # the paper: .98 to 1.02; that is where 96.7 % are (standard error .6 % in 200 files), and all within .96 to 1.04:
    # the last two are what two sets of draws gave, and guard against regression only
    assert np.mean((found > 0.98) & (found < 1.02)) >= 0.95
    assert found.min() > 0.96 and found.max() < 1.045
    assert abs(found.mean() - 1) < 5 * found.mean(axis=1).std() / np.sqrt(len(found))


@pytest.mark.parametrize("scheme", ["positive", "z-scores"])
def test_section_5_skewed_files_keep_their_covariances_on_average(scheme: str) -> None:
    found = replicated(MultiplicativeNoise(scheme=scheme), lognormal, 100)
    # the paper: about .7 to 1.3 and .8 to 1.2 in all files. Here that is where 95 % are (.87 to 1.14); a single outlier
    # takes a ratio to .4 or 2.1 (seen in two sets of draws: a guard against regression only)
    low, high = np.quantile(found, [0.025, 0.975])
    assert low > 0.8 and high < 1.2
    assert found.min() > 0.4 and found.max() < 2.5
    assert abs(np.median(found) - 1) < 0.03


def test_section_5_two_zones_reduce_the_variability() -> None:
    zones = MultiplicativeNoise(zones={name: [15] for name in NAMES}, zone_k=[0.01])
    one, two = replicated(MultiplicativeNoise(), lognormal, 40), replicated(zones, lognormal, 40)
    # the paper: 95 % within .98 to 1.02, which its recipe does not reach: .96 to 1.035 in 200 files
    low, high = np.quantile(two, [0.025, 0.975])
    assert low > 0.95 and high < 1.06
    assert two.std() < one.std() / 2


def test_section_5_means_are_very_well_preserved() -> None:
    for draw in (normal, lognormal):
        found = np.array(
            [masked(MultiplicativeNoise(), x := draw(s), s).mean(axis=0) / x.mean(axis=0) for s in range(20)]
        )
        assert np.all(np.abs(found - 1) < 0.05)


def test_section_3_third_and_fourth_moments_grow_little() -> None:
    for draw, third, fourth in ((normal, 1.01, 1.02), (lognormal, 1.2, 1.6)):
        x = draw(1) - min(draw(1).min(), 0)
        for name in NAMES:
            for power, most in ((3, third), (4, fourth)):
                grown = masked_moment(frame(x), {name: power}, k=0.15) / np.mean(x[:, NAMES.index(name)] ** power)
                assert 1 < grown < most


def test_section_5_few_records_are_linked() -> None:
    x = lognormal(3)
    y = masked(MultiplicativeNoise(), x)
    for known, most in ((1, 0.003), (2, 0.01), (3, 0.03)):  # the paper: about .3 %; here .1, .5 and 2 %
        scale = x[:, :known].std(axis=0)
        nearest = cKDTree(y[:, :known] / scale).query(x[:, :known] / scale)[1]
        assert np.mean(nearest == np.arange(N)) < most


# ---- exact


@pytest.mark.parametrize("scheme", ["positive", "z-scores"])
def test_exact_means_exact_and_still_positive(scheme: str) -> None:
    x = lognormal(4)[:2000]
    table = frame(x)
    released = MultiplicativeNoise(scheme=scheme, exact=True).protect(table, columns=NAMES, teaching_seed=1)
    y = np.column_stack([released.frame[name].to_numpy() for name in NAMES])
    assert released.report["exact"] == released.report["zones"] == 1
    assert y.min() > 0 and ratios(x, y) == pytest.approx(1, abs=1e-9)
    assert y.mean(axis=0) == pytest.approx(x.mean(axis=0))


def test_exact_by_zones_is_exact_in_the_whole_file() -> None:
    x = lognormal(5)
    y = masked(MultiplicativeNoise(zones={"a": [5], "c": [7]}, zone_k=[0.05], exact=True), x)
    assert ratios(x, y) == pytest.approx(1, abs=1e-9)


def test_where_exact_would_break_positivity_it_is_given_up_and_told() -> None:
    """Nearly all values are zero, so that any linear map takes some of them below."""
    x = np.column_stack([np.r_[np.zeros(11), 1e3], np.r_[1e3, np.zeros(10), 1.0]])
    for seed in range(5):
        released = MultiplicativeNoise(k=2.0, exact=True).protect(
            frame(x, ["a", "b"]), columns=["a", "b"], teaching_seed=seed
        )
        y = np.column_stack([released.frame[name].to_numpy() for name in "ab"])
        assert y.min() >= 0
        close = np.allclose(np.cov(y.T), np.cov(x.T), rtol=1e-5)
        assert close == (released.report["exact"] == 1)
    assert released.report["exact"] == 0


# ---- what holds in every record, always

amounts = st.floats(0, 1e6, allow_subnormal=False)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(amounts, amounts, amounts), min_size=4, max_size=40),
    st.sampled_from(["positive", "z-scores"]),
    st.floats(0.01, 5),
    st.booleans(),
    st.integers(0, 1000),
)
def test_positivity_and_chains_hold_in_every_record(
    parts: list[tuple[float, ...]], scheme: str, k: float, exact: bool, seed: int
) -> None:
    x = np.cumsum(parts, axis=1)[:, ::-1]  # a >= b >= c >= 0
    method = MultiplicativeNoise(k=k, scheme=scheme, chains=[NAMES], exact=exact)
    try:
        y = masked(method, x, seed)
    except Mistake as error:
        assert "is the same in all" in str(error) or "avoid each other" in str(error)
        return
    assert np.all(y[:, 0] >= y[:, 1]) and np.all(y[:, 1] >= y[:, 2]) and np.all(y[:, 2] >= 0)
    assert not np.array_equal(y, x)


def test_chains_keep_means_and_covariances_too() -> None:
    """Formula 27, corrected: the printed one would count parts twice."""
    rng = np.random.default_rng(6)
    x = np.cumsum(rng.gamma(2, [300, 200, 500], (400, 3)), axis=1)[:, ::-1]
    files = [masked(MultiplicativeNoise(chains=[NAMES]), x, seed) for seed in range(200)]
    found = np.array([np.r_[y.mean(axis=0) / x.mean(axis=0), ratios(x, y)] for y in files])
    assert np.all(np.abs(found.mean(axis=0) - 1) < 5 * found.std(axis=0) / np.sqrt(len(files)))
    exact = masked(MultiplicativeNoise(chains=[NAMES], exact=True), x)
    assert ratios(x, exact) == pytest.approx(1, abs=1e-9)


def test_chains_hold_after_rounding_and_among_the_values_that_are_known() -> None:
    rng = np.random.default_rng(8)
    x = np.cumsum(rng.integers(0, 4, (500, 3)), axis=1)[:, ::-1]
    gaps = rng.random(x.shape) < 0.2
    table = pa.table({name: pa.array(x[:, j], mask=gaps[:, j]) for j, name in enumerate(NAMES)})
    y = masked(MultiplicativeNoise(chains=[NAMES], k=1.0), table)
    assert np.array_equal(np.isnan(y), gaps)
    for i, j in ((0, 1), (1, 2), (0, 2)):
        known = ~np.isnan(y[:, [i, j]]).any(axis=1)
        assert np.all(y[known, i] >= y[known, j])
    assert np.nanmin(y) >= 0 and np.nanmean(np.abs(y - x)) > 0.2


def test_parts_of_chains_go_together_again() -> None:
    chains = Chains(("a", "b", "c", "d"), (("d", "b", "a"),))
    x = np.array([[1.0, 3.0, 9.0, 7.0], [1.0, np.nan, 9.0, 7.0], [np.nan, 3.0, 9.0, 7.0]])
    assert np.array_equal(chains.parts(x)[:, [3, 1, 0]], [[4, 2, 1], [6, np.nan, 1], [4, 3, np.nan]], equal_nan=True)
    assert np.array_equal(chains.together(chains.parts(x)), x, equal_nan=True)


def test_any_sign_keeps_covariances_and_positive_columns_positive() -> None:
    rng = np.random.default_rng(9)
    common = rng.standard_normal(500)
    other, third = rng.standard_normal((2, 500))
    x = np.column_stack([common * 10 - 3, np.exp((common + other) / 2), 5 - common + 2 * third])
    files = [masked(MultiplicativeNoise(), x, seed) for seed in range(200)]
    assert all(y[:, 1].min() > 0 for y in files)
    found = np.array([np.r_[(y - x).mean(axis=0), ratios(x, y) - 1] for y in files])
    assert np.all(np.abs(found.mean(axis=0)) < 5 * found.std(axis=0) / np.sqrt(len(files)))


def test_zeros_beside_an_indicator_stay_and_nothing_else_becomes_zero() -> None:
    rng = np.random.default_rng(10)
    x = rng.lognormal(3, 0.6, (1000, 3))
    x[rng.random(1000) < 0.4, 0] = 0
    x[rng.random(1000) < 0.3, 1] = 0
    method = MultiplicativeNoise(zeros=["a", "b"])
    y = masked(method, x)
    assert np.array_equal(y == 0, x == 0) and not np.any((y == x) & (x != 0))
    found = np.array([ratios(x, masked(method, x, seed)) for seed in range(150)])
    assert np.all(np.abs(found.mean(axis=0) - 1) < 5 * found.std(axis=0) / np.sqrt(150))
    assert np.cov(masked(MultiplicativeNoise(zeros=["a", "b"], exact=True), x).T) == pytest.approx(np.cov(x.T))


def test_parts_of_the_file_do_not_share_their_noise() -> None:
    rng = np.random.default_rng(16)
    x = np.tile(rng.lognormal(3, 0.6, (50, 2)), (2, 1))
    x[50:, 1] = 0
    x[:, 0] += np.r_[np.zeros(50), np.full(50, 1e-9)]
    y = masked(MultiplicativeNoise(zeros=["b"]), x)
    assert abs(np.corrcoef(y[:50, 0] / x[:50, 0], y[50:, 0] / x[50:, 0])[0, 1]) < 5 / np.sqrt(50)
    assert not np.any(np.isclose(y[:50, 0], y[50:, 0], rtol=1e-6))


def test_very_large_and_very_small_numbers_are_masked() -> None:
    x = np.random.default_rng(17).lognormal(0, 1, (100, 2))
    plain = masked(MultiplicativeNoise(), x)
    assert masked(MultiplicativeNoise(), x * [1e200, 1e-200]) == pytest.approx(plain * [1e200, 1e-200])


def test_zones_have_noise_of_their_own() -> None:
    x = np.random.default_rng(11).lognormal(1, 1, (5000, 2))
    method = MultiplicativeNoise(k=0.5, zones={"a": [5, 20], "b": [5, 20]}, zone_k=[0.05, 0.0001])
    y, far = masked(method, x), x.max(axis=1)
    moved = np.abs(y / x - 1).mean(axis=1)
    near, middle, out = (moved[rows].mean() for rows in (far <= 5, (far > 5) & (far <= 20), far > 20))
    assert near > 2 * middle > 20 * out


def test_a_covariance_matrix_that_is_none_is_projected_and_told() -> None:
    """Three columns that are hardly ever positive together."""
    rng = np.random.default_rng(12)
    sparse = np.full((300, 3), 1e-6)
    sparse[np.arange(300), np.arange(300) % 3] = rng.lognormal(0, 0.1, 300)
    released = MultiplicativeNoise().protect(frame(sparse), columns=NAMES, teaching_seed=1)
    assert released.report["projection"] > 0
    assert MultiplicativeNoise().protect(frame(lognormal(1)), columns=NAMES, teaching_seed=1).report["projection"] == 0
    y = np.array([masked(MultiplicativeNoise(), sparse, seed).mean(axis=0) for seed in range(200)])
    assert np.all(np.abs(y.mean(axis=0) - sparse.mean(axis=0)) < 5 * y.std(axis=0) / np.sqrt(200)) and np.all(y > 0)


def test_the_noise_has_the_covariances_of_formulas_8_and_23() -> None:
    x, k = lognormal(2), 0.15
    both, mean = x.T @ x / N, x.mean(axis=0)
    covariance = both - np.outer(mean, mean)
    eight, twenty_three = np.log(1 + k * covariance / both), np.log((1 + k) * both / (both + k * np.outer(mean, mean)))
    for scores, expected in ((False, eight), (True, twenty_three)):
        spread = Scheme.learnt(x, k=k, scores=scores, names=NAMES).spread
        assert spread @ spread == pytest.approx(expected)


# ---- moments, formula 26


def test_masked_moments_are_those_of_formula_26_corrected() -> None:
    x = np.random.default_rng(13).lognormal(0, 0.7, (200, 2)) @ np.array([[1, 0.6], [0, 0.8]])
    files = [masked(MultiplicativeNoise(k=0.3), x, seed) for seed in range(800)]
    for powers in ((1, 1), (2, 1), (3, 0), (1, 2), (2, 2)):
        named = {name: p for name, p in zip("ab", powers, strict=True) if p}
        found = np.array([np.mean(y[:, 0] ** powers[0] * y[:, 1] ** powers[1]) for y in files])
        expected = masked_moment(frame(x, ["a", "b"]), named, k=0.3)
        assert abs(found.mean() - expected) < 5 * found.std() / np.sqrt(len(files)), powers
        if sum(powers) == 2:
            assert expected == pytest.approx(np.mean(np.prod(x ** np.array(powers), axis=1)))


def test_a_user_who_knows_k_finds_the_original_moments() -> None:
    x = lognormal(14)
    table = frame(x)
    after = MultiplicativeNoise(exact=True).protect(table, columns=NAMES, teaching_seed=1)
    for powers in ({"a": 1}, {"a": 1, "b": 1}, {"b": 2}):
        true = np.mean(np.prod([x[:, NAMES.index(name)] ** p for name, p in powers.items()], axis=0))
        assert original_moment(after, powers, k=0.15) == pytest.approx(true)
    true, seen, found = [], [], []
    for seed in range(60):
        y = masked(MultiplicativeNoise(k=0.3), x, seed)
        true.append(np.mean(x[:, 0] ** 2 * x[:, 1]))
        seen.append(np.mean(y[:, 0] ** 2 * y[:, 1]))
        found.append(original_moment(frame(y), {"a": 2, "b": 1}, k=0.3))
    assert abs(np.mean(found) / true[0] - 1) < abs(np.mean(seen) / true[0] - 1)


def test_formula_26_solved_gives_back_what_went_in() -> None:
    """Recursion on the very masked moments: the original ones, exactly."""
    x = np.random.default_rng(15).gamma(2, 1, (50, 1))
    k, m = 0.2, [np.mean(x**p) for p in range(4)]
    third = masked_moment(frame(x, ["a"]), {"a": 3}, k=k)
    grow = (1 + k) * m[2] / (m[2] + k * m[1] ** 2)
    s = np.sqrt(1 + k) - 1
    by_hand = grow**3 / (1 + k) ** 1.5 * (m[3] + 3 * s * m[1] * m[2] + 3 * (s * m[1]) ** 2 * m[1] + (s * m[1]) ** 3)
    assert third == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("powers", "k", "complaint"),
    [({}, 0.1, "powers"), ({"a": 0}, 0.1, "powers"), ({"a": 2}, 0, "k must"), ({"b": 2}, 0.1, "'b' has negative"),
     ({"aa": 1}, 0.1, "No column called 'aa'"), ({"c": 1}, 0.1, "No record")],
)  # fmt: skip
def test_moments_that_cannot_be_had_are_mistakes(powers: dict[str, int], k: float, complaint: str) -> None:
    table = pa.table({"a": [1.0, 2.0], "b": [-1.0, 2.0], "c": pa.nulls(2, pa.float64())})
    for moment in (masked_moment, original_moment):
        with pytest.raises(Mistake, match=complaint):
            moment(table, powers, k=k)


# ---- mistakes


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"chains": [["a"]]}, "chains must each name two"),
        ({"chains": [["a", "b"], ["b", "c"]]}, "no column twice"),
        ({"chains": [["a", "b"]], "zeros": ["a"]}, "Name them in zeros too"),
        ({"zones": {"a": [1, 2]}, "zone_k": [0.1]}, "as many as zone_k"),
        ({"zones": {"a": [2, 1]}, "zone_k": [0.1, 0.1]}, "must increase"),
        ({"zone_k": [0.1]}, "zones must say where"),
    ],
)
def test_parameters_that_do_not_go_together_are_mistakes(given: dict[str, object], complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        MultiplicativeNoise(**given)


PLAIN = {"a": [5.0, 6.0, 7.0, 9.0], "b": [1.0, 2.0, 2.0, 8.0]}


@pytest.mark.parametrize(
    ("given", "columns", "complaint"),
    [
        ({"chains": [["b", "a"]]}, PLAIN, "b >= a does not hold in record 1, 2, 3, 4"),
        ({"chains": [["a", "b"]]}, {**PLAIN, "b": [1, 2, 2, 8]}, "double and int64.*one kind"),
        (
            {"chains": [["a", "b"]]},
            {**PLAIN, "b": [-1.0, 2.0, 2.0, 8.0]},
            "'a' is never negative and 'b' of its chain is",
        ),
        ({"chains": [["a", "x"]]}, PLAIN, "'x' is not among"),
        ({"scheme": "positive"}, {**PLAIN, "b": [-1.0, 2.0, 2.0, 8.0]}, "'b' has negative values.*z-scores"),
        ({"zeros": ["b"]}, {**PLAIN, "b": [-1.0, 2.0, 2.0, 8.0]}, "'b' has negative values"),
        ({"zeros": ["b"]}, {**PLAIN, "b": [0.0, 2.0, 2.0, 8.0]}, "of a pattern of zeros"),
        ({"zones": {"a": [8]}, "zone_k": [0.1]}, PLAIN, "of zone 2"),
        ({}, {"a": [0.0, 0.0, 1.0, 2.0], "b": [3.0, 4.0, 0.0, 0.0]}, "'a' and 'b' avoid each other.*zeros"),
        ({"scheme": "positive", "k": 9.0}, {"a": [0.1, 0.0, 1.0, 2.0], "b": [3.0, 4.0, 0.1, 0.0]}, "Use z-scores"),
        (
            {"chains": [["a", "b"]]},
            {"a": [-1.0, 2.0, 3.0, None], "b": [-2.0, 1.0, 1.0, 1.0]},
            "negative values and missing ones",
        ),
    ],
)
def test_files_that_cannot_be_masked_are_mistakes(given: dict, columns: dict, complaint: str) -> None:
    table = pa.table(columns)
    with pytest.raises(Mistake, match=complaint):
        MultiplicativeNoise(**given).protect(table, columns=["a", "b"], teaching_seed=1)
