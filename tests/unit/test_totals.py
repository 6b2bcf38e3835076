"""Noise for totals: the figures of Ma et al. (2016), its Tables 2 and 3, and the promises of both methods."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.tables.perturbation.total_noise import Ma, Thompson

DRAWS = 400_000
CELL_1 = (30, 30, 30, 10, 5, 5)
CELL_2 = (25, 25, 25, 25, 1, 1, 1)
CELL_3 = (60, 20, 20, 15, 15, 10, 10, 10, 10)
BOTH = [Ma(beta=0.1), Thompson()]


def simulated(method, contributors, seed):
    """Draw the noise of one cell many times."""
    top = np.zeros(method.draws)
    top[: len(contributors)] = contributors[: method.draws]
    uniforms = np.random.default_rng(seed).random((DRAWS, method.draws))
    return method.noise(
        np.full(DRAWS, float(sum(contributors))),
        np.full(DRAWS, len(contributors)),
        np.broadcast_to(top, (DRAWS, method.draws)),
        uniforms,
    )


def risk(method, contributors, alpha):
    top = np.zeros((1, 4))
    top[0, : len(contributors[:4])] = contributors[:4]
    return method.risk(np.array([float(sum(contributors))]), np.array([len(contributors)]), top, alpha=alpha)[0]


def simulated_risk(method, contributors, alpha, seed):
    noise, without = simulated(method, contributors, seed), simulated(method, contributors[1:], seed + 1)
    return np.mean(np.abs(noise - without) <= alpha * contributors[0])


def standard_error(chance):
    return np.sqrt(max(chance * (1 - chance), 1 / DRAWS) / DRAWS)


@pytest.mark.parametrize(
    ("method", "contributors", "paper_loss", "paper_risk"),
    [
        (Ma(0.1), CELL_1, 0.10, 0.065),
        (Ma(0.1), CELL_2, 0.10, 0.114),
        (Ma(0.15), CELL_3, 0.15, 0.131),
        (Thompson(), CELL_1, 0.124, 0.094),
        (Thompson(), CELL_2, 0.109, 0.120),
        (Thompson(), CELL_3, 0.141, 0.095),
    ],
)
def test_losses_and_risks_of_section_5_2_of_the_paper(method, contributors, paper_loss, paper_risk):
    """The paper's Thompson figures are simulated; they differ from the exact ones by up to 0.25 points."""
    loss = np.abs(simulated(method, contributors, 1)).mean() / sum(contributors)
    within = 0.0006 if isinstance(method, Ma) else 0.0026
    assert loss == pytest.approx(paper_loss, abs=within)
    assert risk(method, contributors, 0.11) == pytest.approx(paper_risk, abs=within)


@pytest.mark.parametrize(
    ("method", "contributors", "loss", "chance"),
    [(Thompson(), CELL_1, 0.123, 0.096), (Thompson(), CELL_2, 0.1095, 0.121), (Thompson(), CELL_3, 0.141, 0.094)],
)
def test_losses_and_risks_of_thompson_as_we_measured_them(method, contributors, loss, chance):
    assert np.abs(simulated(method, contributors, 2)).mean() / sum(contributors) == pytest.approx(loss, abs=5e-4)
    assert risk(method, contributors, 0.11) == pytest.approx(chance, abs=5e-4)


def test_the_risk_of_cell_1_under_ma_is_18_in_275():
    assert risk(Ma(0.1), CELL_1, 0.11) == pytest.approx(18 / 275, rel=1e-12)


@pytest.mark.parametrize("half_width", [0.05, 0.3, 1.0])
def test_the_risk_of_a_lone_contributor_under_thompson_is_the_triangular_distribution(half_width):
    method = Thompson((0.5,), half_width)
    for alpha in np.linspace(0.01, 1.1, 40):
        share = np.clip((alpha / 0.5 - 1 + half_width) / (2 * half_width), 0, 1)
        exact = 2 * share**2 if share < 0.5 else 1 - 2 * (1 - share) ** 2
        assert risk(method, (40,), alpha) == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("alpha", [0.02, 0.11, 0.4, 1.5])
@pytest.mark.parametrize("contributors", [CELL_1, CELL_2, CELL_3, (7,), (9, 1), (50, 3, 2), (1,) * 40])
@pytest.mark.parametrize(
    "method",
    [Ma(0.02), Ma(0.1), Ma(0.5), Thompson(), Thompson((0.5,), 1.0), Thompson((0.15, 0.1, 0.1), 0.05)],
    ids=str,
)
def test_risks_agree_with_simulated_attacks(method, contributors, alpha):
    expected = risk(method, contributors, alpha)
    found = simulated_risk(method, contributors, alpha, seed=len(contributors))
    assert abs(found - expected) < 4.5 * standard_error(expected) + 1e-5


def tables_2_and_3(even, total, y, beta, alpha):
    """Give the risk as printed in Table 3, or nan where none of its conditions holds."""
    lam, one, near = total * beta, (total - y) * beta, alpha * y
    if not y < min(lam / (1.5 * beta + alpha), lam / (2 * alpha)):
        return np.nan
    square = 0.125 * (lam - one) ** 2 + 0.5 * near**2
    c11 = alpha * y**2 * beta
    c12 = square + 0.5 * near * (lam - one)
    c13 = 1.125 * (lam - one) ** 2 + 1.5 * near * (one - lam) + 0.5 * near**2
    c21 = near * one
    c22 = -0.5 * near**2 - one * near + 3 * lam * one - 2 * one**2 - 1.125 * lam**2 + 1.5 * lam * near
    c23 = 3 * alpha * y**2 * beta
    c24 = square + 0.5 * near * (one - lam)
    c25 = 0.75 * lam * one + 0.5 * near * one - 0.875 * one**2
    c26 = 1.125 * (lam - one) ** 2 + 1.5 * near * (lam - one) + 0.5 * near**2
    column = 0 if beta >= 2 * alpha else 1 if beta > alpha / 1.5 else 2
    if even:
        row = (c11, c12, c12 + c13)
    elif y < lam / (4 * beta + 2 * alpha):
        row = (c23, c24 + c23, c24 + c26)
    elif column < 2 and y > lam / (4 * beta - 2 * alpha):
        row = (c21, c24 + c21)
    else:
        row = (c22, c24 + c22, c24 + c25)
    return row[column] / (2 * lam * one)


def test_tables_2_and_3_of_the_paper_hold_under_their_conditions():
    generator = np.random.default_rng(5)
    seen = 0
    for beta, alpha, share in generator.uniform([0.01, 0.01, 0.01], [0.5, 0.5, 0.95], (5000, 3)):
        for units in (6, 7):
            printed = tables_2_and_3(units == 6, 100.0, 100 * share, beta, alpha)
            if not np.isnan(printed):
                ours = Ma(beta).risk(np.array([100.0]), np.array([units]), np.array([[100 * share]]), alpha=alpha)
                assert ours[0] == pytest.approx(printed, abs=1e-12)
                seen += 1
    assert seen > 3000


@pytest.mark.parametrize("units", [6, 7])
def test_ma_noise_has_mean_zero_mean_size_beta_and_its_bounds(units):
    noise = simulated(Ma(0.1), (100 / units,) * units, 3) / 100
    assert abs(noise.mean()) < 4 * noise.std() / np.sqrt(DRAWS)
    assert np.abs(noise).mean() == pytest.approx(0.1, abs=4 * 0.08 / np.sqrt(DRAWS))
    size = np.abs(noise) / 0.1
    assert size.max() <= 2
    between = (size >= 0.5) & (size < 1.5)
    assert between.all() if units == 7 else not between.any()


def test_the_spread_of_ma_is_the_root_mean_variance_of_its_two_branches():
    even, odd = simulated(Ma(0.1), (20,) * 6, 4) / 120, simulated(Ma(0.1), (20,) * 7, 4) / 140
    found = np.sqrt((even.var() + odd.var()) / 2)
    assert Ma(0.1).spread(np.array([1.0, -1.0]), np.ones((2, 1))) == pytest.approx(found, rel=4 / np.sqrt(DRAWS))


def test_thompson_noise_has_mean_zero_its_variance_and_its_bounds():
    noise = simulated(Thompson(), CELL_3, 6)
    shares = np.array([0.4 * 60, 0.3 * 20, 0.2 * 20])
    assert abs(noise.mean()) < 4 * noise.std() / np.sqrt(DRAWS)
    assert noise.var() == pytest.approx((1 + 0.3**2 / 6) * (shares**2).sum(), rel=6 / np.sqrt(DRAWS))
    assert np.abs(noise).max() <= 1.3 * shares.sum()


@given(st.lists(st.floats(0.1, 100), min_size=3, max_size=6), st.permutations([0.4, 0.3, 0.25]))
def test_the_spread_of_thompson_is_its_own_to_one_of_three_steps_a_decade(contributors, magnitudes):
    top = np.sort(contributors)[::-1][:3]
    truth = np.sqrt((1 + 0.3**2 / 6) * ((np.array(magnitudes) * top) ** 2).sum())
    stated = Thompson(tuple(magnitudes)).spread(np.array([sum(contributors)]), top[None, :])[0]
    assert 1 / 1.6 < stated / truth < 1.6
    assert min(abs(stated / 10.0 ** np.floor(np.log10(stated * 1.001)) - np.array([1, 2, 5]))) < 1e-9


@pytest.mark.parametrize("contributors", [(50,), (*CELL_3,), (30,) * 2000], ids=["one", "few", "many"])
def test_the_spread_of_thompson_is_that_of_its_noise_in_simulation(contributors):
    """Within the factor sqrt(2.5) of a step; of 2,000 alike it is 0.03 % of the total, where the policy alone would say 40 %."""
    noise = simulated(Thompson(), contributors, 7)
    top = np.array([[*contributors[:3], *[0.0] * (3 - len(contributors[:3]))]])
    stated = Thompson().spread(np.array([float(sum(contributors))]), top)[0]
    assert abs(np.log(stated / noise.std())) < np.log(np.sqrt(2.5)) + 4 / np.sqrt(DRAWS)


def test_one_contributor_is_not_told_by_the_spread_of_thompson():
    sizes = np.linspace(60, 110, 51)
    stated = Thompson().spread(sizes, np.column_stack([sizes, 0 * sizes, 0 * sizes]))
    assert len(set(stated[:15])) == 1 and len(set(stated)) == 2


@given(st.floats(-1e12, 1e12), st.integers(0, 9), st.floats(0, 1, exclude_max=True), st.floats(0.001, 0.5))
def test_ma_noise_never_passes_twice_beta_times_the_total(total, units, uniform, beta):
    noise = Ma(beta).noise(np.array([total]), np.array([units]), np.zeros((1, 1)), np.array([[uniform]]))
    assert np.abs(noise[0]) <= 2 * beta * abs(total) * (1 + 1e-12)


@given(
    st.sampled_from([*BOTH, Ma(0.5), Thompson((0.2, 0.6), 0.9)]),
    st.lists(st.floats(0, 1e6), min_size=1, max_size=6),
    st.floats(1e-3, 10),
    st.floats(1e-6, 1e6),
)
def test_risk_is_a_chance_that_grows_with_alpha_and_ignores_the_unit_of_money(method, contributors, alpha, unit):
    contributors = sorted(contributors, reverse=True)
    assume(contributors[0] == 0 or contributors[0] > 1e-200)
    chance = risk(method, contributors, alpha)
    assert 0 <= chance <= 1
    assert risk(method, contributors, 2 * alpha) >= chance - 2e-5
    assert risk(method, [unit * y for y in contributors], alpha) == pytest.approx(chance, abs=1e-6)


@pytest.mark.parametrize("rest", [1e-3, 1e-9, 1e-14, 0.0])
def test_the_closed_form_is_stable_as_the_rest_of_a_dominated_cell_vanishes(rest):
    """Alone, a contributor of 1 has noise on +-U(.05, .15) or, even, +-U(0, .05) and +-U(.15, .2)."""
    odd, even = (
        Ma(0.1).risk(np.array([1 + rest]), np.array([units]), np.array([[1.0]]), alpha=0.11)[0] for units in (1, 2)
    )
    assert odd == pytest.approx(0.6, abs=3 * rest + 1e-12)
    assert even == pytest.approx(0.5, abs=3 * rest + 1e-12)


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_nobody_is_at_risk_in_an_empty_cell_and_a_zero_is_found_for_sure(method):
    assert method.risk(np.zeros(2), np.array([0, 3]), np.zeros((2, 4)), alpha=0.11).tolist() == [0, 1]


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_the_same_uniforms_give_the_same_noise_cell_by_cell(method):
    generator = np.random.default_rng(8)
    total, units, uniforms = generator.normal(0, 50, 40), generator.integers(1, 9, 40), generator.random((40, 3))
    top = np.sort(generator.random((40, 4)))[:, ::-1]
    together = method.noise(total, units, top, uniforms)
    alone = [method.noise(*(a[i : i + 1] for a in (total, units, top, uniforms)))[0] for i in range(40)]
    assert together.tolist() == alone
    risks = method.risk(np.abs(total), units, top, alpha=0.2)
    one = [method.risk(*(a[i : i + 1] for a in (np.abs(total), units, top)), alpha=0.2)[0] for i in range(40)]
    assert risks == pytest.approx(one, abs=1e-12)


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_a_table_of_no_cells_has_no_noise_and_no_risk(method):
    nothing, nobody = np.zeros(0), np.zeros(0, dtype=np.int64)
    assert method.noise(nothing, nobody, np.zeros((0, 4)), np.zeros((0, 3))).shape == (0,)
    assert method.risk(nothing, nobody, np.zeros((0, 4)), alpha=0.1).shape == (0,)
    assert method.spread(nothing, np.zeros((0, 4))).shape == (0,)


def test_risks_of_more_cells_than_one_pass_holds_are_those_of_each():
    tops = np.tile([[30.0, 30, 30, 10]], (1300, 1))
    tops[700] = [60, 20, 20, 15]
    chances = Thompson().risk(tops.sum(axis=1), np.full(1300, 6), tops, alpha=0.11)
    assert chances[[0, 600, 1299]] == pytest.approx(risk(Thompson(), CELL_1, 0.11))
    assert chances[700] == pytest.approx(risk(Thompson(), CELL_3, 0.11))


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Ma(0),
        lambda: Ma(0.51),
        lambda: Ma(float("nan")),
        lambda: Thompson(()),
        lambda: Thompson((0.4, 0.0)),
        lambda: Thompson((float("inf"),)),
        lambda: Thompson(half_width=0),
        lambda: Thompson(half_width=1.1),
        lambda: risk(Ma(0.1), CELL_1, 0),
        lambda: risk(Thompson(), CELL_1, float("inf")),
        lambda: Thompson().noise(np.ones(1), np.ones(1, dtype=int), np.ones((1, 2)), np.zeros((1, 3))),
        lambda: Thompson().noise(np.ones(1), np.ones(1, dtype=int), np.ones((1, 3)), np.zeros((1, 2))),
        lambda: Thompson().risk(np.ones(1), np.ones(1, dtype=int), np.ones((1, 3)), alpha=0.1),
    ],
)
def test_parameters_out_of_range_are_mistakes(bad):
    with pytest.raises(Mistake, match="Give"):
        bad()
