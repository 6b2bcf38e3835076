"""Regressions: admitted, fitted from sums, judged, rounded and released."""

from collections.abc import Iterator, Sequence
from typing import Any

from confide.answering.analysis import Admitted, Near, ReleaseFacts
from confide.answering.diagnostics.diagnose import diagnose
from confide.answering.mechanisms.safe.base import Base
from confide.answering.notes import design_notes, model_notes
from confide.answering.regressions.absorbed import absorbed, left_out
from confide.answering.regressions.contrasts import contrasts
from confide.answering.regressions.covariance import covariance_grid
from confide.answering.regressions.effects import effects_grid
from confide.answering.regressions.grids import grids
from confide.answering.regressions.judged import JudgedRegression, Sums
from confide.answering.regressions.nearby import near_models
from confide.answering.regressions.nested import comparison_grid, deviance_grid, smaller_models, told_ratios
from confide.answering.regressions.several.grids import several_grids, several_notes
from confide.answering.regressions.several.judged import JudgedSeveral
from confide.answering.rules.models import MODEL_RULES
from confide.answering.rules.rule import Rule, Stage, Verdicts
from confide.answering.rules.universe import UNIVERSE_RULES
from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.errors import Reason
from confide.model.admission.cross import cross_of
from confide.model.admission.regression import admit_regression, check_hierarchy, saturated
from confide.model.catalog.dataset import Dataset
from confide.model.choices import Extra
from confide.model.model_release import Grid, ModelRelease
from confide.model.policy import Policy
from confide.model.request import Family, RegressionRequest

__all__ = ["RegressionAnalysis"]


def _hierarchy(question: Admitted[RegressionRequest], policy: Policy) -> list[Reason]:
    return check_hierarchy(question.request.formula)


def _saturated(question: Admitted[RegressionRequest], policy: Policy) -> list[Reason]:
    formula = question.request.formula
    return saturated(formula, formula.variables, question.dataset)


def _saturated_once_absorbed(model: JudgedRegression, policy: Policy) -> list[Reason]:
    return saturated(model.question.request.formula, model.present, model.question.dataset)


def _interaction(model: JudgedRegression, policy: Policy) -> list[Reason]:
    kept = all(model.levels[name].kept for names in model.crossed for name in names)
    words = "An interaction has too few units in some of its cells."
    return [] if kept else [Reason("models.interaction", words)]


def _sampled(model: JudgedRegression, policy: Policy) -> list[Reason]:
    words = "Errors by the design would rest on too few sampling units."
    return [Reason("models.design", words)] if model.rests_on_few_clusters else []


def _nested(model: JudgedRegression, policy: Policy) -> list[Reason]:
    """Every rule on models is asked about each model within; one reason for all, so that it tells nothing of the data."""
    for smaller in smaller_models(model):
        verdicts = Verdicts([rule for rule in (*FORMULA_RULES, *MODEL_RULES) if rule.concerns(policy)], policy)
        if not (verdicts.passes(smaller.question, [Stage.SHAPE]) and verdicts.passes(smaller, _ON_MODELS)):
            return [_NOT_COMPARED]
    return [_NOT_COMPARED] if None in told_ratios(model) else []


_NOT_COMPARED = Reason("models.nested", "A model within this one, which the comparison would tell, is refused.")


_ON_MODELS = tuple(stage for stage in Stage if Stage.CELLS <= stage < Stage.NESTED)

NESTED = Rule(
    "models.nested",
    "Every model within it that is compared with it could be asked for by itself.",
    "a comparison with a smaller model, or a table of deviance, that tells of a model which would be refused",
    {Stage.NESTED: _nested},
)


FORMULA_RULES = (
    Rule(
        "models.hierarchy",
        "Every interaction has its parts in the model too.",
        "an interaction without its parts: `a:b` wants `a + b`",
        {Stage.SHAPE: _hierarchy},
    ),
    Rule(
        "models.saturated",
        "Its classes do not all interact.",
        "a model in which all classes interact, whatever numbers stand beside them: their part of it is a table; with "
        "`tables.cross` that table is judged instead",
        {Stage.SHAPE: _saturated, Stage.ABSORBED: _saturated_once_absorbed},
        lambda policy: not policy.tables.cross,
    ),
    Rule(
        "models.interaction",
        "Every cell of an interaction has no unit or at least {models.interaction}.",
        "a model with an interaction that has too few units in some of its cells",
        {Stage.INTERACTIONS: _interaction},
    ),
    Rule(
        "models.design",
        "Errors by the design rest on sampling units that leave {models.leverage_units} degrees of freedom, and one for each column.",
        'a model with `errors="design"` whose units are of too few sampling units: these less their strata must be as many as '
        "`models.leverage_units`, and as the columns",
        {Stage.INFLUENCE: _sampled},
    ),
)


class RegressionAnalysis:
    """Promise: models are fitted to the universe less its dropped units, judged on protected numbers, and rounded."""

    kind = RegressionRequest
    rules: Sequence[Rule] = (*UNIVERSE_RULES, *FORMULA_RULES, *MODEL_RULES, NESTED)

    def admit(self, request: RegressionRequest, dataset: Dataset) -> RegressionRequest:
        return admit_regression(request, dataset)

    def cross(self, question: Admitted[RegressionRequest]) -> list[tuple[str, ...]]:
        """Term by term: its classes and the response's, with the universe. Not all predictors at once: no coefficient
        tells their joint table."""
        formula, dataset = question.request.formula, question.dataset
        shared = [*question.request.outcome, *question.universe.variables]
        terms = ([f.variable for f in term if not dataset.variables[f.variable].measurable] for term in formula.terms)
        crosses = dict.fromkeys(cross_of([*shared, *classes], dataset) for classes in terms)
        return [cross for cross in crosses if cross]

    def gather(self, question: Admitted[RegressionRequest], selection: Selection, shield: Shield) -> Sums:
        return Sums(selection, shield)

    def protect(self, question: Admitted[RegressionRequest], evidence: Sums, shield: Shield) -> JudgedRegression:
        kind = JudgedSeveral if question.request.family.several else JudgedRegression
        return kind(question, evidence)

    def read(self, question: Admitted[RegressionRequest], base: Base, shield: Shield) -> None:
        return None

    def release(
        self,
        question: Admitted[RegressionRequest],
        protected: JudgedRegression,
        facts: ReleaseFacts,
        *,
        diagnostics: bool,
    ) -> ModelRelease[RegressionRequest]:
        notes = (*model_notes(protected.sums.shield.policy), *absorbed(protected.classes, question))
        notes = (*design_notes(question.request, question.dataset), *notes)
        if isinstance(protected, JudgedSeveral):
            notes = (*several_notes(protected), *notes)
            own = several_grids(protected)
        else:
            own = self._grids(question, protected)
        notes = (*(noisy.words for noisy in protected.noisy_predictors.values()), *notes)
        if protected.noisy is not None:
            notes = (protected.noisy.words(protected.kept), *notes)
        found = {**own, **self._more(question, protected)}
        diagnosed = diagnose(protected) if diagnostics else None
        plots = {grid.name: grid for grid in diagnosed.grids.values()} if diagnosed else {}
        charts = diagnosed.charts if diagnosed else {}
        return ModelRelease(question.request, grids={**found, **plots}, notes=notes, charts=charts, **vars(facts))

    def _grids(self, question: Admitted[RegressionRequest], protected: JudgedRegression) -> dict[str, Grid]:
        compiled = protected.compiled
        chosen = contrasts(compiled, question.request.formula, question.dataset, protected.levels)
        told = chosen.told(protected.inference)
        binomial = question.request.family is Family.BINOMIAL
        return grids(told, labels=chosen.labels, terms=compiled.terms, n=protected.published, binomial=binomial)

    def _more(self, question: Admitted[RegressionRequest], protected: JudgedRegression) -> dict[str, Grid]:
        """What was asked for beside the coefficients."""
        request, n = question.request, protected.published
        found: dict[str, Grid] = {}
        if Extra.DEVIANCE in request.also:
            found["deviance"] = deviance_grid(protected)
        if request.against is not None:
            found["comparison"] = comparison_grid(protected)
        if Extra.EFFECTS in request.also:
            found["effects"] = effects_grid(protected)
        if Extra.COVARIANCE in request.also:
            compiled = protected.compiled
            found["covariance"] = covariance_grid(protected.inference, compiled.design, labels=compiled.labels, n=n)
        return found

    def instead(
        self, question: Admitted[RegressionRequest], protected: JudgedRegression
    ) -> Near[RegressionRequest] | None:
        return left_out(protected.classes, question)

    def near(self, question: Admitted[RegressionRequest]) -> Iterator[Near[Any]]:
        return near_models(question.request, question.dataset)
