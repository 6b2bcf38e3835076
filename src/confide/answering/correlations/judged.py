"""Correlations on their way from true sums to what may leave: numbers as they are, categorical variables by their classes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from confide.answering.analysis import Admitted
from confide.answering.correlations.correlate import Correlated, correlate
from confide.answering.correlations.protected import protected_gram
from confide.answering.regressions.attenuation import Attenuation
from confide.answering.regressions.compile import Levels
from confide.answering.regressions.fit import Unfit, fit
from confide.answering.regressions.judged import Sums
from confide.answering.regressions.noisy_predictor import noisy_predictor
from confide.answering.rules.table import JudgedTable
from confide.arrays import Floats, Ints
from confide.model.admission.regression import label
from confide.model.catalog.dataset import Dataset
from confide.model.design import Block, Design, Indicator, Number
from confide.model.evidence import Moments
from confide.model.formula import Factor
from confide.model.request import CorrelationRequest

__all__ = ["JudgedCorrelation"]


@dataclass(frozen=True)
class JudgedCorrelation:
    """What rules see of correlations, and what their release is made of."""

    question: Admitted[CorrelationRequest]
    sums: Sums

    implied = ""
    few_columns = "No variable has two classes with enough units."
    few_units = "There are too few units for so many variables."
    outcomes = None
    tells_withheld_totals = False

    @property
    def implied_tables(self) -> Iterator[JudgedTable]:
        yield from (self.sums.table(pair) for pair in combinations(self._classes, 2))

    @property
    def varies(self) -> bool:
        return len(self._numbers) + sum(map(len, self._kept.values())) > 1

    @property
    def columns(self) -> int:
        return self._design[0].columns

    @cached_property
    def fitted(self) -> Moments:
        return self.sums.selection.moments(self.sums.selection.step(self._design[0]))

    @property
    def units(self) -> int:
        return self.sums.judged(self.fitted)

    @property
    def published(self) -> int:
        """The protected number of units."""
        return self.sums.published(self.fitted)

    @property
    def correlations(self) -> Floats:
        """What is released once rounded."""
        assert self.correlated is not None
        return self.correlated.correlations

    @property
    def labels(self) -> list[str]:
        return self._design[1]

    @property
    def rests_on_few(self) -> bool:
        inside = self.fitted.support[len(self._numbers) + 1 :]
        least = self.sums.shield.policy.models.leverage_units
        if (np.minimum(inside, self.fitted.units - inside) < least).any():
            return True
        try:
            return (bool(self._numbers) and self._numbers_rest_on_few()) or self.correlated is None
        except Unfit:
            return True

    @cached_property
    def correlated(self) -> Correlated | None:
        """The correlations, without the noise of numbers and not rounded yet; None if something does not vary."""
        try:
            attenuation = Attenuation(self._design[0], self.sums.selection.facts.noise)
            gram = attenuation.gram(protected_gram(self.fitted.gram, self._kept, self.sums))
            return correlate(gram, columns=range(1, self.columns))
        except Unfit:
            return None

    @property
    def _numbers(self) -> list[Factor]:
        variables = self.question.dataset.variables
        return [factor for factor in self.question.request.factors if variables[factor.variable].measurable]

    @property
    def _classes(self) -> list[str]:
        variables = self.question.dataset.variables
        return [name for name in self.question.request.names if not variables[name].measurable]

    @property
    def noisy_classes(self) -> Iterator[str]:
        """What is said of classes of a number that carries noise."""
        for name, kept in self._kept.items():
            noisy = noisy_predictor(name, Levels(name, -1, tuple(kept)), self.sums, complete=self._complete)
            yield from [noisy.left] if noisy else []

    @property
    def _complete(self) -> tuple[Number, ...]:
        return tuple(Number(factor.variable, factor.transform) for factor in self._numbers)

    @cached_property
    def _kept(self) -> dict[str, list[int]]:
        """The classes that have a column: chosen on the records that have all numbers, as for a model."""
        least = self.sums.shield.policy.models.dummy
        return {name: _supported(self.sums.counts([name], complete=self._complete), least) for name in self._classes}

    @cached_property
    def _design(self) -> tuple[Design, list[str]]:
        return _design(self.question.dataset, self._numbers, self._kept)

    def _numbers_rest_on_few(self) -> bool:
        """Whether the spread of some number, or of a combination of them, rests on fewer units than the policy asks for."""
        design, selection = self._design[0], self.sums.selection
        question = selection.step(replace(design, classes=(), blocks=design.blocks[: len(self._numbers) + 1]))
        fitted = fit(selection.moments, question)
        spread = selection.spread(replace(question, beta=tuple(fitted.beta.tolist())), fitted.inverse)
        leeway = self.sums.leeway("correlation", fitted.moments)[0]
        return spread.leverage * leeway > 1 / self.sums.shield.policy.models.leverage_units


def _supported(counts: Ints, least: int) -> list[int]:
    """The places of the classes that have enough units, and leave enough outside; `counts` end with the total."""
    return [int(p) for p in np.flatnonzero(np.minimum(counts[:-1], counts[-1] - counts[:-1]) >= max(least, 1))]


def _design(dataset: Dataset, numbers: list[Factor], kept: dict[str, list[int]]) -> tuple[Design, list[str]]:
    """An intercept, the numbers, then a column for every class that has enough units; and the labels of the columns."""
    blocks = [Block((), (), 0, 1), *(Block((i,), (), i + 1, 1) for i in range(len(numbers)))]
    labels = [label([factor]) for factor in numbers]
    names = [name for name in kept if kept[name]]
    for index, name in enumerate(names):
        codes = dataset.variables[name].codes
        assert codes is not None
        order = {place: level for level, place in enumerate(kept[name])}
        levels = tuple(order.get(place, -1) for place in range(len(codes)))
        offset = blocks[-1].offset + blocks[-1].width
        blocks.append(Block((), ((index, levels),), offset, len(order)))
        labels += [f"{name}={codes.names[place]}" for place in kept[name]]
    moved = tuple(_moved(factor, dataset) for factor in numbers)
    # Nothing is made of the response: it only must be there, and be one that is stored.
    response = (
        Number(numbers[0].variable, numbers[0].transform) if numbers else Indicator(dataset.sources(names[0])[0], (0,))
    )
    return Design(response, moved, tuple(names), tuple(blocks)), labels


def _moved(factor: Factor, dataset: Dataset) -> Number:
    """A number, moved by the middle of its declared domain; one that is transformed has its mean near its spread anyway."""
    variable = dataset.variables[factor.variable]
    if factor.transform or variable.minimum is None or variable.maximum is None:
        return Number(factor.variable, factor.transform)
    return Number(factor.variable, shift=(variable.minimum + variable.maximum) / 2)
