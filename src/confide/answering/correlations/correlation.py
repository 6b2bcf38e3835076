"""Correlations: numbers as they are, categorical variables by their classes; table rules for pairs of those."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from confide.answering.correlations.correlate import correlate, correlation_grid
from confide.answering.regressions.fit import Unfit, fit
from confide.answering.regressions.regression import UNFIT, ModelAnswer, Models
from confide.answering.rules.admission import admit_universe
from confide.answering.rules.table import judge_table
from confide.arrays import Ints
from confide.errors import Mistake, Reason
from confide.model.catalog.dataset import Dataset
from confide.model.design import Block, Design, Indicator, Number
from confide.model.evidence import Step
from confide.model.request import Correlation, Family, Table

__all__ = ["admit_correlation", "correlations"]


def admit_correlation(request: Correlation, dataset: Dataset) -> None:
    """Raise a Mistake that names the first thing that is not in the codebook."""
    admit_universe(request.where, dataset)
    for name in request.variables:
        variable = dataset.variable(name)
        if not variable.measurable and not variable.classifies:
            raise Mistake(f"{name!r} can not be correlated.")


def correlations(request: Correlation, models: Models) -> ModelAnswer:
    """The correlations, rounded by the number of units; or the reasons to refuse them."""
    dataset, policy = models.dataset, models.policy
    if len(request.variables) > policy.models.predictors:
        most = policy.models.predictors
        return ModelAnswer({}, [Reason("models.predictors", f"At most {most} variables may be correlated at once.")])
    numbers = [name for name in request.variables if dataset.variables[name].measurable]
    classes = [name for name in request.variables if name not in numbers]
    for pair in combinations(classes, 2):
        if judge_table(Table(request.dataset, pair), dataset, policy.tables, models.counts(pair)):
            return ModelAnswer({}, [Reason("models.implied", f"The table of {pair[0]!r} by {pair[1]!r} is refused.")])
    kept = {name: _supported(models.counts([name]), policy.models.dummy) for name in classes}
    if len(numbers) + sum(map(len, kept.values())) < 2:
        return ModelAnswer({}, [Reason("models.classes", "No variable has two classes with enough units.")])
    design, labels = _design(request, dataset, numbers, kept)
    question = Step(design, Family.GAUSSIAN, models.within, models.without)
    try:
        moments = models.moments(question)
        judged = models.judged(moments)
        if judged < max(policy.models.units, policy.models.units_per_column * design.columns):
            return ModelAnswer({}, [Reason("models.units", "There are too few units for so many variables.")])
        inside = moments.support[len(numbers) + 1 :]
        few = (np.minimum(inside, moments.units - inside) < policy.models.leverage_units).any()
        if few or (numbers and _rests_on_few(models, design, len(numbers))):
            return ModelAnswer({}, [UNFIT])
        found = correlate(moments.gram, columns=range(1, design.columns))
    except Unfit:
        return ModelAnswer({}, [UNFIT])
    return ModelAnswer({"correlations": correlation_grid(found, labels=labels, n=models.published(moments))}, [])


def _supported(counts: Ints, least: int) -> list[int]:
    """The places of the classes that have enough units, and leave enough outside; `counts` end with the total."""
    return [int(p) for p in np.flatnonzero(np.minimum(counts[:-1], counts[-1] - counts[:-1]) >= max(least, 1))]


def _design(
    request: Correlation, dataset: Dataset, numbers: list[str], kept: dict[str, list[int]]
) -> tuple[Design, list[str]]:
    """An intercept, the numbers, then a column for every class that has enough units."""
    blocks = [Block((), (), 0, 1), *(Block((i,), (), i + 1, 1) for i in range(len(numbers)))]
    labels = list(numbers)
    names = [name for name in kept if kept[name]]
    for index, name in enumerate(names):
        codes = dataset.variables[name].codes
        assert codes is not None
        order = {place: level for level, place in enumerate(kept[name])}
        levels = tuple(order.get(place, -1) for place in range(len(codes)))
        offset = blocks[-1].offset + blocks[-1].width
        blocks.append(Block((), ((index, levels),), offset, len(order)))
        labels += [f"{name}={codes.names[place]}" for place in kept[name]]
    response = Number(numbers[0]) if numbers else Indicator(names[0], (0,))
    design = Design(response, tuple(_moved(name, dataset) for name in numbers), tuple(names), tuple(blocks))
    return design, labels


def _moved(name: str, dataset: Dataset) -> Number:
    variable = dataset.variables[name]
    if variable.minimum is None or variable.maximum is None:
        return Number(name)
    return Number(name, shift=(variable.minimum + variable.maximum) / 2)


def _rests_on_few(models: Models, design: Design, numbers: int) -> bool:
    """Whether the spread of some number, or of a combination of them, rests on fewer units than the policy asks for."""
    alone = replace(design, classes=(), blocks=design.blocks[: numbers + 1])
    question = Step(alone, Family.GAUSSIAN, models.within, models.without)
    fitted = fit(models.moments, question)
    spread = models.spread(replace(question, beta=tuple(fitted.beta.tolist())), fitted.inverse)
    return spread.leverage * models.leeway("correlation", fitted.moments)[0] > 1 / models.policy.models.leverage_units
