"""The tables of a model of several classes that may leave: rounded as those of other models are."""

from collections.abc import Sequence
from itertools import pairwise
from math import exp
from typing import NamedTuple

import numpy as np

from confide.answering.regressions.contrasts import Contrasts, contrasts
from confide.answering.regressions.grids import (
    coefficient_grid,
    interval,
    interval_errors,
    likelihood_grid,
    ratio,
    rounded,
    wald_tests,
)
from confide.answering.regressions.inference import Inference
from confide.answering.regressions.several.judged import JudgedSeveral
from confide.arrays import Floats
from confide.model.model_release import Grid, Value
from confide.model.request import Family

__all__ = ["several_grids", "several_notes"]


class _ToldCoefficients(NamedTuple):
    """What is told of each coefficient, with the names of the classes or thresholds, and of the columns.

    Intervals are `width` errors wide on either side."""

    rows: tuple[tuple[Value, ...], ...]
    title: str
    labels: tuple[str, ...]
    levels: tuple[str, ...]
    width: float


def several_grids(judged: JudgedSeveral) -> dict[str, Grid]:
    """The tables of coefficients, of ratios, of thresholds or hazards, of tests of whole terms and of statistics."""
    inference, told = _told(judged)
    make = {Family.MULTINOMIAL: _multinomial, Family.ORDERED: _ordered, Family.SURVIVAL: _survival}
    found = make[judged.predictors.family](judged, told)
    found["anova"] = wald_tests(inference, judged.compiled.terms, judged.published)
    return {**found, "statistics": likelihood_grid(inference, judged.published)}


def _told(judged: JudgedSeveral) -> tuple[Inference, _ToldCoefficients]:
    """The estimates against the chosen references, as they are told."""
    question, predictors = judged.question, judged.predictors
    chosen = contrasts(judged.compiled, question.request.formula, question.dataset, judged.levels)
    levels, among = _levels(judged)
    matrix = predictors.among(among) @ predictors.of(chosen.matrix)
    matrix[np.abs(matrix) < 1e-12] = 0.0
    inference = Contrasts(chosen.labels, matrix).told(judged.inference)
    grid = coefficient_grid(inference, [""] * judged.columns, judged.published)
    width = interval_errors(inference, judged.published)
    return inference, _ToldCoefficients(grid.rows, grid.title, chosen.labels, levels, width)


def _levels(judged: JudgedSeveral) -> tuple[tuple[str, ...], Floats]:
    """The names of the linear predictors, and what a chosen class of the response to compare with makes of them."""
    explained = judged.explained
    codes = explained.variable.codes.names if explained.variable.codes else ()
    names = [codes[place] for place in explained.places]
    many = judged.predictors.many
    if judged.predictors.family is Family.ORDERED:
        return tuple(f"{low} | {high}" for low, high in pairwise(names)), np.eye(many)
    if judged.predictors.family is Family.SURVIVAL:
        return tuple(names), np.eye(many)
    reference = judged.question.request.formula.response.reference
    if reference not in names[1:]:
        return tuple(names[1:]), np.eye(many)
    at = names.index(reference) - 1
    matrix = np.eye(many)
    matrix[:, at] = -1.0
    others = [explained.places[0] if k == at else place for k, place in enumerate(explained.places[1:])]
    order = np.argsort(others)
    return tuple(codes[others[k]] for k in order), matrix[order]


def _multinomial(judged: JudgedSeveral, told: _ToldCoefficients) -> dict[str, Grid]:
    """Class by class of the response: the log odds of it against the class that it is compared with."""
    by_class = sorted(zip(judged.predictors.places, told.rows, strict=True), key=lambda one: one[0])
    rows = [(told.levels[k], told.labels[column], *row[1:]) for (k, column), row in by_class]
    columns = ("response", "term", "estimate", "standard_error", "statistic", "p_value")
    ratios = [
        (*row[:2], *ratio(row[2], row[3], told.width))
        for row, ((_, column), _) in zip(rows, by_class, strict=True)
        if column
    ]
    return {
        "coefficients": Grid("coefficients", told.title, columns, tuple(rows)),
        "ratios": _ratios(("response", "term"), ratios),
    }


def _ordered(judged: JudgedSeveral, told: _ToldCoefficients) -> dict[str, Grid]:
    """One coefficient for all thresholds: the log odds of a higher class; and the thresholds."""
    many = judged.predictors.many
    thresholds = [(name, *row[1:3]) for name, row in zip(told.levels, told.rows[:many], strict=True)]
    columns = ("threshold", "estimate", "standard_error")
    title = (
        "Thresholds (log odds of being in a class or one before it, where all predictors are at 0 or their references)"
    )
    return {**_slopes(judged, told), "thresholds": Grid("thresholds", title, columns, tuple(thresholds))}


def _survival(judged: JudgedSeveral, told: _ToldCoefficients) -> dict[str, Grid]:
    """One coefficient for all periods: the log odds that it happens in a period; and the baseline of every period."""
    many = judged.predictors.many
    rows: list[tuple[Value, ...]] = []
    for name, row in zip(told.levels, told.rows[:many], strict=True):
        estimate, error = float(row[1] or 0.0), float(row[2] or 0.0)
        rows.append((name, *_hazard(estimate, error, told.width), estimate, error))
    columns = ("period", "hazard", "low", "high", "estimate", "standard_error")
    title = "Baseline hazards (the share it happens to in a period, where all predictors are at 0 or their references)"
    return {**_slopes(judged, told), "hazards": Grid("hazards", title, columns, tuple(rows))}


def _hazard(estimate: float, error: float, width: float) -> tuple[float, ...]:
    """The hazard and the ends of its interval: what follows from the rounded log odds."""
    return tuple(rounded(1 / (1 + exp(-max(min(end, 700.0), -700.0))), 3) for end in interval(estimate, error, width))


def _slopes(judged: JudgedSeveral, told: _ToldCoefficients) -> dict[str, Grid]:
    many = judged.predictors.many
    rows = [
        (told.labels[column], *row[1:])
        for (_, column), row in list(zip(judged.predictors.places, told.rows, strict=True))[many:]
    ]
    columns = ("term", "estimate", "standard_error", "statistic", "p_value")
    ratios = [(row[0], *ratio(row[1], row[2], told.width)) for row in rows]
    return {
        "coefficients": Grid("coefficients", told.title, columns, tuple(rows)),
        "ratios": _ratios(("term",), ratios),
    }


def _ratios(first: tuple[str, ...], rows: Sequence[tuple[Value, ...]]) -> Grid:
    return Grid("ratios", "Odds ratios with 95 % intervals", (*first, "odds_ratio", "low", "high"), tuple(rows))


def several_notes(judged: JudgedSeveral) -> tuple[str, ...]:
    """What is said of the classes of the response: which one others are compared with, their order, and what is left out."""
    explained = judged.explained
    codes, name = explained.variable.codes, explained.variable.name
    assert codes is not None
    there = [codes.names[place] for place in explained.places]
    levels = explained.response.levels
    gone = [place for place, code in enumerate(codes) if not code.missing and place not in explained.places]
    if explained.family is Family.MULTINOMIAL:
        chosen = judged.question.request.formula.response.reference
        said = [f"The classes of {name} are compared with {chosen if chosen in there else there[0]}."]
        few = [codes.names[place] for place in gone]
        return (*said, f"Left out, with too few units: {', '.join(few)} of {name}.") if few else tuple(said)
    said = [
        f"{codes.names[place]} of {name} has too few units and is joined with {there[levels[place]]}." for place in gone
    ]
    if explained.family is Family.ORDERED:
        return (f"The order of {name} is {', '.join(there)}.", *said)
    return (f"Whoever is in a period of {name} was there in all periods before it.", *said)
