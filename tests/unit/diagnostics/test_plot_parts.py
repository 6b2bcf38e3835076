"""The parts of a diagnostic plot: noise, spline, density, and plots of little or odd data."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import interpolate, stats

from confide.answering.diagnostics.charts import categorical_chart, fitted_chart, grouped_chart, numeric_chart
from confide.answering.diagnostics.density import density
from confide.answering.diagnostics.logistic import logistic_plot
from confide.answering.diagnostics.noise import Blurred, _normals, blur, flip, siphash
from confide.answering.diagnostics.spline import basis, penalty, smooth
from confide.answering.diagnostics.synthetic import _kernel, _nearest, categorical_plot, fitted_plot, numeric_plot
from confide.errors import Mistake

MASK = 2**64 - 1


def plain_siphash(word: int, secret: bytes) -> int:
    """SipHash-2-4 with Python integers, as in the paper."""
    k0, k1 = int.from_bytes(secret[:8], "little"), int.from_bytes(secret[8:], "little")
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def turn(x: int, b: int) -> int:
        return ((x << b) | (x >> (64 - b))) & MASK

    def rounds(times: int) -> None:
        for _ in range(times):
            v[0] = (v[0] + v[1]) & MASK
            v[1] = turn(v[1], 13) ^ v[0]
            v[0] = turn(v[0], 32)
            v[2] = (v[2] + v[3]) & MASK
            v[3] = turn(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & MASK
            v[3] = turn(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & MASK
            v[1] = turn(v[1], 17) ^ v[2]
            v[2] = turn(v[2], 32)

    for block in (word, 8 << 56):
        v[3] ^= block
        rounds(2)
        v[0] ^= block
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


@given(st.lists(st.integers(0, MASK), max_size=5), st.binary(min_size=16, max_size=16))
def test_siphash_agrees_with_its_plain_twin(words: list[int], secret: bytes) -> None:
    assert siphash(np.array(words, dtype=np.uint64), secret).tolist() == [plain_siphash(w, secret) for w in words]


def test_the_noise_is_standard_normal_and_unrelated_between_units_and_seeds() -> None:
    keys = np.arange(-50_000, 50_000)
    noise = _normals(keys, b"one")
    assert stats.kstest(noise, "norm").pvalue > 0.001
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 4 / np.sqrt(keys.size)
    assert abs(np.corrcoef(noise, _normals(keys, b"two"))[0, 1]) < 4 / np.sqrt(keys.size)


def test_noise_belongs_to_the_unit_not_to_its_row() -> None:
    keys = np.array([5, 9, 2, 5])
    values = blur(np.zeros(4), keys, seed=b"y", noise=1.0).values
    assert (blur(np.zeros(4), keys[::-1], seed=b"y", noise=1.0).values == values[::-1]).all()
    assert values[0] == values[3]


def test_noise_is_the_same_in_units_of_the_response_whatever_the_scale() -> None:
    scale = np.array([1.0, 2.0, 0.5])
    noise = [blur(np.zeros(3), np.arange(3), seed=b"y", noise=0.1, scale=s).values * s for s in (1.0, scale)]
    assert np.allclose(noise[0], noise[1], rtol=1e-14)


def test_the_share_of_outcomes_turned_round_is_the_chance() -> None:
    turned = flip(np.zeros(100_000), np.arange(100_000), seed=b"y", chance=0.1).values.mean()
    assert abs(turned - 0.1) < 3 * np.sqrt(0.09 / 100_000)


KNOTS = np.array([0, 0, 0, 0, 0.1, 0.5, 0.6, 2, 2, 2, 2.0])


def test_splines_are_those_of_scipy() -> None:
    x = np.linspace(0, 2, 101)
    assert np.allclose(basis(x, KNOTS), interpolate.BSpline.design_matrix(x, KNOTS, 3).toarray(), atol=1e-12)


def test_the_penalty_is_the_integral_of_the_squared_second_derivative() -> None:
    coefficients = np.random.default_rng(1).standard_normal(KNOTS.size - 4)
    bend = interpolate.BSpline(KNOTS, coefficients, 3).derivative(2)
    nodes, weights = np.polynomial.legendre.leggauss(4)
    ends = np.unique(KNOTS)
    half = np.diff(ends) / 2
    total = sum(h * weights @ bend(h * nodes + m) ** 2 for h, m in zip(half, ends[:-1] + half, strict=True))
    assert np.isclose(coefficients @ penalty(KNOTS) @ coefficients, total)


@pytest.mark.parametrize("units", [100, 250, 5000, 50_000])
def test_the_spline_never_spends_more_than_its_degrees_of_freedom(units: int) -> None:
    random = np.random.default_rng(units)
    x = np.sort(random.random(units))
    curve = smooth(x, np.sign(np.sin(200 * x)) + random.standard_normal(units) * 0.01)
    assert curve.df <= min(10, units / 50) + 0.01


def test_the_spline_of_noise_is_nearly_level() -> None:
    """Overfitting safeguard: in 40 samples of pure noise the curve takes 3 degrees of freedom in the middle one."""
    random = np.random.default_rng(1)
    x = np.sort(random.random(2000))
    curves = [smooth(x, random.standard_normal(2000)) for _ in range(40)]
    assert np.median([curve.df for curve in curves]) < 3
    assert max(np.sqrt(np.mean(curve(x) ** 2)) for curve in curves) < 4 * np.sqrt(10 / 2000)


def test_the_spline_recovers_a_course_along_a_skewed_predictor() -> None:
    random = np.random.default_rng(2)
    x = np.sort(random.lognormal(size=20_000))
    truth = np.sin(2 * np.log(x))
    curve = smooth(x, truth + random.standard_normal(x.size))
    assert np.sqrt(np.mean((curve(x) - truth) ** 2)) < 0.15 * truth.std()


@pytest.mark.parametrize("units", [100, 500, 5000])
def test_a_unit_moves_the_curve_by_its_share_however_far_out_it_lies(units: int) -> None:
    random = np.random.default_rng(units)
    x = np.sort(random.standard_cauchy(units))
    y = np.sin(x) + 0.1 * random.standard_normal(units)
    curve = smooth(x, y)
    for unit in (0, units // 2, units - 1):
        moved = y + 0.001 * (np.arange(units) == unit)
        leverage = (smooth(x, moved)(x)[unit] - curve(x)[unit]) / 0.001
        assert leverage < (2 if unit == units // 2 else 8) * curve.df / units


@pytest.mark.parametrize("values", [[0.0, 1.0], [3.0], [0.0] * 9 + [5.0]])
def test_the_spline_takes_few_distinct_values(values: list[float]) -> None:
    x = np.sort(np.resize(values, 1000))
    y = x * 2 + np.random.default_rng(1).standard_normal(1000)
    means = np.array([y[x == value].mean() for value in np.unique(x)])
    assert np.allclose(smooth(x, y)(np.unique(x)), means, atol=0.01)


def test_a_point_mass_is_kept_and_nothing_else_is_a_real_value() -> None:
    random = np.random.default_rng(1)
    income = np.sort(np.append(np.zeros(4000), random.lognormal(10, 1, 6000)))
    drawn = density(income, least=10).draw(random, 5000)
    assert abs((drawn == 0).mean() - 0.4) < 3 * np.sqrt(0.24 / 5000)
    assert not np.isin(drawn[drawn != 0], income).any()
    assert stats.ks_2samp(drawn[drawn != 0], income[income != 0]).statistic < 0.05


def test_rare_ties_and_extremes_are_not_shown() -> None:
    random = np.random.default_rng(2)
    x = np.sort(np.concatenate([random.standard_normal(1000), np.full(9, 0.5), [1e9]]))
    drawn = density(x, least=10).draw(random, 50_000)
    assert not (drawn == 0.5).any()
    assert x[10] < drawn.min() and drawn.max() < x[-11]


def test_values_that_all_recur_stay_what_they_are() -> None:
    age = np.sort(np.resize(np.arange(90.0), 9000))
    drawn = density(age, least=10).draw(np.random.default_rng(1), 5000)
    assert stats.chisquare(np.bincount(drawn.astype(int), minlength=90)).pvalue > 0.001


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12), st.lists(st.floats(-7, 7), min_size=1, max_size=9))
def test_the_nearest_unit_is_a_nearest_unit(values: list[int], wanted: list[float]) -> None:
    real = np.sort(np.array(values, dtype=np.float64))
    near = _nearest(real, np.array(wanted), np.random.default_rng(0))
    assert np.array_equal(abs(real[near] - wanted), abs(real[:, None] - np.array(wanted)).min(axis=0))


def test_tied_units_are_chosen_alike() -> None:
    near = _nearest(np.zeros(4), np.zeros(4000), np.random.default_rng(0))
    assert stats.chisquare(np.bincount(near, minlength=4)).pvalue > 0.001


def test_the_kernel_smoother_keeps_a_line() -> None:
    x = np.linspace(0, 1, 500)
    assert abs(_kernel(x, 2 * x, x) - 2 * x).max() < 1e-9


def sample(units: int) -> tuple[np.ndarray[Any, Any], Blurred]:
    random = np.random.default_rng(units)
    x = random.standard_normal(units)
    return x, blur(3 * random.standard_normal(units), np.arange(units), seed=b"y", noise=0.5)


PLOTS: list[Callable[..., Any]] = [numeric_plot, fitted_plot]


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("units", [0, 1, 2, 10, 49])
def test_few_units_give_no_points(plot: Callable[..., Any], units: int) -> None:
    x, blurred = sample(units)
    assert plot(x, blurred, seed=b"y").x.size == plot(x, blurred, seed=b"y").smooth_t.size == 0


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("units", [50, 99, 100, 300, 6000])
def test_points_are_as_many_as_units_up_to_5000_and_within_4(plot: Callable[..., Any], units: int) -> None:
    x, blurred = sample(units)
    made = plot(x, blurred, seed=b"y")
    assert made.x.size == made.t.size == min(units, 5000)
    assert abs(made.t).max() == 4 and abs(blurred.values).max() == 4


@pytest.mark.parametrize("plot", PLOTS)
def test_the_same_seed_gives_the_same_plot_and_row_order_is_no_matter(plot: Callable[..., Any]) -> None:
    x, blurred = sample(500)
    one, two, other = (plot(x, blurred, seed=seed) for seed in (b"y", b"y", b"z"))
    assert (one.x == two.x).all() and (one.t == two.t).all() and (one.x != other.x).any()
    turned = plot(x[::-1], Blurred(blurred.values[::-1], 0.5), seed=b"y")
    assert (turned.x == one.x).all() and (turned.t == one.t).all()


@pytest.mark.parametrize("plot", PLOTS)
def test_a_constant_predictor_keeps_its_residuals(plot: Callable[..., Any]) -> None:
    _, blurred = sample(2000)
    made = plot(np.full(2000, 7.0), blurred, seed=b"y")
    assert (made.x == 7).all() and made.smooth_x.tolist() == [7.0]
    assert stats.ks_2samp(made.t, blurred.values).pvalue > 0.001


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=60), st.sampled_from([50, 120, 400]))
def test_any_finite_predictor_gives_a_finite_plot_within_its_range(values: list[float], units: int) -> None:
    x = np.resize(np.array(values), units)
    blurred = sample(units)[1]
    for plot in PLOTS:
        made = plot(x, blurred, seed=b"y")
        assert np.isfinite(made.t).all() and np.isfinite(made.smooth_t).all()
        assert x.min() <= made.x.min() and made.x.max() <= x.max()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_values_are_a_mistake_that_names_the_argument(bad: float) -> None:
    _, blurred = sample(60)
    x = np.append(np.zeros(59), bad)
    for attempt in (
        lambda: numeric_plot(x, blurred, seed=b"y"),
        lambda: fitted_plot(x, blurred, seed=b"y"),
        lambda: blur(x, np.arange(60), seed=b"y", noise=0.5),
        lambda: flip(x, np.arange(60), seed=b"y", chance=0.1),
        lambda: logistic_plot(x, flip(np.zeros(60), np.arange(60), seed=b"y", chance=0.1), np.zeros(60)),
    ):
        with pytest.raises(Mistake, match="missing or infinite"):
            attempt()


def test_what_does_not_fit_is_a_mistake() -> None:
    x, blurred = sample(60)
    keys = np.arange(60)
    flipped = flip(keys % 2, keys, seed=b"y", chance=0.1)
    for attempt in (
        lambda: numeric_plot(x[1:], blurred, seed=b"y"),
        lambda: numeric_plot(x, blurred, seed=b"y", least=0),
        lambda: blur(x, keys[1:], seed=b"y", noise=0.5),
        lambda: blur(x, keys, seed=b"y", noise=0.0),
        lambda: blur(x, keys, seed=b"y", noise=0.5, scale=0.0),
        lambda: flip(x, keys, seed=b"y", chance=0.1),
        lambda: flip(keys % 2, keys, seed=b"y", chance=0.5),
        lambda: categorical_plot(keys, blurred, ["a"], seed=b"y"),
        lambda: categorical_plot(keys - 1, blurred, [str(k) for k in keys], seed=b"y"),
        lambda: logistic_plot(x, flipped, np.full(60, 2.0)),
        lambda: logistic_plot(x, flipped, np.full(60, 0.5), least=0),
    ):
        with pytest.raises(Mistake):
            attempt()


@pytest.mark.parametrize("units", [0, 1, 2, 10])
def test_boxes_of_few_units_are_suppressed(units: int) -> None:
    plot = categorical_plot(np.zeros(units, dtype=int), sample(units)[1], ["a", "b"], seed=b"y", least=11)
    assert plot.suppressed.all() and np.isnan(plot.median).all()


def test_boxes_are_the_percent_points_of_the_bootstrap() -> None:
    _, blurred = sample(1000)
    places = np.repeat([0, 2, 3], [600, 391, 9])
    plot = categorical_plot(places, blurred, list("abcd"), seed=b"y")
    assert plot.suppressed.tolist() == [False, True, False, True]
    real = np.percentile(blurred.values[:600], [5, 25, 50, 75, 95])
    made = np.array([plot.low[0], plot.quarter[0], plot.median[0], plot.three_quarters[0], plot.high[0]])
    assert abs(made - real).max() < 4 * 3.1 * 1.25 / np.sqrt(600)


@pytest.mark.parametrize(("units", "groups"), [(0, 0), (1, 0), (49, 0), (50, 1), (199, 3), (10_000, 40)])
def test_groups_have_the_least_number_of_units(units: int, groups: int) -> None:
    flipped = flip(np.zeros(units), np.arange(units), seed=b"y", chance=0.1)
    assert logistic_plot(np.arange(float(units)), flipped, np.full(units, 0.1)).x.size == groups


def test_equal_values_stay_in_one_group() -> None:
    x = np.append(np.zeros(700), np.linspace(1, 2, 300))
    plot = logistic_plot(x, flip(x > 0, np.arange(1000), seed=b"y", chance=0.1), np.full(1000, 0.3))
    assert (plot.x == 0).sum() == 1 and plot.x.size > 5


def charts() -> Iterator[dict[str, Any]]:
    x, blurred = sample(300)
    flipped = flip(x > 0, np.arange(300), seed=b"y", chance=0.1)
    yield numeric_chart(numeric_plot(x, blurred, seed=b"y"), name="age")
    yield numeric_chart(numeric_plot(x[:3], Blurred(blurred.values[:3], 0.5), seed=b"y"), name="age")
    yield fitted_chart(fitted_plot(x, blurred, seed=b"y"))
    yield categorical_chart(categorical_plot(np.repeat([0, 1], [295, 5]), blurred, ["a", "b"], seed=b"y"), name="sex")
    yield grouped_chart(logistic_plot(x, flipped, np.full(300, 0.5)), name="age")


@pytest.mark.parametrize("chart", list(charts()), ids=["numeric", "empty", "fitted", "categorical", "grouped"])
def test_charts_speak_fetch_nothing_and_draw_only_fields_they_carry(chart: dict[str, Any]) -> None:
    text = json.dumps(chart, allow_nan=False)
    assert text.count("http") == 1 and '"url"' not in text
    assert chart["title"]["text"] and len(chart["description"]) > 100
    for layer in chart["layer"]:
        fields = {channel["field"] for channel in layer["encoding"].values() if "field" in channel}
        assert all(fields <= row.keys() for row in layer["data"]["values"])


def test_suppressed_classes_carry_a_mark_and_no_box() -> None:
    chart = list(charts())[3]
    values = [layer["data"]["values"] for layer in chart["layer"]]
    assert [row["class"] for row in values[1]] == ["a"]
    assert values[-1] == [{"class": "b", "mark": "[c]", "at": 0}]
