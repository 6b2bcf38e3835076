"""Attacks on errors by the design: they succeed where errors carry no noise, and not where they do."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from confide.attacks.attack import Attack
from confide.attacks.counts.quantile_errors import QuantileErrorCounts
from confide.attacks.counts.sampling_units import SamplingUnitCounts
from confide.attacks.models.sampling_unit_classes import SamplingUnitClasses
from confide.attacks.models.sampling_unit_means import SamplingUnitMeans
from confide.attacks.runner import LocalField, Settings, carry_out
from confide.attacks.totals.sampling_unit_totals import SamplingUnitTotals
from confide.attacks.two_areas import two_areas

Field = Callable[[str], LocalField]

ATTACKS: list[tuple[Attack, float]] = [
    (SamplingUnitCounts(("age_group", "sex")), 0.6),
    (QuantileErrorCounts(), 0.4),
    (SamplingUnitMeans(), 0.9),
    (SamplingUnitTotals(), 0.7),
    (SamplingUnitClasses(), 0.9),
    (SamplingUnitClasses(family="multinomial"), 0.9),
]
OF_HOMES: list[tuple[Attack, float]] = [
    (SamplingUnitCounts(), 0.9),
    (QuantileErrorCounts(), 0.6),
    (SamplingUnitMeans(), 0.9),
    (SamplingUnitTotals(), 0.5),
    (SamplingUnitClasses(), 0.9),
]


@pytest.mark.parametrize(("attack", "least"), ATTACKS)
def test_errors_without_noise_tell_of_sampling_units(attack: Attack, least: float, two_a_county: Field) -> None:
    result = carry_out(attack, two_a_county("open"), Settings(questions=60))
    assert result.claimed > 30
    assert result.success > least


@pytest.mark.parametrize("attack", [attack for attack, _ in ATTACKS])
def test_errors_with_noise_tell_no_more_than_tables_by_sampling_unit(attack: Attack, two_a_county: Field) -> None:
    result = carry_out(attack, two_a_county("standard"), Settings(questions=60))
    assert result.claimed > 30
    # two standard errors of a share of so many; the lifts were -0.03, -0.3, -0.05, -0.03 and 0
    assert result.lift < 2 * (0.25 / result.targets) ** 0.5


@pytest.mark.parametrize(("attack", "least"), OF_HOMES)
def test_errors_of_households_tell_of_sampling_units_without_noise_alone(
    attack: Attack, least: float, homes_two_a_county: Field
) -> None:
    exact, noisy = (
        carry_out(attack, homes_two_a_county(preset), Settings(questions=100)) for preset in ("open", "standard")
    )
    assert min(exact.claimed, noisy.claimed) > 30
    assert exact.success > least
    # two standard errors; the lifts were -0.04, -0.63, 0.03, 0 and 0.01
    assert noisy.lift < 2 * (0.25 / noisy.targets) ** 0.5


def test_without_areas_or_a_design_there_is_nothing_to_tell(
    field: Callable[[str], LocalField], two_a_county: Field
) -> None:
    for attack, _ in ATTACKS:
        assert not carry_out(attack, field("standard"), Settings(questions=3)).applies
    book = two_a_county("standard").truth.dataset
    assert two_areas(book).area == "district"
    assert len(two_areas(book).pairs) == 20
    assert two_areas(replace(book, variables=book.variables)).stratum == "county"
