"""Attacks that read facts about sets out of models, plots and correlations."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from confide.attacks.attack import Attack
from confide.attacks.models.covariate_switch import CovariateSwitch
from confide.attacks.models.cross_products import CrossProducts
from confide.attacks.models.dummy_correlations import DummyCorrelations
from confide.attacks.models.dummy_ranks import DummyRanks
from confide.attacks.models.logistic_counts import LogisticCounts
from confide.attacks.models.plot_sizes import PlotSizes
from confide.attacks.models.precision import Precision
from confide.attacks.models.several_counts import SeveralCounts
from confide.attacks.runner import LocalField, Settings, carry_out
from confide.model.policy import Policy

Field = Callable[..., LocalField]


@pytest.mark.parametrize(
    ("attack", "least"),
    [
        (CovariateSwitch(), 0.9),
        (DummyCorrelations(), 0.8),
        (Precision(), 0.8),
        (PlotSizes(keys=("age",)), 0.95),
    ],
)
def test_an_open_site_tells_facts_about_sets(attack: Attack, least: float, field: Field) -> None:
    result = carry_out(attack, field("open"), Settings(questions=60))
    assert result.claimed > 5
    assert result.success >= least


def test_rank_correlations_of_indicators_are_a_table_where_counts_are_not_protected(two_a_county: Field) -> None:
    result = carry_out(DummyRanks(("marital", "region")), two_a_county("open"), Settings(questions=60))
    assert result.claimed == 20
    assert result.success > 0.8


def test_rank_correlations_of_indicators_tell_no_more_than_the_table(two_a_county: Field) -> None:
    result = carry_out(DummyRanks(("marital", "region")), two_a_county("standard"), Settings(questions=60))
    assert result.claimed == 20
    assert result.lift < 0.15


def test_logits_tell_no_more_than_the_cell_keys_let(field: Field) -> None:
    """Against `tablebuilder`: classes have the protected counts of the table, so the counts that follow are those."""
    result = carry_out(LogisticCounts(secret="income"), field("tablebuilder"), Settings(questions=60))
    assert result.claimed > 30
    assert result.success < result.guess + 0.1 < 0.5


@pytest.mark.parametrize(("family", "least"), [("multinomial", 0.6), ("ordered", 0.1)])
def test_models_of_several_classes_tell_counts_where_these_are_not_protected(
    family: str, least: float, field: Field
) -> None:
    """Only a multinomial model is a table; rows of an ordered one are off by as much as odds are not proportional."""
    attack = SeveralCounts(secret="income", families=(family,))
    result = carry_out(attack, field("open"), Settings(questions=60))
    assert result.claimed > 10
    assert result.success > least


@pytest.mark.parametrize("family", ["multinomial", "ordered", "survival"])
def test_models_of_several_classes_tell_no_more_than_the_cell_keys_let(family: str, field: Field) -> None:
    """The records of the model are calibrated to the protected counts of the table, so the counts that follow are those."""
    attack = SeveralCounts(secret="income", families=(family,))
    result = carry_out(attack, field("tablebuilder"), Settings(questions=60))
    assert result.claimed > 5
    assert result.success <= result.guess + 0.15


def test_what_must_not_be_related_is_worked_out_by_way_of_other_numbers(field: Field, lax: Policy) -> None:
    """The attack asks for nothing that the policy suppresses, so that nothing is refused for it."""
    frontier = replace(lax.models, sensitive="income", suppressed=("occupation",))
    result = carry_out(CrossProducts(), field(replace(lax, models=frontier)), Settings(questions=60))
    assert "models.suppressed" not in result.rules
    assert result.success > 0.8
    assert result.lift > 0.5
