"""A model of several classes on its way from true sums to what may leave."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from confide.answering.regressions.attenuation import Attenuation
from confide.answering.regressions.compile import Compiled
from confide.answering.regressions.fit import Fitted, Unfit, fit, solved
from confide.answering.regressions.inference import PERFECT, Inference, sandwich, wald
from confide.answering.regressions.judged import FittedModel, JudgedRegression
from confide.answering.regressions.scaling import original_units
from confide.answering.regressions.several.calibration import Calibration, calibrated
from confide.answering.regressions.several.explained import Explained
from confide.answering.regressions.several.predictors import LinearPredictors
from confide.arrays import Floats
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
    def fitted(self) -> FittedModel | None:
        selection, shield = self.sums.selection, self.sums.shield
        if not self.explained.enough:
            return None
        calibration = calibrated(self.compiled.design, self.explained, selection, shield)
        rows = tuple(map(tuple, calibration.rows.tolist())) if calibration.rows.any() else ()
        question = replace(selection.step(self.compiled.design, self.question.request.family), calibration=rows)
        try:
            return self._fitted(question, calibration)
        except Unfit:
            return None

    def _fitted(self, question: Step, calibration: Calibration) -> FittedModel:
        facts, constraint = self.sums.selection.facts, self.predictors.constraint
        start = self._start(calibration)

        def step(asked: Step) -> Moments:
            return self._constrained(self._moments(question, np.array(asked.beta or start)))

        fitted = fit(step, question)
        attenuation = Attenuation(question.design, facts.noise)
        if attenuation.shrinks:
            fitted = self._corrected(fitted, question, attenuation)
        at = replace(question, beta=tuple((constraint @ fitted.beta).tolist()))
        spread = self.sums.selection.spread(at, constraint @ fitted.inverse @ constraint.T)
        robust = facts.weighted or facts.several or attenuation.shrinks
        inference = self._inferred(fitted, spread, calibration, robust=robust)
        return FittedModel(question, fitted, spread, inference, np.ones(self.columns))

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
            happened, lived = _periods(whole)
            levels = np.log(happened / lived)
        return [*levels.tolist(), *[0.0] * (self.columns - len(levels))]

    def _inferred(self, fitted: Fitted, spread: Spread, calibration: Calibration, *, robust: bool) -> Inference:
        """Standard errors and tests of the calibrated records, with weights of mean 1 and the noise of the counts."""
        c, sums = self.predictors.constraint, fitted.moments
        if not (sums.weight > 0 and sums.response > 0) or spread.pull is None:
            raise Unfit
        k = sums.response / sums.weight
        scaled = replace(fitted, inverse=fitted.inverse / k)
        covariance = scaled.inverse
        if robust:
            inner = replace(spread, meat=c.T @ spread.meat @ c * k * k)
            covariance = sandwich(scaled, inner, covariance)
        noise = c.T @ calibration.added(spread.pull) @ c * k * k
        covariance = covariance + scaled.inverse @ noise @ scaled.inverse
        back = self.predictors.of(original_units(self.compiled.design)[2])
        told = back @ covariance @ back.T
        if not np.all(np.diag(told) > 0):
            raise Unfit
        null, deviance = self._null_deviance(calibration) * k, sums.deviance * k
        if min(null, deviance) <= PERFECT**0.5 * sums.response:
            raise Unfit
        widths = self.predictors.widths
        tests = wald(fitted.beta, covariance, widths)
        return Inference(back @ fitted.beta, told, robust, widths, tests, None, null, deviance)

    def _null_deviance(self, calibration: Calibration) -> float:
        whole = np.maximum(calibration.wanted[:, 0], 1e-300)
        if self.predictors.family is not Family.SURVIVAL:
            return float(-2 * (whole * np.log(whole / whole.sum())).sum())
        happened, lived = _periods(whole)
        hazard = happened / (happened + lived)
        return float(-2 * (happened * np.log(hazard) + lived * np.log1p(-hazard)).sum())


def _periods(whole: Floats) -> tuple[Floats, Floats]:
    """Of each period the weight of those it happened to in it, and of those who were there and it did not."""
    both = whole.reshape(-1, 2)
    there = np.cumsum(both.sum(axis=1)[::-1])[::-1]
    return both[:, 1], there - both[:, 1]
