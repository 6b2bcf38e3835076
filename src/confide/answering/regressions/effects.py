"""Average marginal effects of a logistic model: by how much the share of yes differs, over the people there are.

For a class: the mean of the fitted shares if everyone were in it, less that if everyone were in the reference. For a number:
the mean slope of the fitted share. Both follow from sums that engines give anyway: with coefficients b the score is
gram b + sum w x (y - mu), so its first entry tells the mean of mu; and the first row of the gram is sum w mu (1 - mu) x.
Errors are by the delta method, given who the people are (Greene 2012, section 17.3; Leeper's `margins` has the same numbers).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from confide.answering.regressions.contrasts import columns_of, without_class
from confide.answering.regressions.grids import p_value
from confide.answering.regressions.judged import FittedModel, JudgedRegression
from confide.answering.regressions.scaling import original_units, same_without
from confide.answering.rounding import DOUBLE, significant, to_error
from confide.arrays import Floats
from confide.model.design import Block, Design
from confide.model.evidence import Moments
from confide.model.formula import Transform
from confide.model.model_release import Grid, Value

__all__ = ["effects_grid"]

NUDGE = 1e-4
"""Of a standard error: so far a coefficient is moved to see how a mean slope moves with it."""


@dataclass(frozen=True)
class Effect:
    """An effect with its gradient in the coefficients of the fit; exact, so it stays inside."""

    label: str
    value: float
    gradient: Floats

    def less(self, other: "Effect") -> "Effect":
        return replace(self, value=self.value - other.value, gradient=self.gradient - other.gradient)


def effects_grid(judged: JudgedRegression) -> Grid:
    """The effects that may leave: to the second digit of their standard errors.

    Against a chosen reference a class has the difference of two rounded effects, as its coefficient has.
    """
    effects = Effects(judged)
    rows = [row for name in judged.present for row in effects.rows(name)]
    columns = ("term", "effect", "standard_error", "statistic", "p_value")
    return Grid("effects", "Average marginal effects, as shares of 1", columns, tuple(rows))


@dataclass(frozen=True)
class Effects:
    """The effects of one model."""

    judged: JudgedRegression

    def rows(self, variable: str) -> Iterator[tuple[Value, ...]]:
        """The rows of one predictor."""
        if variable not in self.judged.levels:
            for effect in self._of_number(variable):
                yield self._told(effect, effect.value)
            return
        found = self._of_classes(variable)
        rounded = {place: self._rounded(effect) for place, effect in found.items()}
        dataset, chosen = self.judged.question.dataset, self.judged.question.request.formula.references.get(variable)
        levels, codes = self.judged.levels[variable], dataset.variables[variable].codes
        place = levels.reference if chosen is None else dataset.variables[variable].place(chosen)
        against = place if place in found else levels.reference
        assert codes is not None
        for at in sorted(found):
            if at != against:
                effect = replace(found[at].less(found[against]), label=f"{variable}={codes.names[at]}")
                yield self._told(effect, rounded[at] - rounded[against])

    def _told(self, effect: Effect, value: float) -> tuple[Value, ...]:
        error = np.array([self._error(effect)])
        shown = [float(to_error(np.array([part]), error, digits=DOUBLE)[0]) + 0.0 for part in (value, error[0])]
        z = float(significant(np.array([shown[0] / shown[1]]), 3)[0]) + 0.0
        return effect.label, *shown, z, p_value(float(2 * ndtr(-abs(z))))

    def _rounded(self, effect: Effect) -> float:
        """The effect against the most common class, as it is told; that class has none."""
        error = np.array([self._error(effect)])
        return float(to_error(np.array([effect.value]), error, digits=DOUBLE)[0]) if error[0] > 0 else 0.0

    def _error(self, effect: Effect) -> float:
        return float(np.sqrt(effect.gradient @ self._covariance @ effect.gradient))

    @cached_property
    def _model(self) -> FittedModel:
        assert self.judged.fitted is not None
        return self.judged.fitted

    @property
    def _design(self) -> Design:
        return self._model.question.design

    @cached_property
    def _back(self) -> Floats:
        return original_units(self._design)[2]

    @cached_property
    def _covariance(self) -> Floats:
        """Of the coefficients of the fit, whose numbers may be shifted."""
        there = np.linalg.inv(self._back)
        return np.asarray(there @ self._model.inference.covariance @ there.T)

    def _moments(self, design: Design, beta: Floats) -> Moments:
        question = replace(self._model.question, design=design, beta=tuple(beta.tolist()))
        return self.judged.sums.selection.moments(question)

    # classes

    def _of_classes(self, variable: str) -> dict[int, Effect]:
        """The mean share if everyone were in a class less that in the most common one, by place."""
        levels = self.judged.levels[variable]
        base = self._as_if(variable, None)
        found = {levels.reference: base.less(base)}
        return found | {place: self._as_if(variable, slot).less(base) for slot, place in enumerate(levels.kept)}

    def _as_if(self, variable: str, slot: int | None) -> Effect:
        """The mean share if everyone were in one class."""
        design, matrix = _everyone_in(self._design, self._design.classes.index(variable), slot)
        beta = matrix @ self._model.fitted.beta
        sums = self._moments(design, beta)
        fitted = sums.response - (sums.score[0] - sums.gram[0] @ beta)
        return Effect("", float(fitted / sums.weight), sums.gram[0] / sums.weight @ matrix)

    # numbers

    def _of_number(self, variable: str) -> Iterator[Effect]:
        """The mean slope: in the number where it stands as it is, with its square or not; else in its only transformation."""
        forms = {number.transform for number in self._design.numbers if number.variable == variable}
        raw = Transform.NONE in forms and forms <= {Transform.NONE, Transform.SQUARE}
        if not raw and len(forms) > 1:
            return
        form = Transform.NONE if raw else next(iter(forms))
        slope = self._slope(variable, raw=raw)
        weight, means = self._weights
        value = float(means @ slope @ self._beta / weight)
        gradient = (means @ slope @ self._back + (self._moving @ (slope @ self._beta))) / weight
        yield Effect(f"{form}({variable})" if form else variable, value, gradient)

    @cached_property
    def _beta(self) -> Floats:
        """The coefficients in the units of the data."""
        return np.asarray(self._back @ self._model.fitted.beta)

    @cached_property
    def _weights(self) -> tuple[float, Floats]:
        """The sum of weights, and sum w mu (1 - mu) x over the columns in the units of the data."""
        return self._weighted(self._model.fitted.beta)

    def _weighted(self, beta: Floats) -> tuple[float, Floats]:
        sums = self._moments(self._design, beta)
        return sums.weight, np.asarray(sums.gram[0] @ np.linalg.inv(self._back))

    @cached_property
    def _moving(self) -> Floats:
        """How sum w mu (1 - mu) x moves with each coefficient of the fit (rows), by differences."""
        beta, start = self._model.fitted.beta, self._weights[1]
        nudges = NUDGE * np.sqrt(np.diag(self._covariance))
        moved = [self._weighted(beta + nudge * unit)[1] for nudge, unit in zip(nudges, np.eye(len(beta)), strict=True)]
        return np.array([(after - start) / nudge for after, nudge in zip(moved, nudges, strict=True)])

    def _slope(self, variable: str, *, raw: bool) -> Floats:
        """The matrix that takes coefficients to those of the derivative of the linear predictor in a number."""
        design = self._design
        matrix = np.zeros((design.columns, design.columns))
        for block in design.blocks:
            for at in block.numbers:
                number = design.numbers[at]
                if number.variable != variable:
                    continue
                squared = raw and number.transform is Transform.SQUARE
                to = _square_root(block, at, design) if squared else same_without(block, (at,), design)
                own = np.arange(block.offset, block.offset + block.width)
                matrix[own - block.offset + to.offset, own] += 2.0 if squared else 1.0
        return matrix


def _everyone_in(design: Design, at: int, slot: int | None) -> tuple[Design, Floats]:
    """The design of a model in which everyone is in one class of a variable, and how its coefficients come of the others."""
    kept = [block for block in design.blocks if at not in {of for of, _ in block.classes}]
    blocks, offset = {}, 0
    for block in kept:
        classes = tuple((of - (of > at), levels) for of, levels in block.classes)
        blocks[block] = replace(block, classes=classes, offset=offset)
        offset += block.width
    matrix = np.zeros((offset, design.columns))
    for old, new in blocks.items():
        matrix[columns_of(new).ravel(), columns_of(old).ravel()] = 1
    for block in design.blocks:
        axes = [of for of, _ in block.classes]
        if at in axes and slot is not None:
            places = np.moveaxis(columns_of(block), axes.index(at), 0)[slot]
            matrix[columns_of(blocks[without_class(block, at, design)]).ravel(), places.ravel()] += 1
    classes_left = tuple(name for of, name in enumerate(design.classes) if of != at)
    return replace(design, classes=classes_left, blocks=tuple(blocks.values())), matrix


def _square_root(block: Block, at: int, design: Design) -> Block:
    """The block with a number where this one has its square."""
    name = design.numbers[at].variable
    plain = {of for of, n in enumerate(design.numbers) if n.variable == name and n.transform is Transform.NONE}
    wanted = [set(block.numbers) - {at} | {of} for of in plain]
    return next(one for one in design.blocks if one.classes == block.classes and set(one.numbers) in wanted)
