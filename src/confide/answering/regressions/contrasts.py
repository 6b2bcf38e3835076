"""The reference that an analyst chose: the same fit, told by other differences.

A model is fitted with the most common class of each variable as reference, and what is absorbed stands with that class
whatever is asked. A chosen reference changes no column space, no count that is drawn and no rule: coefficients for it are
differences of those that the model has anyway, so that moving references around tells nothing that one answer does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from confide.answering.regressions.compile import Compiled, Levels, block_labels
from confide.answering.regressions.inference import Inference, wald
from confide.answering.rounding import DOUBLE, to_error
from confide.arrays import Floats, Ints
from confide.model.catalog.dataset import Dataset
from confide.model.design import Block, Design
from confide.model.formula import Formula

__all__ = ["Contrasts", "columns_of", "contrasts", "without_class"]


@dataclass(frozen=True)
class Contrasts:
    """Labels of the coefficients that are told, and the matrix that gives these from the coefficients of the fit."""

    labels: tuple[str, ...]
    matrix: Floats

    def told(self, inference: Inference) -> Inference:
        """The estimates with the chosen references: differences of rounded ones, with their exact standard errors."""
        if np.array_equal(self.matrix, np.eye(len(self.matrix))):
            return inference
        covariance = self.matrix @ inference.covariance @ self.matrix.T
        tests = wald(self.matrix @ inference.estimates, covariance, inference.widths)
        rounded = to_error(inference.estimates, inference.errors, digits=DOUBLE)
        return replace(inference, estimates=self.matrix @ rounded, covariance=covariance, tests=tests)


def contrasts(compiled: Compiled, formula: Formula, dataset: Dataset, levels: Mapping[str, Levels]) -> Contrasts:
    """What is told of a model whose formula names references; a class without a column can be none, and is passed over."""
    design, matrix = compiled.design, np.eye(compiled.design.columns)
    told = dict(levels)
    for name, code in formula.references.items():
        place = dataset.variables[name].place(code)
        if place in levels[name].kept:
            matrix = _compared(design, design.classes.index(name), levels[name].kept.index(place)) @ matrix
            others = tuple(levels[name].reference if kept == place else kept for kept in levels[name].kept)
            told[name] = Levels(name, place, others)
    order = np.concatenate([_in_order(block, design, told) for block in design.blocks])
    return Contrasts(tuple(np.array(block_labels(formula, dataset, told))[order].tolist()), matrix[order])


def _compared(design: Design, at: int, slot: int) -> Floats:
    """From coefficients against one reference to those against the class of `slot`, which the former takes over."""
    matrix = np.eye(design.columns)
    for block in design.blocks:
        axes = [of for of, _ in block.classes]
        if at not in axes:
            continue
        places = np.moveaxis(columns_of(block), axes.index(at), 0)
        without = columns_of(without_class(block, at, design))
        matrix[without.ravel(), places[slot].ravel()] += 1
        for row in places:
            matrix[row.ravel(), places[slot].ravel()] -= 1
        matrix[places[slot].ravel(), places[slot].ravel()] = -1
    return matrix


def columns_of(block: Block) -> Ints:
    """The columns of a block, with an axis for each of its classes."""
    return block.offset + np.arange(block.width).reshape([max(levels) + 1 for _, levels in block.classes])


def without_class(block: Block, at: int, design: Design) -> Block:
    """The block of the same term without one class variable; the order of hierarchy sees that there is one."""
    left = tuple(pair for pair in block.classes if pair[0] != at)
    return next(one for one in design.blocks if one.classes == left and set(one.numbers) == set(block.numbers))


def _in_order(block: Block, design: Design, told: Mapping[str, Levels]) -> Ints:
    """The columns of a block with classes in the order of their codes."""
    kept = [told[design.classes[at]].kept for at, _ in block.classes]
    columns = columns_of(block)
    orders = [np.argsort(np.array(places)).tolist() for places in kept]
    return np.array([columns[some] for some in product(*orders)], np.int64).ravel()
