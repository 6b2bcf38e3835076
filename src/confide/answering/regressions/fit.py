"""Fit a model from sums over the records: least squares, or iteratively reweighted least squares.

A prior weight multiplies the logarithm of the likelihood of its record, in every family.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from confide.arrays import Floats
from confide.model.evidence import Moments, Step
from confide.model.request import Family

__all__ = ["Fitted", "StepFunction", "Unfit", "fit", "fit_null", "solved"]

StepFunction = Callable[[Step], Moments]

WORST_CONDITION = 1e12
"""Of the gram with unit diagonal; beyond it, columns count as linearly dependent."""

STILL = 1e-5
"""Steps converge quadratically: after one of this length, in standard errors, what is missing is its square."""


class Unfit(Exception):
    """No model can be had from these data; the message is the same for every cause."""

    def __init__(self) -> None:
        super().__init__("The model cannot be fitted to these data.")


@dataclass(frozen=True)
class Fitted:
    """Coefficients, the inverse of the gram at them, and the sums at them (for gaussian: of the only step)."""

    beta: Floats
    inverse: Floats
    moments: Moments
    steps: int


def fit(step: StepFunction, question: Step, *, most_steps: int = 30) -> Fitted:
    """Give the coefficients of greatest likelihood, or raise `Unfit`.

    Promise: one and the same `Unfit` for dependent columns, for separation (a likelihood without a maximum), for too few
    units, and for sums that are not finite. Reference: McCullagh and Nelder (1989), section 2.5.
    """
    first = _checked(step(replace(question, beta=())))
    beta, inverse = _solve(first)
    if question.family is Family.GAUSSIAN:
        return Fitted(beta, inverse, first, 1)
    moved = np.inf
    for steps in range(2, most_steps + 1):
        moments = _checked(step(replace(question, beta=tuple(beta.tolist()))))
        following, inverse = _solve(moments)
        if moved < STILL:
            return Fitted(beta, inverse, moments, steps)
        moved = _distance(following - beta, first)
        beta = following
    raise Unfit


def solved(fitted: Fitted, moments: Moments) -> Fitted:
    """The coefficients that follow from other sums at the end of a fit; raises `Unfit` if none do.

    For a gaussian model these are the fit to them; for others one step from the end of the fit that was.
    """
    beta, inverse = _solve(_checked(moments))
    return replace(fitted, beta=beta, inverse=inverse, moments=moments)


def fit_null(step: StepFunction, question: Step) -> Fitted:
    """Fit the intercept alone, on the records complete for the whole model."""
    return fit(step, replace(question, design=replace(question.design, blocks=question.design.blocks[:1])))


def _checked(moments: Moments) -> Moments:
    sums = [moments.square, moments.deviance, moments.weight, moments.response, *moments.score, *moments.gram.flat]
    if moments.units < max(1, len(moments.score)) or not np.all(np.isfinite(sums)):
        raise Unfit
    return moments


def _solve(moments: Moments) -> tuple[Floats, Floats]:
    """Solve the normal equations, scaled to a unit diagonal, and invert the gram."""
    diagonal = np.diag(moments.gram)
    if not np.all(diagonal > 0):
        raise Unfit
    unit = 1 / np.sqrt(diagonal)
    gram = moments.gram * unit[:, None] * unit
    roots = np.linalg.eigvalsh(gram)
    if roots[0] * WORST_CONDITION <= roots[-1]:
        raise Unfit
    root = np.linalg.inv(np.linalg.cholesky(gram))
    inverse = root.T @ root
    beta = unit * np.linalg.solve(gram, unit * moments.score)
    if not np.all(np.isfinite(beta)):
        raise Unfit
    return beta, inverse * unit[:, None] * unit


def _distance(change: Floats, first: Moments) -> float:
    """How far the linear predictors of all records moved, in the metric of the start.

    Under separation those of the separated records go on by about 1 with each step, however few the records and however
    still the deviance stands. So an engine may bound means away from 0 and 1, but not linear predictors.
    """
    return float(np.sqrt(change @ first.gram @ change * first.units / first.weight))
