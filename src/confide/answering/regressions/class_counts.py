"""The counts in a model of a yes or no: its classes have the shares that the protected counts of a table would give.

The score equations of a logistic model set, for each column of classes alone, the sum of the fitted shares in the class to the
number of units there that have the response. Left true, that number could be read from the model, however a table protects
it. So here it is moved: the share of a class is the protected count of its units with the response by the protected count
of all its units, each drawn from its own cell key, as in the table of the class by the response. What else tells these two
numbers (standard errors, deviances) is moved along.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from confide.answering.cube import Cube
from confide.answering.regressions.fit import Fitted
from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.arrays import Bools, Floats, Ints
from confide.model.design import Block, Design, Indicator
from confide.model.evidence import Moments, Spread, Step

__all__ = ["ClassCounts", "class_counts", "drawn_counts", "placed"]


@dataclass(frozen=True)
class ClassCounts:
    """For each column what protection does to it; which columns are made of classes alone is told by `classes`.

    `added` goes to the sum of the responses in the column and has the variance `noise`; `size` is the protected by the true
    number of units, `squares` the sum of squared residuals that the protected share leaves by that which the true one does.
    To columns with numbers goes what leaves their slopes as they are: as if the units added had the mean of their class.
    """

    added: Floats
    noise: Floats
    size: Floats
    squares: Floats
    classes: Bools

    def step(self, moments: Moments, question: Step) -> Moments:
        """The sums of one step of the fit with the protected counts: in the score, and in the deviance at beta."""
        added = self._spread(moments.gram) @ self.added[self.classes]
        beta = np.array(question.beta) if question.beta else np.zeros(len(added))
        moved, response = moments.deviance - 2 * float(beta @ added), moments.response + float(added[0])
        return replace(moments, score=moments.score + added, deviance=moved, response=response)

    def inferred(self, fitted: Fitted, spread: Spread, *, weight: float) -> tuple[Fitted, Spread, Floats]:
        """What inference starts from, for classes of the protected sizes; and the covariance of the noise in the score.

        The sums that are given count a weight of 1 as `weight`.
        """
        root, whole = np.sqrt(self.size), float(self.size[0])
        own = fitted.moments
        sums = {name: getattr(own, name) * whole for name in ("deviance", "weight", "response")}
        fitted = replace(fitted, inverse=fitted.inverse / np.outer(root, root), moments=replace(own, **sums))
        leaves = root * np.sqrt(self.squares)
        spread = replace(spread, meat=spread.meat * np.outer(leaves, leaves))
        over = root[:, None] * self._spread(own.gram)
        return fitted, spread, over * self.noise[self.classes] @ over.T * weight**2

    def _spread(self, gram: Floats) -> Floats:
        """How much of what is added to each column of classes goes to every column: itself, or a number's mean there."""
        over = np.eye(len(gram))[:, self.classes]
        own = gram[np.ix_(self.classes, self.classes)]
        over[~self.classes] = np.linalg.lstsq(own, gram[np.ix_(self.classes, ~self.classes)], rcond=None)[0].T
        return over


def class_counts(design: Design, selection: Selection, shield: Shield) -> ClassCounts | None:
    """Draw the protected counts of a model of a yes or no; None where counts are not protected or it is no such model."""
    if shield.counts.matrix is None or not isinstance(design.response, Indicator):
        return None
    parts = [_block(block, design, selection, shield) for block in design.blocks]
    whole = parts[0].size[0]
    sizes = [
        part.size if not block.numbers else part.size * whole for part, block in zip(parts, design.blocks, strict=True)
    ]
    names = ("added", "noise", "squares", "classes")
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return ClassCounts(size=np.concatenate(sizes), **joined)


def _block(block: Block, design: Design, selection: Selection, shield: Shield) -> ClassCounts:
    if block.numbers:
        none, one = np.zeros(block.width), np.ones(block.width)
        return ClassCounts(none, none, one, one, none > 0)
    assert isinstance(design.response, Indicator)
    names = [design.classes[at] for at, _ in block.classes]
    cube = selection.cube([*names, design.response.variable], complete=design.numbers, weighted=True)
    cells = list(product(*(placed(levels) for _, levels in block.classes)))
    each = [drawn_counts(cube, [(*c, at) for c in cells], selection, shield) for at in design.response.places]
    return _moved(each, drawn_counts(cube, [(*cell, -1) for cell in cells], selection, shield), shield)


def placed(levels: tuple[int, ...]) -> list[int]:
    """The places that have a column, in the order of the columns."""
    return sorted((place for place, level in enumerate(levels) if level >= 0), key=lambda place: levels[place])


@dataclass(frozen=True)
class DrawnCounts:
    """Sets of units: how many, as published and in truth, and the sum of their weights."""

    units: Floats
    published: Floats
    weight: Floats


def drawn_counts(cube: Cube, cells: list[tuple[int, ...]], selection: Selection, shield: Shield) -> DrawnCounts:
    """Draw the counts of some cells from their keys."""
    at = tuple(np.array(cells, np.int64).T)
    records, units, key = (array[at] for array in (cube.records, cube.units, cube.key))
    publish, _ = shield.draws.counts(records, units, key)
    published = shield.counts.units(units, publish).astype(np.float64)
    return DrawnCounts(units.astype(np.float64), published, _weights(cube, at, selection))


def _weights(cube: Cube, at: tuple[Ints, ...], selection: Selection) -> Floats:
    facts = selection.facts
    if not facts.weighted:
        return np.asarray(cube.records[at], np.float64)
    assert cube.weight is not None
    return np.asarray(cube.weight[at] / 10.0**facts.weight_decimals)


def _moved(each: list[DrawnCounts], every: DrawnCounts, shield: Shield) -> ClassCounts:
    """`each` class of the response has some, of `every` in the class. A protected share stays half a unit off none and all.

    Several classes have the sum of their protected counts, cell by cell as in the table: a draw for every union of classes
    would be a new one of the same counts, and the noise could be averaged out over unions.
    """
    size, edge = np.maximum(every.published, 1) / np.maximum(every.units, 1), 0.5 / np.maximum(every.published, 1)
    units, weight = (np.sum([getattr(one, name) for one in each], axis=0) for name in ("units", "weight"))
    wanted = sum(one.weight * one.published / np.maximum(one.units, 1) for one in each) / size
    wanted = np.clip(wanted, edge * every.weight, (1 - edge) * every.weight)
    wanted = np.where(units > 0, wanted, weight)
    share = wanted / np.maximum(every.weight, 1e-300)
    true = units * (1 - 2 * share) + every.units * share**2
    left = every.units * share * (1 - share)
    squares = np.where((true > 0) & (left > 0), left / np.where(true > 0, true, 1.0), 1.0)
    drawn = sum((one.weight / np.maximum(one.units, 1)) ** 2 for one in each)
    noise = shield.counts.spread**2 * (drawn + (weight / np.maximum(units, 1)) ** 2 * share**2)
    return ClassCounts(wanted - weight, noise, size, squares, units >= 0)
