"""Bounds of unknown cross-products: the ellipsoid, the semidefinite programs, and that they agree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.answering.frontier.bounds import bounds, semidefinite
from confide.answering.frontier.reconstruction import ReconstructedRegression, reconstruct, regress
from confide.errors import Mistake

seeds = st.integers(0, 10_000)


def in_correlations(matrix, like):
    scale = np.sqrt(np.diag(like))
    return matrix / np.outer(scale, scale)


def released(cross, models, **options):
    return reconstruct(
        [regress(cross, response=a, predictors=b, **options) for a, b in models], variances=np.diag(cross)
    )


def contains(limits, cross, slack=1e-7):
    low, high, truth = (in_correlations(m, cross) for m in (limits.low, limits.high, cross))
    return np.all(low - slack <= truth) and np.all(truth <= high + slack)


@pytest.mark.parametrize("variables", [4, 7, 11])
def test_ellipsoid_and_semidefinite_programs_agree_to_the_5e_10_of_formulas_section_6(cross_products, variables):
    cross = cross_products(variables)
    rest = tuple(range(2, variables))
    found = released(cross, [(1, rest), (0, rest[1:])])
    ours, programs = bounds(found), semidefinite(found)
    assert np.count_nonzero(~found.known) == 4
    for a, b in [(ours.low, programs.low), (ours.high, programs.high)]:
        assert np.max(np.abs(in_correlations(a - b, cross))) < 5e-10
    assert contains(ours, cross)


def test_a_chain_of_three_has_the_textbook_bounds():
    """r02 lies within r01 r12 ± √((1 - r01²)(1 - r12²))."""
    limits = semidefinite(released(np.array([[1, 0.5, 0], [0.5, 1, 0.3], [0, 0.3, 1]]), [(0, (1,)), (1, (2,))]))
    reach = np.sqrt((1 - 0.25) * (1 - 0.09))
    assert limits.low[0, 2] == pytest.approx(0.15 - reach) and limits.high[0, 2] == pytest.approx(0.15 + reach)


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_patterns_that_are_no_strip_hold_the_truth_and_can_be_completed_at_both_ends(cross_products, seed):
    cross = cross_products(5, seed=seed)
    found = released(cross, [(0, (1, 2)), (2, (3, 4))])
    limits = bounds(found)
    assert contains(limits, cross)
    scaled = in_correlations(cross, cross)
    for end in (limits.low, limits.high):
        one = scaled[np.ix_([0, 2, 3], [0, 2, 3])].copy()
        one[0, 2] = one[2, 0] = in_correlations(end, cross)[0, 3]
        assert abs(np.linalg.eigvalsh(one)[0]) < 1e-6  # the end lies on the edge of what 0, 2 and 3 allow


def test_equations_that_determine_no_element_still_narrow_the_bounds(cross_products):
    cross = cross_products(4)
    tied = released(cross, [(0, (1, 2, 3))], coefficients_only=True)
    assert not tied.exact.any()
    limits = bounds(tied)
    width = in_correlations(limits.high - limits.low, cross)[np.triu_indices(4, 1)]
    assert contains(limits, cross) and np.all(width < 2) and np.any(width < 1.5)


def test_a_strip_whose_elements_are_tied_is_narrower_than_its_ellipsoid():
    """0 adds nothing to 1 and 2 in explaining 3, so that the coefficients tie r01, r02 and r03 and determine none."""
    scaled = np.array([[1, 0.3, 0.2, 0], [0.3, 1, 0.4, 0.6], [0.2, 0.4, 1, 0.5], [0, 0.6, 0.5, 1]])
    slopes = np.linalg.solve(scaled[1:3, 1:3], scaled[1:3, 3])
    scaled[0, 3] = scaled[3, 0] = slopes @ scaled[0, 1:3]
    among = regress(scaled, response=1, predictors=(2, 3))
    tie = ReconstructedRegression(3, (0, 1, 2), np.array([0.0, *slopes]))
    loose, tied = (bounds(reconstruct(r, variances=np.ones(4))) for r in ([among], [among, tie]))
    assert contains(tied, scaled)
    np.testing.assert_allclose(loose.high[0, 3], 1)
    largest = np.sqrt(slopes @ scaled[1:3, 1:3] @ slopes)  # of slopes' (r01, r02) over all that is possible
    assert tied.high[0, 3] == pytest.approx(largest, abs=1e-7) and largest < 0.8


def test_everything_known_and_nothing_known(cross_products):
    cross = cross_products(4)
    known = bounds(released(cross, [(0, (1, 2, 3))]))
    np.testing.assert_allclose(known.low, cross)
    np.testing.assert_allclose(known.high, cross)
    nothing = bounds(reconstruct([], variances=np.diag(cross)))
    edges = np.sqrt(np.outer(np.diag(cross), np.diag(cross)))
    np.testing.assert_allclose(nothing.high, edges, rtol=1e-7)
    np.testing.assert_allclose(nothing.low, 2 * np.diag(np.diag(cross)) - edges, rtol=1e-7)


def test_near_collinear_variables_still_get_bounds(cross_products):
    cross = cross_products(8, strength=30)
    found = released(cross, [(0, tuple(range(1, 8)))], coefficients_only=True)
    assert contains(bounds(found), cross, slack=1e-5)


def test_regressions_that_no_records_can_have_are_a_mistake():
    slopes = [
        ReconstructedRegression(0, (1,), np.array([0.9])),
        ReconstructedRegression(1, (2,), np.array([0.9])),
        ReconstructedRegression(0, (2,), np.array([-0.9])),
    ]
    with pytest.raises(Mistake, match="No records"):
        bounds(reconstruct(slopes, variances=np.ones(5)))
