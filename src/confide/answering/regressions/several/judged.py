"""A model of several classes on its way from true sums to what may leave."""

from dataclasses import replace
from functools import cached_property
from itertools import count

import numpy as np

from confide.answering.regressions.attenuation import Attenuation
from confide.answering.regressions.compile import Compiled
from confide.answering.regressions.design_errors import ColumnUnits
from confide.answering.regressions.fit import Fitted, Unfit, fit, solved
from confide.answering.regressions.inference import PERFECT, Inference, sandwich, wald
from confide.answering.regressions.judged import FittedModel, JudgedRegression
from confide.answering.regressions.misclassification import NoisyClasses
from confide.answering.regressions.several.calibration import Calibration, calibrated
from confide.answering.regressions.several.explained import Explained
from confide.answering.regressions.several.predictors import LinearPredictors
from confide.answering.regressions.several.shares import MeanShares, mean_shares, periods
from confide.answering.universe.census import UnitSets
from confide.arrays import Bools, Floats
from confide.model.design import Duration
from confide.model.evidence import Moments, Spread, Step
from confide.model.request import Family

__all__ = ["JudgedSeveral"]


class JudgedSeveral(JudgedRegression):
    """What rules see of a model with several linear predictors, and what its release is made of."""

    @property
    def explained(self) -> Explained:
        return self.classes.explained

    @property
    def outcomes(self) -> tuple[int, ...]:
        return self.explained.units

    @cached_property
    def compiled(self) -> Compiled:
        plain = super().compiled
        return replace(plain, design=replace(plain.design, response=self.explained.response))

    @cached_property
    def predictors(self) -> LinearPredictors:
        return LinearPredictors(self.question.request.family, self.compiled.design)

    @property
    def columns(self) -> int:
        return sum(self.predictors.widths)

    @cached_property
    def calibration(self) -> Calibration:
        return calibrated(self.compiled.design, self.explained, self.sums.selection, self.sums.shield)

    @cached_property
    def fitted(self) -> FittedModel | None:
        if not self.explained.enough:
            return None
        calibration = self.calibration
        rows = tuple(map(tuple, calibration.rows.tolist())) if calibration.rows.any() else ()
        question = replace(
            self.sums.selection.step(self.compiled.design, self.question.request.family), calibration=rows
        )
        try:
            return self._fitted(question, calibration)
        except Unfit:
            return None

    @property
    def constraint(self) -> Floats:
        return self.predictors.constraint

    @property
    def back(self) -> Floats:
        return self.predictors.of(super().back)

    def _of_coefficients(self, matrix: Floats) -> Floats:
        return self.predictors.of(matrix)

    @property
    def shared(self) -> list[tuple[int, str]]:
        if self.predictors.family is Family.SURVIVAL:
            return []
        codes = self.explained.variable.codes
        assert codes is not None
        return [
            (level, codes.names[place]) for place, level in sorted(zip(self.explained.places, count(), strict=False))
        ]

    def shares(self, coefficients: Floats) -> MeanShares:
        at = replace(self._model.question, beta=tuple(coefficients.tolist()))
        return mean_shares(at, self.calibration, self.sums.selection)

    @property
    def levels_alone(self) -> int:
        return self.predictors.many

    def likelihood_ratio(self, smaller: JudgedRegression | None) -> float | None:
        """Both models are fitted to the calibrated records of this one, so that it is a ratio of likelihoods of the same counts,
        all of them protected; and the same whatever larger model this one is told within."""
        shared = tuple(self._shared_with(smaller).tolist())
        if shared not in self._ratios:
            self._ratios[shared] = self._ratio(np.array([shared[column] for _, column in self.predictors.places]))
        return self._ratios[shared]

    @cached_property
    def _ratios(self) -> dict[tuple[bool, ...], float | None]:
        """Ratios by the columns of the smaller model, each worked out once."""
        return {}

    def _ratio(self, free: Bools) -> float | None:
        sums = self._model.fitted.moments
        try:
            before = self._fit(self._model.question, free).moments.deviance
        except Unfit:
            return None
        return float((before - sums.deviance) * sums.response / sums.weight)

    def _fit(self, question: Step, free: Bools) -> Fitted:
        """The coefficients of greatest likelihood, those that are not `free` being 0."""
        start = np.array(self._start(self.calibration))[free]

        def step(asked: Step) -> Moments:
            beta = np.zeros(len(free))
            beta[free] = np.array(asked.beta) if asked.beta else start
            moments = self._constrained(self._moments(question, beta))
            return replace(moments, gram=moments.gram[np.ix_(free, free)], score=moments.score[free])

        return fit(step, question)

    def _fitted(self, question: Step, calibration: Calibration) -> FittedModel:
        facts, constraint = self.sums.selection.facts, self.predictors.constraint
        fitted = self._fit(question, np.ones(self.columns, bool))
        attenuation = Attenuation(question.design, facts.noise)
        if attenuation.shrinks:
            fitted = self._corrected(fitted, question, attenuation)
        clusters = self.design_errors.variances.clusters if self.design_errors else 0
        at = replace(question, beta=tuple((constraint @ fitted.beta).tolist()), clusters=clusters)
        spread = self.sums.selection.spread(at, constraint @ fitted.inverse @ constraint.T)
        robust = facts.weighted or facts.several or attenuation.shrinks
        inference = self._inferred(fitted, spread, calibration, robust=robust)
        fitted, inference = self._put_right(fitted, inference)
        return FittedModel(question, fitted, spread, inference, np.ones(self.columns))

    def _kept(self, noisy: NoisyClasses, counts: Floats) -> Floats:
        family, many = self.predictors.family, self.predictors.many
        kept = noisy.kept(counts, ordered=family is Family.ORDERED)
        return np.array([kept[k if family is Family.MULTINOMIAL else 0] for k, _ in self.predictors.places[many:]])

    def _noisy_counts(self, name: str) -> Floats:
        """Of durations in two columns: those of each bin it did not happen to, and those it did."""
        response = self.explained.response
        if not isinstance(response, Duration):
            return super()._noisy_counts(name)
        found = self.sums.published_counts(name, response.event, complete=self.classes.complete)
        happened = np.isin(np.arange(found.shape[1]), response.places)
        return np.stack([found[:, ~happened].sum(axis=1), found[:, happened].sum(axis=1)], axis=1)

    def _moments(self, question: Step, beta: Floats) -> Moments:
        full = tuple((self.predictors.constraint @ beta).tolist())
        return self.sums.selection.moments(replace(question, beta=full))

    def _constrained(self, moments: Moments) -> Moments:
        """The sums by coefficients of the model, from those by columns of every predictor."""
        c = self.predictors.constraint
        return replace(moments, gram=c.T @ moments.gram @ c, score=c.T @ moments.score)

    def _corrected(self, fitted: Fitted, question: Step, attenuation: Attenuation) -> Fitted:
        """One step from the end of the fit, with the noise of numbers taken from the gram: `attenuation` says why."""
        moments, many, p = self._moments(question, fitted.beta), self.predictors.many, question.design.columns
        gram = moments.gram.reshape(many, p, many, p).copy()
        for k in range(many):
            for j in range(many):
                gram[k, :, j] = attenuation.gram(gram[k, :, j])
        return solved(fitted, self._constrained(replace(moments, gram=gram.reshape(many * p, many * p))))

    def _start(self, calibration: Calibration) -> list[float]:
        """The coefficients without predictors: those of the shares of all."""
        whole = np.maximum(calibration.wanted[:, 0], 1e-300)
        if self.predictors.family is Family.MULTINOMIAL:
            levels = np.log(whole[1:] / whole[0])
        elif self.predictors.family is Family.ORDERED:
            below = np.cumsum(whole)[:-1]
            levels = np.log(below / (whole.sum() - below))
        else:
            happened, lived = periods(whole)
            levels = np.log(happened / lived)
        return [*levels.tolist(), *[0.0] * (self.columns - len(levels))]

    def _inferred(self, fitted: Fitted, spread: Spread, calibration: Calibration, *, robust: bool) -> Inference:
        """Standard errors and tests of the calibrated records, with weights of mean 1 and the noise of the counts."""
        c, sums, design = self.predictors.constraint, fitted.moments, self.design_errors
        if not (sums.weight > 0 and sums.response > 0) or spread.pull is None:
            raise Unfit
        k = sums.response / sums.weight
        scaled = replace(fitted, inverse=fitted.inverse / k)
        covariance = scaled.inverse
        if robust or design:
            inner = self._by_coefficients(fitted, spread)
            inner = replace(inner, meat=inner.meat * k * k)
            covariance = sandwich(scaled, inner, covariance, correction=1.0 if design else None)
        noise = c.T @ calibration.added(spread.pull) @ c * k * k
        covariance = covariance + scaled.inverse @ noise @ scaled.inverse
        back = self.back
        told = back @ covariance @ back.T
        if not np.all(np.diag(told) > 0):
            raise Unfit
        null, deviance = self._null_deviance(calibration) * k, sums.deviance * k
        if min(null, deviance) <= PERFECT**0.5 * sums.response:
            raise Unfit
        widths = self.predictors.widths
        tests = wald(fitted.beta, covariance, widths)
        freedom = design.freedom if design else None
        return Inference(back @ fitted.beta, told, robust, widths, tests, None, null, deviance, freedom=freedom)

    def _by_coefficients(self, fitted: Fitted, spread: Spread) -> Spread:
        """The meat by coefficients of the model: of its units, or by the design of the sample."""
        c = self.predictors.constraint
        if self.design_errors is None:
            return replace(spread, meat=c.T @ spread.meat @ c)
        assert spread.scores is not None
        return self.design_errors.spread(fitted, replace(spread, scores=spread.scores @ c), self._units_of_columns)

    @property
    def _units_of_columns(self) -> UnitSets:
        """The units that each coefficient is of: those of its classes, with the outcomes that it compares."""
        units = ColumnUnits(self.compiled.design, self.sums.selection, self.explained.names)
        cells, places = self.explained.cells, self.predictors.places
        compared = [self.predictors.compared(k, column) for k, column in places]
        sets = {some: units.having([cell for at in some for cell in cells[at]]) for some in set(compared)}
        each = [(sets[some], column) for some, (_, column) in zip(compared, places, strict=True)]
        return UnitSets(
            *(np.array([getattr(own, name)[at] for own, at in each]) for name in ("records", "units", "key"))
        )

    def _null_deviance(self, calibration: Calibration) -> float:
        whole = np.maximum(calibration.wanted[:, 0], 1e-300)
        if self.predictors.family is not Family.SURVIVAL:
            return float(-2 * (whole * np.log(whole / whole.sum())).sum())
        happened, lived = periods(whole)
        hazard = happened / (happened + lived)
        return float(-2 * (happened * np.log(hazard) + lived * np.log1p(-hazard)).sum())
