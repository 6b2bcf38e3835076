"""Drop q: the figures of Lucero et al. (2011), section 4, and of the exact enumeration and simulation behind them."""

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.answering.mechanisms.dropq.risk import (
    apparent_probability,
    disclosure_bounds,
    disclosure_probability,
    padding_probability,
)
from confide.errors import Mistake

UNIFORM = [0.25] * 4
SKEWED = [0.45, 0.35, 0.15, 0.05]
VERY_SKEWED = [0.85, 0.10, 0.03, 0.02]

positive_shares = st.lists(st.integers(1, 50), min_size=2, max_size=4).map(lambda c: [x / sum(c) for x in c])


def drops(shares, q):
    """Every drop of q units with its probability."""
    cells = [x for x in product(range(q + 1), repeat=len(shares)) if sum(x) == q]
    return {x: factorial(q) * prod(p**n / factorial(n) for p, n in zip(shares, x, strict=True)) for x in cells}


def enumerated(shares, k, cell):
    """P(the difference is the unit), P(it is a single unit in any cell), by looking at every pair of drops."""
    right = apparent = 0.0
    for q in range(2, k + 1):
        for (x, p), (y, r) in product(drops(shares, q).items(), repeat=2):
            shown = [b - a + (j == cell) for j, (a, b) in enumerate(zip(x, y, strict=True))]
            right += p * r * (x == y) / (k - 1) ** 2
            apparent += p * r * (sorted(shown) == [0] * (len(x) - 1) + [1]) / (k - 1) ** 2
    return right, apparent


@pytest.mark.parametrize(
    ("shares", "figures"),
    [(UNIFORM, [0.0430, 0.0237, 0.0152, 0.0107, 0.0079]), (SKEWED, [0.0771, 0.0435, 0.0284, 0.0201, 0.0150])],
)
def test_formula_5_gives_the_known_figures(shares, figures):
    assert [disclosure_probability(shares, k=k) for k in range(3, 8)] == pytest.approx(figures, abs=5e-5)


@pytest.mark.parametrize("shares", [UNIFORM, SKEWED, VERY_SKEWED])
@pytest.mark.parametrize("k", [3, 4, 5, 6, 7])
def test_simulated_attacks_on_978_units_agree_to_two_decimals(shares, k):
    """Lucero et al., section 4: without replacement, from n = 978 and n - 1 units, q uniform on 2..k; error < .005.

    Given that the numbers dropped are equal (else nothing is disclosed); 100,000 pairs for each q, seed fixed; the
    standard error is below .001.
    """
    rng = np.random.default_rng(978 + k)
    counts = np.round(978 * np.array(shares)).astype(int)
    counts[0] += 978 - counts.sum()
    fewer = counts - np.eye(len(counts), dtype=int)[-1]
    agree = 0.0
    for q in range(2, k + 1):
        first = rng.multivariate_hypergeometric(counts, q, size=100_000)
        second = rng.multivariate_hypergeometric(fewer, q, size=100_000)
        agree += (first == second).all(axis=1).mean()
    assert disclosure_probability(shares, k=k) == pytest.approx(agree / (k - 1) ** 2, abs=0.005)


@given(shares=positive_shares, k=st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_products_of_polynomials_equal_the_enumeration(shares, k):
    right, apparent = enumerated(shares, k, cell=int(np.argmin(shares)))
    assert disclosure_probability(shares, k=k) == pytest.approx(right, abs=1e-12)
    assert apparent_probability(shares, k=k) == pytest.approx((apparent, right / apparent), abs=1e-12)


@given(shares=positive_shares, k=st.integers(2, 3))
@settings(max_examples=25, deadline=None)
def test_the_rarest_cell_is_where_the_intruder_may_trust_most(shares, k):
    trust = [np.divide(*enumerated(shares, k, cell)) for cell in range(len(shares))]
    assert apparent_probability(shares, k=k)[1] == pytest.approx(max(trust), abs=1e-12)


@pytest.mark.parametrize(
    ("shares", "apparent", "correct"),
    [(UNIFORM, 0.0393, 0.388), (SKEWED, 0.0406, 0.698), (VERY_SKEWED, 0.1115, 0.901)],
)
def test_apparent_disclosures_are_as_simulated(shares, apparent, correct):
    """The figures were simulated: they hold to .0002 and .002."""
    ours = apparent_probability(shares, k=5)
    assert ours[0] == pytest.approx(apparent, abs=2e-4)
    assert ours[1] == pytest.approx(correct, abs=2e-3)


@given(shares=positive_shares, k=st.integers(2, 30))
def test_every_table_is_within_the_bounds_of_6(shares, k):
    least, greatest = disclosure_bounds(len(shares), k=k)
    assert least - 1e-12 <= disclosure_probability(shares, k=k) <= greatest + 1e-12


@pytest.mark.parametrize("k", [2, 5, 80])
def test_the_bounds_are_attained(k):
    least, greatest = disclosure_bounds(4, k=k)
    assert disclosure_probability(UNIFORM, k=k) == least
    assert disclosure_probability([1.0, 0.0, 0.0, 0.0], k=k) == pytest.approx(greatest)
    assert greatest == 1 / (k - 1)


@pytest.mark.parametrize(("pad", "figure"), [(978, 0.053), (9_780, 0.53), (97_800, 0.93)])
def test_padding_defeats_plain_drop_q(pad, figure):
    ours = padding_probability(UNIFORM, n=978, pad=pad, k=5)
    assert ours == pytest.approx(figure, abs=0.005)
    untouched = np.mean([(pad / (pad + 978)) ** q for q in range(2, 6)]) ** 2
    assert ours > untouched


def test_without_pad_padding_changes_nothing():
    assert padding_probability(SKEWED, n=978, pad=0, k=5) == pytest.approx(disclosure_probability(SKEWED, k=5))


def test_a_thousand_cells_and_fifty_drops_are_finite_and_small():
    """The printed sum has 10^86 terms here."""
    assert 0 < disclosure_probability([0.001] * 1000, k=50) < 1e-6


@pytest.mark.parametrize(
    "call",
    [
        lambda: disclosure_probability([0.5, 0.6], k=3),
        lambda: disclosure_probability([1.5, -0.5], k=3),
        lambda: disclosure_probability([float("nan"), 0.5], k=3),
        lambda: disclosure_probability([], k=3),
        lambda: disclosure_probability(UNIFORM, k=1),
        lambda: disclosure_probability(UNIFORM, k=81),
        lambda: disclosure_bounds(0, k=3),
        lambda: apparent_probability([0.2], k=3),
        lambda: padding_probability(UNIFORM, n=0, pad=1, k=3),
    ],
)
def test_wrong_parameters_are_mistakes_that_say_what_to_do(call):
    with pytest.raises(Mistake) as caught:
        call()
    assert caught.value.suggestions
