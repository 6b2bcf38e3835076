"""D1, D2 and M1 against sites that they break."""

from collections.abc import Callable

import numpy as np
import pytest

from confide.attacks.reconstruction.drop_padding import FARTHEST, DropPadding, gains
from confide.attacks.reconstruction.least_error import least_error
from confide.attacks.reconstruction.lp_reconstruction import LinearPrograms
from confide.attacks.reconstruction.membership import MembershipGuess, expected_counts
from confide.attacks.runner import LocalField, Settings, carry_out

Field = Callable[..., LocalField]


def test_linear_programs_read_classes_through_cell_keys(field: Field) -> None:
    result = carry_out(LinearPrograms(), field("tablebuilder"), Settings(targets=20, questions=64))
    assert result.claimed == 20
    assert result.success > 0.6
    assert result.lift > 0.25


def test_pads_read_classes_through_drops(field: Field) -> None:
    result = carry_out(DropPadding(), field("census-mas"), Settings(targets=20, questions=90))
    assert result.success > 0.7
    assert result.lift > 0.3


def test_exact_counts_tell_who_is_in_the_data(field: Field) -> None:
    result = carry_out(MembershipGuess(), field("open"), Settings(targets=60, questions=90))
    assert result.success > 0.8


def test_least_error_finds_bits_behind_noise_below_half() -> None:
    rng = np.random.default_rng(3)
    bits = (rng.random((4, 12)) < 0.5).astype(float)
    asked = rng.random((60, 12)) < 0.5
    answers = bits @ asked.T + rng.uniform(-0.3, 0.3, (4, 60))
    assert (least_error(asked, answers, np.ones((4, 12))).round() == bits).all()


def test_least_error_keeps_to_the_bounds() -> None:
    found = least_error(np.eye(2, dtype=bool), np.array([[5.0, -5.0]]), np.array([[1.0, np.inf]]))
    assert found.tolist() == [[1.0, 0.0]]


def test_expected_counts_reproduce_the_margins() -> None:
    counts = np.random.default_rng(1).poisson(9, (3, 4, 2)).astype(float)
    whole = counts
    for axis in range(3):
        whole = np.concatenate([whole, whole.sum(axis=axis, keepdims=True)], axis=axis)
    fitted = expected_counts(whole)
    assert fitted.sum() == pytest.approx(counts.sum())
    assert fitted.sum(axis=2) == pytest.approx(counts.sum(axis=2))
    assert fitted.sum(axis=0) == pytest.approx(counts.sum(axis=0), rel=1e-2)


def test_gains_are_differences_and_say_when_nothing_is_seen() -> None:
    first, second = np.array([5.0, 4.0, 0.0, 9.0, np.nan]), np.array([4.0, 5.0, 0.0, 0.0, 1.0])
    assert (gains(first, second) - FARTHEST).tolist() == [1, -1, FARTHEST + 1, FARTHEST, FARTHEST + 1]
