"""Attacks that compare tables with and without somebody: they succeed where cells are keyed alone, or not at all."""

import pytest

from confide.attacks.counts.pairs.differencing import Differencing
from confide.attacks.counts.pairs.noise_in_signal import NoiseInSignal
from confide.attacks.counts.pairs.padding import Padding
from confide.attacks.counts.zeros import Zeros
from confide.attacks.runner import Settings, carry_out


def test_a_difference_of_exact_tables_is_the_person(field) -> None:
    result = carry_out(Differencing(), field("open"), Settings(targets=60, questions=20))
    assert result.success == 1.0
    assert result.guess < 0.6


@pytest.mark.parametrize(
    ("attack", "questions", "least"), [(Differencing(), 75, 0.8), (Padding(), 140, 0.8), (NoiseInSignal(), 210, 0.8)]
)
def test_pairs_read_the_class_where_cells_are_keyed_alone(field, attack, questions, least) -> None:
    # With 60 targets a success of 0.9 has a standard error of 0.04; guessing reaches less than 0.55.
    result = carry_out(attack, field("tablebuilder"), Settings(targets=60, questions=questions))
    assert result.claimed == result.targets > 40
    assert result.success > least
    assert result.lift > 0.25
    assert result.others is not None and result.others < 0.3


def test_zeros_leave_one_class_where_they_are_true(field) -> None:
    result = carry_out(Zeros(), field("open"), Settings(targets=60, questions=20))
    assert result.success > 0.95
    assert result.lift > 0.3


def test_moved_zeros_leave_the_claims_right_but_fewer(field) -> None:
    # A count of 1 becomes 0 with probability 2/3, the same for ever: a third of the targets show.
    result = carry_out(Zeros(), field("tablebuilder"), Settings(targets=60, questions=45))
    assert result.precision > 0.9
    assert 0.15 < result.claim_rate < 0.6
