"""Average marginal effects: by how much the share of yes, or of each class, differs, over the people there are.

For a class: the mean of the fitted shares if everyone were in it, less that if everyone were in the reference. For a number:
the mean slope of the fitted share. Both follow from mean shares and from how these move with the coefficients, which models
have from sums that engines give anyway: `JudgedRegression.shares`. Errors are by the delta method, given who the people are
(Greene 2012, section 17.3; Leeper's `margins` has the same numbers).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from confide.answering.regressions.contrasts import columns_of, without_class
from confide.answering.regressions.grids import p_value, two_sided
from confide.answering.regressions.judged import FittedModel, JudgedRegression
from confide.answering.regressions.scaling import original_units, same_without
from confide.answering.rounding import DOUBLE, significant, to_error
from confide.arrays import Floats
from confide.model.design import Block, Design
from confide.model.formula import Transform
from confide.model.model_release import Grid, Value
from confide.model.request import Family

__all__ = ["effects_grid"]

NUDGE = 1e-4
"""Of a standard error: so far coefficients are moved to see how a mean slope moves with them."""

_TITLES = {
    Family.BINOMIAL: "Average marginal effects, as shares of 1",
    Family.SURVIVAL: "Average marginal effects on the share it happens to in a period, as shares of 1",
}


@dataclass(frozen=True)
class Effect:
    """An effect on each share, with the gradients (rows) in the coefficients of the fit; exact, so it stays inside."""

    label: str
    values: Floats
    gradients: Floats

    def less(self, other: "Effect") -> "Effect":
        return replace(self, values=self.values - other.values, gradients=self.gradients - other.gradients)


def effects_grid(judged: JudgedRegression) -> Grid:
    """The effects that may leave: to the second digit of their standard errors.

    Against a chosen reference a class has the difference of two rounded effects, as its coefficient has.
    """
    effects = Effects(judged)
    found = [effects.rows(name) for name in judged.present]
    columns = ("term", "effect", "standard_error", "statistic", "p_value")
    title = _TITLES.get(
        judged.question.request.family, "Average marginal effects on the share of each class, as shares of 1"
    )
    if not judged.shared:
        return Grid("effects", title, columns, tuple(row for rows in found for [row] in rows))
    told = [(name, *row[at]) for at, name in judged.shared for rows in found for row in rows]
    return Grid("effects", title, ("response", *columns), tuple(told))


@dataclass(frozen=True)
class Effects:
    """The effects of one model."""

    judged: JudgedRegression

    def rows(self, variable: str) -> list[list[tuple[Value, ...]]]:
        """What is told of each class or number of a predictor: a row for each share."""
        if variable not in self.judged.levels:
            return [self._told(effect, effect.values) for effect in self._of_number(variable)]
        found = self._of_classes(variable)
        rounded = {place: self._rounded(effect) for place, effect in found.items()}
        dataset, chosen = self.judged.question.dataset, self.judged.question.request.formula.references.get(variable)
        levels, codes = self.judged.levels[variable], dataset.variables[variable].codes
        place = levels.reference if chosen is None else dataset.variables[variable].place(chosen)
        against = place if place in found else levels.reference
        assert codes is not None
        return [
            self._told(
                replace(found[at].less(found[against]), label=f"{variable}={codes.names[at]}"),
                rounded[at] - rounded[against],
            )
            for at in sorted(found)
            if at != against
        ]

    def _told(self, effect: Effect, values: Floats) -> list[tuple[Value, ...]]:
        errors = self._errors(effect)
        shown = [to_error(part, errors, digits=DOUBLE) + 0.0 for part in (values, errors)]
        z = significant(shown[0] / shown[1], 3) + 0.0
        p_values = two_sided(z, self._model.inference, self.judged.published)
        parts = (*shown, z, p_values)
        return [(effect.label, *row[:-1], p_value(row[-1])) for row in zip(*(p.tolist() for p in parts), strict=True)]

    def _rounded(self, effect: Effect) -> Floats:
        """The effect against the most common class, as it is told; that class has none."""
        errors = self._errors(effect)
        told = to_error(effect.values, np.where(errors > 0, errors, 1.0), digits=DOUBLE)
        return np.where(errors > 0, told, 0.0)

    def _errors(self, effect: Effect) -> Floats:
        return np.asarray(np.sqrt(((effect.gradients @ self._covariance) * effect.gradients).sum(axis=1)))

    @cached_property
    def _model(self) -> FittedModel:
        assert self.judged.fitted is not None
        return self.judged.fitted

    @property
    def _design(self) -> Design:
        return self._model.question.design

    @property
    def _coefficients(self) -> Floats:
        """Of every linear predictor, one after the other."""
        return np.asarray(self.judged.constraint @ self._model.fitted.beta)

    @cached_property
    def _covariance(self) -> Floats:
        """Of the coefficients of the fit, whose numbers may be shifted."""
        there = np.linalg.inv(self.judged.back)
        return np.asarray(there @ self._model.inference.covariance @ there.T)

    def _of_all(self, matrix: Floats) -> Floats:
        """What a matrix on the columns of a design does to those of every linear predictor."""
        return np.asarray(np.kron(np.eye(self._design.predictors), matrix), np.float64)

    # classes

    def _of_classes(self, variable: str) -> dict[int, Effect]:
        """The mean share if everyone were in a class less that in the most common one, by place."""
        levels = self.judged.levels[variable]
        base = self._as_if(variable, None)
        found = {levels.reference: base.less(base)}
        return found | {place: self._as_if(variable, slot).less(base) for slot, place in enumerate(levels.kept)}

    def _as_if(self, variable: str, slot: int | None) -> Effect:
        """The mean shares if everyone were in one class."""
        matrix = self._of_all(_everyone_in(self._design, self._design.classes.index(variable), slot))
        means, slopes = self.judged.shares(matrix @ self._coefficients)
        return Effect("", means, slopes @ matrix @ self.judged.constraint)

    # numbers

    def _of_number(self, variable: str) -> Iterator[Effect]:
        """The mean slope: in the number where it stands as it is, with its square or not; else in its only transformation."""
        forms = {number.transform for number in self._design.numbers if number.variable == variable}
        raw = Transform.NONE in forms and forms <= {Transform.NONE, Transform.SQUARE}
        if not raw and len(forms) > 1:
            return
        form = Transform.NONE if raw else next(iter(forms))
        back = original_units(self._design)[2]
        slope = self._of_all(np.linalg.inv(back) @ self._slope(variable, raw=raw) @ back)
        ahead = slope @ self._coefficients
        _, moves = self.judged.shares(self._coefficients)
        gradients = (moves @ slope + self._bending(ahead, moves)) @ self.judged.constraint
        yield Effect(f"{form}({variable})" if form else variable, moves @ ahead, gradients)

    def _bending(self, ahead: Floats, moves: Floats) -> Floats:
        """How a mean slope moves with the coefficients because shares are no straight lines.

        It is the second derivative of the mean share, once in a coefficient and once along `ahead`, in which the linear
        predictors of all records go when the number grows: so one step that way tells it for all coefficients.
        """
        errors = np.sqrt(np.diag(self.judged.constraint @ self._covariance @ self.judged.constraint.T))
        step = NUDGE * float(np.min(errors[ahead != 0] / np.abs(ahead[ahead != 0]), initial=1.0))
        return (self.judged.shares(self._coefficients + step * ahead)[1] - moves) / step

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


def _everyone_in(design: Design, at: int, slot: int | None) -> Floats:
    """The matrix that gives coefficients by which everyone's linear predictor is that of one class of a variable."""
    matrix = np.zeros((design.columns, design.columns))
    for block in design.blocks:
        axes, own = [of for of, _ in block.classes], columns_of(block)
        if at not in axes:
            matrix[own.ravel(), own.ravel()] = 1
        elif slot is not None:
            places = np.moveaxis(own, axes.index(at), 0)[slot]
            matrix[columns_of(without_class(block, at, design)).ravel(), places.ravel()] += 1
    return matrix


def _square_root(block: Block, at: int, design: Design) -> Block:
    """The block with a number where this one has its square."""
    name = design.numbers[at].variable
    plain = {of for of, n in enumerate(design.numbers) if n.variable == name and n.transform is Transform.NONE}
    wanted = [set(block.numbers) - {at} | {of} for of in plain]
    return next(one for one in design.blocks if one.classes == block.classes and set(one.numbers) in wanted)
