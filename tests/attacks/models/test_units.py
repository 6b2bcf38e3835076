"""Attacks on the numbers of single people succeed where nothing protects them, and say so where something does."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from confide.attacks.attack import Attack
from confide.attacks.models.artificial_outlier import ArtificialOutlier
from confide.attacks.models.boxes import BoxesInModels
from confide.attacks.models.influence import Influence
from confide.attacks.models.known_vectors import KnownVectors
from confide.attacks.models.numbers import Reading, best_claim
from confide.attacks.models.residual_plots import ResidualPlots
from confide.attacks.models.strategic_dummy import StrategicDummy
from confide.attacks.runner import LocalField, Settings, carry_out
from confide.model.policy import Policy

Field = Callable[..., LocalField]
Unweighted = Callable[[Policy], LocalField]


def test_boxes_read_most_incomes_of_an_open_site(field: Field) -> None:
    result = carry_out(BoxesInModels(), field("open"), Settings(targets=15, questions=60))
    assert result.success > 0.6
    assert max(result.guess, result.others or 0) < 0.4


@pytest.mark.parametrize(
    ("attack", "least"), [(ArtificialOutlier(), 0.3), (StrategicDummy(), 0.35), (Influence(), 0.8)]
)
def test_without_rules_on_models_single_people_are_read(
    attack: Attack, least: float, unweighted: Unweighted, lax: Policy
) -> None:
    result = carry_out(attack, unweighted(lax), Settings(targets=30, questions=80))
    assert result.success >= least
    assert result.lift > 0.2


@pytest.mark.parametrize("attack", [ArtificialOutlier(), StrategicDummy(), Influence()])
def test_models_that_rest_on_one_person_are_refused(attack: Attack, field: Field) -> None:
    result = carry_out(attack, field("drop-q"), Settings(targets=5, questions=30))
    assert result.claimed == 0
    assert result.refusals > 0


def test_correlations_with_all_their_decimals_give_a_number(
    unweighted: Unweighted, lax: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No policy has more decimals, so the site is given them."""
    monkeypatch.setattr("confide.answering.correlations.correlate.to_error", lambda exact, errors, digits: exact)
    monkeypatch.setattr("confide.answering.regressions.grids.digits", lambda n: 12)
    result = carry_out(KnownVectors(), unweighted(lax), Settings(targets=30, questions=80))
    assert result.success > 0.8


class _AsTheyAre:
    """The density of a plot that draws the true values themselves."""

    def __init__(self, values: Any, *, least: int) -> None:
        self.values = values

    def draw(self, random: np.random.Generator, size: int) -> Any:
        return self.values[:size]


def test_true_residuals_give_a_number(field: Field, lax: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    """No policy has plots of true residuals, so the site is given them."""
    monkeypatch.setattr("confide.answering.diagnostics.synthetic.density", _AsTheyAre)
    monkeypatch.setattr("confide.answering.diagnostics.diagnose.NOISE", 1e-9)
    result = carry_out(ResidualPlots(), field(lax), Settings(targets=15, questions=45))
    assert result.success > 0.6


def test_synthetic_residuals_give_none(field: Field) -> None:
    result = carry_out(ResidualPlots(), field("standard"), Settings(targets=10, questions=30))
    assert result.lift <= 0.1


def test_readings_on_three_scales_point_to_the_value_behind_them() -> None:
    """A class of 30 with mean 20,000 (spread a half) and a target of 50,000, all readings rounded to a hundredth."""
    scales = {"log": np.log, "sqrt": np.sqrt, "": float}
    readings = [
        Reading(name, round((of(50_000.0) - of(20_000.0)) / 30, 6), 1e-4 * of(20_000.0), 30, of(20_000.0), of(10_000.0))
        for name, of in scales.items()
    ]
    value, belief = best_claim(readings)
    assert value == pytest.approx(50_000, rel=0.1)
    assert belief > 0.6
