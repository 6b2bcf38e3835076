"""A regression on its way from true sums to what may leave: which classes enter, the fit, and what rules see of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from confide.answering.analysis import Admitted
from confide.answering.regressions.attenuation import Attenuation
from confide.answering.regressions.class_counts import ClassCounts, class_counts
from confide.answering.regressions.classes import Classes
from confide.answering.regressions.compile import Compiled, Levels, compile_design
from confide.answering.regressions.design_errors import ColumnUnits, DesignErrors
from confide.answering.regressions.fit import Fitted, StepFunction, Unfit, fit, fit_null, solved
from confide.answering.regressions.inference import Inference, infer
from confide.answering.regressions.misclassification import PUT_RIGHT, NoisyClasses, Stretch, noisy_classes
from confide.answering.regressions.noisy_predictor import NoisyPredictor, noisy_predictor
from confide.answering.regressions.scaling import original_units
from confide.answering.regressions.sums import Sums
from confide.answering.rules.table import JudgedTable
from confide.answering.universe.census import UnitSets
from confide.arrays import Bools, Floats
from confide.model.admission.regression import label
from confide.model.design import Design, Duration, Indicator, Number
from confide.model.evidence import Moments, Spread, Step
from confide.model.formula import Factor
from confide.model.request import RegressionRequest

__all__ = ["FittedModel", "JudgedRegression", "Sums", "response_name"]


@dataclass(frozen=True)
class FittedModel:
    """A model as it was fitted; exact, so it stays inside."""

    question: Step
    fitted: Fitted
    spread: Spread
    inference: Inference
    sizes: Floats
    """For each column the protected by the true number of its units; 1 where counts are as they are."""


@dataclass(frozen=True)
class JudgedRegression:
    """What rules see of a regression, and what its release and its diagnostics are made of."""

    question: Admitted[RegressionRequest]
    sums: Sums
    whole: "JudgedRegression | None" = None
    """The model that this one is a part of: it has the classes and the records of that one."""
    smaller: dict[str, "JudgedRegression"] = field(default_factory=dict, compare=False)
    """Models within this one by their formulas, each fitted once."""

    implied = " that it implies"
    few_columns = "No predictor has two classes with enough units."
    few_units = "There are too few units for a model with so many columns."

    @cached_property
    def classes(self) -> Classes:
        return Classes(self.question, self.sums, self.whole.classes.complete if self.whole else ())

    @property
    def outcomes(self) -> tuple[int, ...] | None:
        response = self.question.request.formula.response
        if not response.codes:
            return None
        counts = self.sums.counts([response.variable], complete=self.classes.complete)
        inside = int(counts[self.classes.places].sum())
        return inside, int(counts[-1]) - inside

    @property
    def levels(self) -> Mapping[str, Levels]:
        """Which classes have dummies."""
        return {name: self.whole.levels[name] for name in self._classes} if self.whole else self.classes.levels

    @property
    def crossed(self) -> list[list[str]]:
        return self.classes.crossed

    @property
    def present(self) -> list[str]:
        """The predictors that have columns."""
        names = self.question.request.formula.variables
        return [name for name in names if name not in self.levels or self.levels[name].kept]

    @property
    def implied_tables(self) -> Iterator[JudgedTable]:
        """A model tells the two-way tables of its classes, whatever else is in it: these must be tables one could ask for."""
        named = [*self._classes, *self.question.request.outcome]
        yield from (self.sums.table(pair, complete=self.classes.complete) for pair in combinations(named, 2))

    @property
    def tells_withheld_totals(self) -> bool:
        """Those of the response by a class, or by classes that interact: a covariate's means come from another model."""
        response = self.question.request.formula.response
        if self.question.request.outcome:
            return False
        crosses = [*([name] for name in self._classes), *self.crossed]
        return any(self._withholds(names, response.variable) for names in crosses)

    @cached_property
    def compiled(self) -> Compiled:
        compiled = compile_design(self.question.request.formula, self.question.dataset, self.levels)
        return compiled if self.whole is None else replace(compiled, design=self._complete(compiled.design, self.whole))

    @staticmethod
    def _complete(design: Design, whole: "JudgedRegression") -> Design:
        """The design with the numbers of the whole model, which its records have all."""
        own = {(number.variable, number.transform) for number in design.numbers}
        more = [number for number in whole.compiled.design.numbers if (number.variable, number.transform) not in own]
        return replace(design, numbers=(*design.numbers, *more))

    @property
    def inference(self) -> Inference:
        return self._model.inference

    @cached_property
    def design_errors(self) -> DesignErrors | None:
        """How errors are found, if they are by the design of the sample."""
        return DesignErrors(self.sums.selection, self.sums.shield) if self.question.request.by_design else None

    @property
    def rests_on_few_clusters(self) -> bool:
        """Whether its errors are by the design, and of too few sampling units. The limit is moved a little by a draw."""
        if self.design_errors is None:
            return False
        least = max(self.sums.shield.policy.models.leverage_units, self.columns)
        leeway = self.sums.leeway("\x1fdesign", self._model.fitted.moments)[0]
        return self.design_errors.found(self._model.spread) < least * leeway

    @property
    def varies(self) -> bool:
        return len(self.compiled.design.blocks) > 1

    @property
    def columns(self) -> int:
        return self.compiled.design.columns

    @cached_property
    def fitted(self) -> FittedModel | None:
        selection, family, design = self.sums.selection, self.question.request.family, self.design_errors
        question = selection.step(self.compiled.design, family)
        facts = selection.facts
        try:
            attenuation = Attenuation(question.design, facts.noise)
            counts = class_counts(self.compiled.design, selection, self.sums.shield)
            plain = fit(self._step(counts), question)
            fitted = solved(plain, attenuation.corrected(plain.moments)) if attenuation.shrinks else plain
            clusters = design.variances.clusters if design else 0
            at = replace(question, beta=tuple(fitted.beta.tolist()), clusters=clusters)
            spread = selection.spread(at, plain.inverse)
            # engines want no class without a block, and the intercept has none
            alone = replace(question, design=replace(question.design, classes=()))
            null = fit_null(selection.moments, alone) if family == "poisson" else None
            by_design = design.spread(fitted, spread, self._units_of_columns) if design else spread
            scaled, inner, null = _normalised(fitted, by_design, null)
            robust, noise = facts.weighted or facts.several or attenuation.shrinks, None
            if counts is not None:
                weight = fitted.moments.records / fitted.moments.weight
                scaled, inner, noise = counts.inferred(scaled, inner, weight=weight)
            freedom = design.freedom if design else None
            inference = infer(scaled, inner, question, robust=robust, null=null, noise=noise, freedom=freedom)
        except Unfit:
            return None
        sizes = np.ones(self.columns) if counts is None else counts.size
        fitted, inference = self._put_right(fitted, inference)
        return FittedModel(question, fitted, spread, inference, sizes)

    @cached_property
    def noisy(self) -> NoisyClasses | None:
        """The bins of a number that carries noise, if the response is made of these."""
        response, dataset = self.compiled.design.response, self.question.dataset
        if isinstance(response, Number):
            return None
        codes = dataset.variables[response.variable].codes or ()
        inside = (
            [int(place in response.places) for place in range(len(codes))] if isinstance(response, Indicator) else []
        )
        levels = inside if isinstance(response, Indicator) else response.levels
        facts, rules = self.sums.selection.facts, self.sums.shield.policy.records
        return noisy_classes(
            response.variable, levels, dataset, facts.noise, rules, lasting=isinstance(response, Duration)
        )

    @cached_property
    def noisy_predictors(self) -> dict[str, NoisyPredictor]:
        """The predictors that are classes of a number that carries noise."""
        complete = self.classes.complete
        named = [(name, self.levels[name]) for name in self.present if name in self.levels]
        found = {name: noisy_predictor(name, levels, self.sums, complete=complete) for name, levels in named}
        terms = self.question.request.formula.terms
        crossed = {factor.variable for term in terms if len(term) > 1 for factor in term}
        return {
            name: replace(noisy, apart=None) if name in crossed else noisy
            for name, noisy in found.items()
            if noisy is not None
        }

    @cached_property
    def kept(self) -> Floats:
        """What noise of the classes of the response leaves of each slope."""
        if self.noisy is None:
            return np.ones(self.columns - self.levels_alone)
        return self._kept(self.noisy, self._noisy_counts(self.noisy.name))

    def _noisy_counts(self, name: str) -> Floats:
        """The protected counts by the bins of the number behind the response."""
        return self.sums.published_counts(name, complete=self.classes.complete)

    def _kept(self, noisy: NoisyClasses, counts: Floats) -> Floats:
        return np.repeat(noisy.kept(counts, ordered=False), self.columns - self.levels_alone)

    def _put_right(self, fitted: Fitted, inference: Inference) -> tuple[Fitted, Inference]:
        """The same without what noise drew slopes towards 0 by; by classes of predictors as told only: residuals are of the fit."""
        if self.noisy_predictors:
            drawn = Stretch(self._of_coefficients(self._apart()))
            inference = drawn.inferred(inference, self.back, share=PUT_RIGHT)
        if self.noisy is None:
            return fitted, inference
        stretch = Stretch.of(self.kept, self.levels_alone, fitted.moments.gram)
        return replace(fitted, beta=stretch.matrix @ fitted.beta), stretch.inferred(inference, self.back)

    def _apart(self) -> Floats:
        """The matrix on the columns of the design that tells classes of noisy numbers apart as true ones would be."""
        design, matrix = self.compiled.design, np.eye(self.compiled.design.columns)
        for block in design.blocks:
            name = design.classes[block.classes[0][0]] if block.alone else ""
            apart = self.noisy_predictors[name].apart if name in self.noisy_predictors else None
            if apart is not None:
                columns = block.offset + np.arange(block.width)
                matrix[np.ix_(np.append(0, columns), columns)] = apart
        return matrix

    def _of_coefficients(self, matrix: Floats) -> Floats:
        """The matrix on coefficients of what a matrix does to the columns of the design."""
        return matrix

    @property
    def _units_of_columns(self) -> UnitSets:
        return ColumnUnits(self.compiled.design, self.sums.selection).having()

    def _step(self, counts: ClassCounts | None) -> StepFunction:
        """The sums of a step of the fit, with the protected counts of classes in a model of a yes or no."""

        def step(question: Step) -> Moments:
            moments = self.sums.selection.moments(question)
            return moments if counts is None else counts.step(moments, question)

        return step

    @property
    def units(self) -> int:
        return self.sums.judged(self._model.fitted.moments)

    @property
    def published(self) -> int:
        """The protected number of units."""
        return self.sums.published(self._model.fitted.moments)

    @property
    def rests_on_few(self) -> bool:
        """Each limit is moved a little by a draw of the model and its records, so none tells a number."""
        rules, model = self.sums.shield.policy.models, self._model
        leeway = self.sums.leeway("|".join(sorted(self.compiled.labels)), model.fitted.moments)
        spread = model.spread
        few = spread.leverage * leeway[0] > 1 / rules.leverage_units or spread.influence * leeway[1] > rules.influence
        tight = 1 - model.inference.r_squared < (1 - rules.r_squared) * leeway[2]
        return few or tight or _too_well(spread, rules.class_fit**2 * leeway[3])

    @property
    def constraint(self) -> Floats:
        """The matrix from coefficients to the columns of every linear predictor, one after the other."""
        return np.eye(self.columns)

    @property
    def back(self) -> Floats:
        """The matrix that takes coefficients to those of numbers not shifted nor scaled."""
        return original_units(self.compiled.design)[2]

    @property
    def shared(self) -> list[tuple[int, str]]:
        """Which of the `shares` are of which class of the response, in the order of these; none where there is one share only."""
        return []

    def shares(self, coefficients: Floats) -> tuple[Floats, Floats]:
        """The mean shares that a model of classes gives at coefficients, and how these move with them (a row for each share).

        With coefficients b the score is gram b + sum w x (y - mu), so its first entry tells the mean of mu; and the first row of
        the gram is sum w mu (1 - mu) x.
        """
        sums = self.sums.selection.moments(replace(self._model.question, beta=tuple(coefficients.tolist())))
        fitted = sums.response - (sums.score[:1] - sums.gram[:1] @ coefficients)
        return fitted / sums.weight, sums.gram[:1] / sums.weight

    @property
    def levels_alone(self) -> int:
        """The columns of a model without predictors."""
        return 1

    def likelihood_ratio(self, smaller: "JudgedRegression | None") -> float | None:
        """Against a model with some of its columns, or with none but levels; None if it cannot be had.

        A difference of deviances is that of classes of their protected sizes: with the true ones, a class whose share stands out
        would tell its size to a fraction of a unit. What protected sizes make of it is what they make of Wald's chi-square of the
        same columns, which is the same in large classes: that is known for protected and true sizes.
        """
        model, inference = self._model, self.inference
        before = inference.null_deviance if smaller is None else smaller.inference.deviance
        added = ~self._shared_with(smaller)
        root = np.sqrt(model.sizes)
        beta, inverse = model.fitted.beta[added], model.fitted.inverse
        moved = inverse / np.outer(root, root)
        true, protected = (
            beta @ np.linalg.pinv(one[np.ix_(added, added)], hermitian=True) @ beta for one in (inverse, moved)
        )
        taken = (before - inference.deviance) / model.sizes[0]
        return float(taken * protected / true) if true > 0 else 0.0

    def _shared_with(self, smaller: "JudgedRegression | None") -> Bools:
        """Which columns of the design a smaller model has, too."""
        labels = self.compiled.labels
        return np.isin(labels, labels[:1] if smaller is None else smaller.compiled.labels)

    @property
    def response(self) -> str:
        """The response as a person reads it."""
        return response_name(self.question.request.formula.response)

    @property
    def _model(self) -> FittedModel:
        assert self.fitted is not None
        return self.fitted

    @property
    def _classes(self) -> list[str]:
        return self.classes.names

    def _withholds(self, names: Sequence[str], of: str) -> bool:
        """Whether some total of a response by classes would be withheld, were it asked for.

        Judged on a draw of its own: on that of the published total, a refusal would tell of its noise.
        """
        shield = self.sums.shield
        if not shield.totals.withholds:
            return False
        cube = self.sums.selection.cube(names, of=of, weighted=True, top=shield.totals.contributors)
        units = shield.decision.units(cube.sets)
        withheld = shield.totals.protect(cube, f"decide {of}", shield.draws, units=units, scale=0).withheld
        return bool((withheld & (units >= shield.policy.models.dummy)).any())


def response_name(factor: Factor) -> str:
    """What is explained, as a person reads it: the variable, and which of its classes."""
    return label([factor]) + (f"={' or '.join(factor.codes)}" if factor.codes else "")


def _too_well(spread: Spread, share: float) -> bool:
    """Whether some class is predicted much better than the rest."""
    for fits in spread.fits:
        squares, weights = fits[:, 0], fits[:, 1]
        occupied = weights > 0
        overall = squares.sum() / max(weights.sum(), 1e-300)
        if (squares[occupied] / weights[occupied] < share * overall).any():
            return True
    return False


def _normalised(fitted: Fitted, spread: Spread, null: Fitted | None) -> tuple[Fitted, Spread, Fitted | None]:
    """The same with weights of mean 1, so that sums of squares, sigma and deviances are on the scale of the records."""
    k = fitted.moments.records / fitted.moments.weight
    squares = tuple(fits * k for fits in spread.fits)
    spread = replace(spread, meat=spread.meat * k * k, squares=spread.squares * k, fits=squares)
    return _scaled(fitted, k), spread, None if null is None else _scaled(null, k)


def _scaled(fitted: Fitted, k: float) -> Fitted:
    sums = ("gram", "score", "square", "deviance", "weight", "response", "response_square")
    moments = replace(fitted.moments, **{name: getattr(fitted.moments, name) * k for name in sums})
    return replace(fitted, moments=moments, inverse=fitted.inverse / k)
