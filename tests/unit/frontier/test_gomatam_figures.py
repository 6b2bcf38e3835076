"""The shape of Figures 1 to 4 of Gomatam et al. (2004), on generated data of the kind the paper describes."""

import numpy as np
import pytest

from confide.answering.frontier.frontier import evaluate


@pytest.fixture(scope="session")
def first(data_set_1, setting_of):
    return setting_of(data_set_1())


@pytest.fixture(scope="session")
def second(data_set_2, setting_of):
    return setting_of(data_set_2())


def of(setting, risk, utility):
    return evaluate(setting, risk=risk, utility=utility).proper()


def correlation(a, b):
    return float(np.corrcoef(a, b)[0, 1])


@pytest.mark.parametrize("utility", ["rsq", "rsqwt"])
@pytest.mark.parametrize("risk", ["residual", "predicted", "attained"])
def test_figure_1_utility_generally_increases_with_risk_and_dimension_matters_little(first, risk, utility):
    found = of(first, risk, utility)
    assert len(found.risk) == 510
    assert correlation(found.risk, found.utility) > 0.7
    assert abs(correlation(found.volume, found.risk)) < 0.5


@pytest.mark.parametrize("utility", ["rsq", "rsqwt"])
@pytest.mark.parametrize("risk", ["residual", "predicted", "attained"])
def test_figure_2_releases_without_x1_x2_x3_lie_in_the_corner_of_low_risk_and_low_utility(first, risk, utility):
    found = of(first, risk, utility)
    strong = found.free[:, :3].any(axis=1)
    assert np.count_nonzero(~strong) == 63
    assert found.risk[~strong].max() < found.risk[strong].min()
    assert found.utility[~strong].max() < 0.1 * found.utility[strong].min()


@pytest.mark.parametrize("utility", ["rsq", "rsqwt"])
@pytest.mark.parametrize("risk", ["residual", "attained"])
def test_figure_3_every_dimension_raises_risk_and_utility(second, risk, utility):
    found = of(second, risk, utility)
    for measure in (found.risk, found.utility):
        means = [measure[found.volume == m].mean() for m in range(1, 9)]
        assert np.all(np.diff(means) > 0)


def test_figure_3_cannot_hold_for_r_pred_which_falls_with_every_dimension(second):
    """The paper says that more predictors raise all measures; by its own equation (14) they lower R_pred here."""
    found = of(second, "predicted", "rsq")
    means = [found.risk[found.volume == m].mean() for m in range(1, 9)]
    assert np.all(np.diff(means) < 0)
    assert correlation(found.risk, found.utility) < -0.4


def test_figure_4_left_the_threshold_picks_the_paper_s_release(first):
    release = of(first, "residual", "rsq").choose(threshold=0.2)
    assert release.suppressed == ("x1",)


def test_figure_4_right_the_slope_picks_a_release_of_the_same_kind_on_the_frontier(first):
    """The paper's line picks {x1}; here it picks {x1, x7}, where x7 is one of the unrelated variables."""
    found = of(first, "residual", "rsq")
    release = found.choose(slope=1.0)
    assert "x1" in release.suppressed and {"x2", "x3"} <= set(release.free)
    rows = found.frontier()
    assert release.risk in found.risk[rows] and len(rows) < 60
