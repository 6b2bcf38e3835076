"""Rules for models and correlations (Lucero et al. 2011, sec. 3.2; Gomatam et al. 2004, sec. 4.1 and 5), and ours."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from confide.answering.analysis import Admitted
from confide.answering.mechanisms.magnitudes import Magnitudes
from confide.answering.rules.rule import Rule, Stage
from confide.answering.rules.table import BASE, CROSS_RULES, EXCLUSION, SUPPRESSED, JudgedTable, check_base, judge_cells
from confide.errors import Reason
from confide.model.admission.related import check_forms, check_predictors, check_suppressed
from confide.model.policy import Policy
from confide.model.request import CorrelationRequest, RegressionRequest

__all__ = ["MODEL_RULES", "UNFIT", "JudgedModel"]


class JudgedModel(Protocol):
    """A model, or correlations, as rules see them: protected numbers only, each computed when a rule first asks for it.

    Whatever depends on a fit is said in one sentence for all causes, so that a refusal tells nothing of the data.
    """

    implied: str
    """How a table that the numbers tell of is called in a refusal."""

    few_columns: str
    few_units: str

    @property
    def outcomes(self) -> tuple[int, ...] | None:
        """Units in the class of the response and outside it, or in each of several; None if the response is no class."""

    @property
    def implied_tables(self) -> Iterator[JudgedTable]:
        """The tables that the numbers tell of."""

    @property
    def tells_withheld_totals(self) -> bool:
        """Whether totals by class that would be withheld can be worked out."""

    @property
    def varies(self) -> bool:
        """Whether there are columns enough, beside the intercept."""

    @property
    def columns(self) -> int:
        """All columns, the intercept with them."""

    @property
    def units(self) -> int: ...

    @property
    def fitted(self) -> object | None:
        """What could be fitted; None if nothing could."""

    @property
    def rests_on_few(self) -> bool:
        """Whether something in it rests on few units, or is predicted too well. The limits are moved a little by a draw."""


UNFIT = Reason("models.unfit", "The model cannot be fitted to these data, or would tell too much of single units.")
"""One reason for everything that depends on the data, so that it tells nothing of them."""


def _outcomes(model: JudgedModel, policy: Policy) -> Sequence[Reason]:
    outcomes = model.outcomes
    words = "Too few units are in a class of the response, or outside it."
    return [Reason("models.classes", words)] if outcomes and min(outcomes) < policy.models.dummy else []


def _columns(model: JudgedModel, policy: Policy) -> Sequence[Reason]:
    return [] if model.varies else [Reason("models.classes", model.few_columns)]


def _implied(model: JudgedModel, policy: Policy) -> Sequence[Reason]:
    for table in () if policy.tables.cross else model.implied_tables:
        if judge_cells(table, policy):
            first, second = table.by
            return [Reason("models.implied", f"The table of {first!r} by {second!r}{model.implied} is refused.")]
    if model.tells_withheld_totals:
        return [Reason("models.implied", "The totals by class that it implies are withheld.")]
    return []


def _unfitted(model: JudgedModel, policy: Policy) -> Sequence[Reason]:
    return [UNFIT] if model.fitted is None else []


def _units(model: JudgedModel, policy: Policy) -> Sequence[Reason]:
    least = max(policy.models.units, policy.models.units_per_column * model.columns)
    return [Reason("models.units", model.few_units)] if model.units < least else []


def _influence(model: JudgedModel, policy: Policy) -> Sequence[Reason]:
    return [UNFIT] if model.rests_on_few else []


def _predictors(question: Admitted[RegressionRequest | CorrelationRequest], policy: Policy) -> Sequence[Reason]:
    return check_predictors(question.request.predictors, policy)


def _suppressed(question: Admitted[RegressionRequest | CorrelationRequest], policy: Policy) -> Sequence[Reason]:
    return check_suppressed(question.request.related, question.request.where, question.dataset, policy)


def _exclusion(question: Admitted[RegressionRequest | CorrelationRequest], policy: Policy) -> Sequence[Reason]:
    request, dataset = question.request, question.dataset
    return check_forms(request.names, request.classes(dataset), request.where, dataset)


def _base(question: Admitted[RegressionRequest | CorrelationRequest], policy: Policy) -> Sequence[Reason]:
    return check_base(question, question.request.classes(question.dataset), needs=not policy.records.changes)


MODEL_RULES = (
    *CROSS_RULES,
    Rule(
        "models.predictors",
        "There are at most {models.predictors} predictors, or variables of a correlation.",
        "a model or correlation of too many variables",
        {Stage.SHAPE: _predictors},
    ),
    replace(SUPPRESSED, judges={Stage.SHAPE: _suppressed}),
    replace(EXCLUSION, judges={Stage.SHAPE: _exclusion}),
    replace(BASE, judges={Stage.SHAPE: _base}),
    Rule(
        "models.classes",
        "Enough classes, of predictors and response, have at least {models.dummy} units.",
        "a model or correlation in which no variable has two classes with `models.dummy` units, a yes or no whose one outcome "
        "has fewer, or a response of which fewer than two classes (periods: one, by events) have as many",
        {Stage.OUTCOMES: _outcomes, Stage.COLUMNS: _columns},
    ),
    Rule(
        "models.implied",
        "The tables that it implies could be released.",
        "a model or correlation of classes whose two-way table would be refused, or whose totals would be withheld; with "
        "`tables.cross` the tables are judged by the rules on tables",
        {Stage.IMPLIED: _implied},
        lambda policy: not policy.tables.cross or Magnitudes(policy.totals).withholds,
    ),
    Rule(
        "models.units",
        "There are at least {models.units} units, and {models.units_per_column} for each column.",
        "a model or correlation over too few units, or too few for so many columns",
        {Stage.UNITS: _units},
    ),
    Rule(
        "models.unfit",
        "It can be fitted, and nothing in it rests on few units: none has a large leverage or influence, and neither "
        "the whole nor a class is predicted too well.",
        "a model that cannot be fitted, or fits too well, or rests on too few units; one rule for all of these",
        {Stage.FITTED: _unfitted, Stage.INFLUENCE: _influence},
    ),
)
"""Rules that concern models and correlations alike; those on formulas stand with the regressions."""
