"""Every attack on totals finds what it is after where nothing, or too little, protects it."""

from dataclasses import replace

import numpy as np
import pytest

from confide.attacks.claims import UnitTargets
from confide.attacks.runner import Settings, carry_out
from confide.attacks.totals.mean_and_count import MeanAndCount
from confide.attacks.totals.mean_and_deviation import MeanAndDeviation
from confide.attacks.totals.rival import Rival
from confide.attacks.totals.subset_totals import SubsetTotals
from confide.attacks.totals.withheld_totals import WithheldTotals
from confide.attacks.totals.without_largest import WithoutLargest
from confide.model.policy import Policy, preset_policy

ROWS = 20_000


def noise_alone() -> Policy:
    """Noise in totals, and no rule that withholds or refuses: what averaging is up against."""
    opened = preset_policy("open")
    return replace(opened, totals=replace(opened.totals, mechanism="ma", beta=0.03))


@pytest.mark.parametrize("attack", [WithoutLargest(), MeanAndCount()])
def test_differences_are_contributions_where_totals_are_exact(field, attack) -> None:
    result = carry_out(attack, field("open", rows=ROWS, name="firms"), Settings(targets=20))
    assert result.targets >= 4
    assert result.success == 1
    assert result.lift > 0.2


def test_squares_tell_the_largest_where_deviations_are_exact_and_not_by_default(field) -> None:
    """Deviations of few, or with all their digits, would be as good as totals. Bounds were set after seeing a precision of 1
    without protection and a lift of -0.14 under `standard`, where differences of totals have the same."""
    settings = Settings(targets=20)
    exact = carry_out(MeanAndDeviation(), field("open", rows=ROWS, name="firms"), settings)
    assert exact.claimed >= 3 and exact.precision > 0.7
    protected = carry_out(MeanAndDeviation(), field("standard", rows=ROWS, name="firms"), settings)
    others = carry_out(WithoutLargest(), field("standard", rows=ROWS, name="firms"), settings)
    assert protected.lift <= max(others.lift, 0.1)


def test_noise_stops_one_difference_but_not_all_subsets(field) -> None:
    site = field(noise_alone(), rows=ROWS, name="firms")
    once, often = (
        carry_out(attack, site, Settings(targets=20, questions=70)) for attack in (WithoutLargest(), SubsetTotals())
    )
    assert often.success >= 0.8
    assert often.success >= once.success
    assert often.questions > once.questions == 2


def test_a_rival_reads_cells_of_two_where_totals_are_exact(field) -> None:
    result = carry_out(Rival(), field("open", rows=ROWS, name="firms"), Settings(targets=400))
    assert result.claimed > 40
    assert result.precision > 0.4
    assert result.lift > 0.05


def test_a_rival_knows_the_second_largest_contribution(field) -> None:
    truth = field("open", rows=ROWS, name="firms").truth
    wanted = UnitTargets(("region", "legal_form"), "turnover", number=True, weighted=True, rival=True)
    chosen = truth.choose(wanted, 5, np.random.default_rng(1))
    amounts = truth.numbers("turnover") * truth.weights
    for target in range(5):
        inside = np.ones(len(amounts), bool)
        for key, places in chosen.known.places.items():
            inside &= truth.places(key) == places[target]
        units, of = np.unique(truth.units[inside], return_inverse=True)
        sums = np.bincount(of, amounts[inside])
        assert units[sums.argmax()] == chosen.units[target]
        assert np.allclose(np.sort(sums)[-2:], [chosen.known.own[target], chosen.truth[target]])


def test_withheld_totals_follow_from_models_where_models_are_not_judged(field, monkeypatch) -> None:
    """Totals are withheld and noisy as in `drop-q`, universes are free and models may rest on few.

    Among 20,000 most classes are small and their coefficients coarsely rounded. 0.45 was measured, against 0.9 in
    `drop-q` with 100,000: the bounds were set after that, and guard against regression only.
    """
    monkeypatch.setattr("confide.answering.regressions.judged.JudgedRegression.tells_withheld_totals", False)
    opened = preset_policy("open")
    free = replace(opened.models, units=0, dummy=1, leverage_units=1, influence=1.0, r_squared=1.0, class_fit=0.0)
    policy = replace(opened, totals=preset_policy("drop-q").totals, models=free)
    settings = Settings(questions=120, secret="exports")
    result = carry_out(WithheldTotals(), field(policy, rows=ROWS, name="firms"), settings)
    assert result.targets >= 10
    assert result.success > 0.35
    assert result.lift > 0.25
