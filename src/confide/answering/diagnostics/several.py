"""Residual plots of models of several classes and of durations: those of yes or no, each class or the event being one.

Promise: that of `flip`. An outcome is turned round as it is in the plots of a binomial model of that class, or of the event, by the
same draws: whatever these show, nothing but the same turned outcomes is read. In which period something ended is in no plot.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from confide.answering.diagnostics.logistic import logistic_plot
from confide.answering.diagnostics.noise import flip
from confide.answering.diagnostics.plots import GroupedPlot
from confide.answering.regressions.judged import response_name
from confide.answering.regressions.several.judged import JudgedSeveral
from confide.answering.regressions.several.shares import periods
from confide.arrays import Bools, Floats
from confide.model.evidence import Rows
from confide.model.formula import Factor
from confide.model.request import Family
from confide.site.secret import Secret

__all__ = ["PlottedOutcome", "several_outcomes", "several_rows"]


@dataclass(frozen=True)
class PlottedOutcome:
    """Something that people are or are not, with the share of it that the model gives each; `code` says of which class it is."""

    code: str
    name: str
    happened: Bools
    fitted: Floats

    def plots(
        self, along: dict[str, Floats], rows: Rows, secret: Secret, *, chance: float, units: int
    ) -> Iterator[tuple[str, GroupedPlot]]:
        """Mean residuals along the fitted share, and along numbers."""
        turned = flip(self.happened, rows.unit, seed=secret.digest("diagnostics", self.name.encode()), chance=chance)
        for name, values in {"fitted": self.fitted, **along}.items():
            yield f"{self.code}: {name}" if self.code else name, logistic_plot(values, turned, self.fitted, units=units)


def several_rows(judged: JudgedSeveral, low: int, high: int) -> tuple[Rows, Floats]:
    """Records with keys in a range, and for each predictor (columns) the share that a yes or no would have by it."""
    model = judged.fitted
    assert model is not None
    by_predictor = (judged.constraint @ model.fitted.beta).reshape(judged.predictors.many, -1)
    plain = replace(model.question, family=Family.BINOMIAL, calibration=())
    nothing = np.zeros((by_predictor.shape[1],) * 2)
    found = [
        judged.sums.selection.rows(replace(plain, beta=tuple(beta.tolist())), nothing, low, high)
        for beta in by_predictor
    ]
    return found[0], np.column_stack([rows.fitted for rows in found])


def several_outcomes(judged: JudgedSeveral, rows: Rows, by_predictor: Floats) -> Iterator[PlottedOutcome]:
    """Each class of the response, or the event."""
    explained, event = judged.explained, judged.question.request.event
    if event is not None:
        yield PlottedOutcome("", response_name(event), rows.response % 2 > 0.5, _happening(judged, by_predictor))
        return
    codes = explained.variable.codes
    assert codes is not None
    fitted = _shares(judged.predictors.family, by_predictor)
    for level, code in judged.shared:
        own = tuple(codes.names[at] for at, of in enumerate(explained.response.levels) if of == level)
        yield PlottedOutcome(
            code, response_name(Factor(explained.variable.name, codes=own)), rows.response == level, fitted[:, level]
        )


def _shares(family: Family, by_predictor: Floats) -> Floats:
    """Of each class, from the odds of each against the first, or from the shares at or below each threshold."""
    if family is Family.ORDERED:
        return np.clip(np.diff(by_predictor, axis=1, prepend=0.0, append=1.0), 0.0, 1.0)
    odds = np.column_stack([np.ones(len(by_predictor)), by_predictor / (1 - by_predictor)])
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _happening(judged: JudgedSeveral, hazards: Floats) -> Floats:
    """The chance that it happens while a person is seen.

    How long people are seen is what the protected counts of those who are not seen again tell of all: it is taken not to depend on
    predictors (the product-limit estimate of Kaplan and Meier 1958, of being seen).
    """
    totals = judged.calibration.totals
    _, lived = periods(totals)
    kept = 1 - np.clip(totals[::2] / np.maximum(lived, 1e-300), 0.0, 1.0)
    seen = np.cumprod(np.append(1.0, kept[:-1]))
    before = np.cumprod(np.column_stack([np.ones(len(hazards)), 1 - hazards[:, :-1]]), axis=1)
    return np.clip(before * hazards @ seen, 0.0, 1.0)
