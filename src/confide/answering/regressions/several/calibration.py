"""The counts in a model of several classes: those of the protected table, to which its records are calibrated.

The score equations of such a model tell, for each class of a predictor, how many of its units have each class of the response. Left
true, these counts could be read from the model, however a table protects them. So the records count a little more or less, so that
in every column of classes and for every outcome they add up to the protected count of that cell, drawn from its own cell key as in
the table of the class by the response. The model is that of the calibrated records: estimates, standard errors, tests and
deviances know of no other counts. Reference: linear calibration, Deville and Sarndal (1992), case 1.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from confide.answering.cube import Cube
from confide.answering.regressions.class_counts import drawn_counts, placed
from confide.answering.regressions.several.explained import Explained
from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.arrays import Bools, Floats
from confide.model.design import Block, Category, Design, Duration, Indicator

__all__ = ["Calibration", "calibrated"]

HALF = 0.5
"""A count that is protected to zero stands for half a unit: who is there has some chance."""


@dataclass(frozen=True)
class Calibration:
    """By outcome and column: sums of `weights` as the records have them, the `wanted` ones, the variance of these (`noise`), and
    the `rows` that make the one the other. `classes` are the columns of classes alone; the others have nothing."""

    weights: Floats
    wanted: Floats
    noise: Floats
    rows: Floats
    classes: Bools
    grams: Floats

    @property
    def totals(self) -> Floats:
        """The weight of each outcome as calibrated."""
        return np.asarray(self.weights[:, 0] + (self.grams[:, 0] * self.rows[:, self.classes]).sum(axis=1))

    def added(self, pull: Floats) -> Floats:
        """The covariance that the noise of the counts gives the score, which follows a calibration by `pull`."""
        found = np.zeros((pull.shape[1], pull.shape[1]))
        for own, gram, noise in zip(pull, self.grams, self.noise, strict=True):
            over = own[:, self.classes] @ np.linalg.pinv(gram, rcond=1e-10, hermitian=True)
            found += over * noise[self.classes] @ over.T
        return found


def calibrated(design: Design, explained: Explained, selection: Selection, shield: Shield) -> Calibration:
    """Draw the protected counts behind a model; where counts are not protected, those that are there."""
    blocks = [block for block in design.blocks if not block.numbers]
    parts = [_counts(block, design, explained, selection, shield) for block in blocks]
    columns = np.concatenate([np.arange(b.offset, b.offset + b.width) for b in blocks])
    shape = (len(explained.cells), design.columns)
    weights, wanted, noise = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for full, own in ((weights, 0), (wanted, 1), (noise, 2)):
        full[:, columns] = np.concatenate([part[own] for part in parts], axis=1)
    classes = np.isin(np.arange(design.columns), columns)
    rows, grams = np.zeros(shape), np.zeros((shape[0], len(columns), len(columns)))
    if shield.counts.matrix is not None:
        grams = _grams(design, blocks, explained.response, selection)
        for at in range(len(grams)):
            moved = (wanted - weights)[at, columns]
            rows[at, columns] = np.linalg.pinv(grams[at], rcond=1e-10, hermitian=True) @ moved
    return Calibration(weights, wanted, noise, rows, classes, grams)


def _counts(
    block: Block, design: Design, explained: Explained, selection: Selection, shield: Shield
) -> tuple[Floats, Floats, Floats]:
    """Weights, wanted weights and the variance of these, by outcome and column of a block."""
    names = [design.classes[at] for at, _ in block.classes]
    cube = selection.cube([*names, *explained.names], complete=explained.complete, weighted=True)
    own = list(product(*(placed(levels) for _, levels in block.classes)))
    found = [
        _outcome(cube, [[(*c, *cell) for c in own] for cell in cells], selection, shield) for cells in explained.cells
    ]
    weights, wanted, noise = (np.array([part[at] for part in found]) for at in range(3))
    return weights, wanted, noise


def _outcome(
    cube: Cube, cells: list[list[tuple[int, ...]]], selection: Selection, shield: Shield
) -> tuple[Floats, Floats, Floats]:
    """Of an outcome that is made of several cells the protected counts are added, cell by cell as in the table."""
    sets = [drawn_counts(cube, some, selection, shield) for some in cells]
    weights, wanted, noise = (np.zeros(len(cells[0])) for _ in range(3))
    for one in sets:
        each = one.weight / np.maximum(one.units, 1)
        wanted += each * np.where(one.units > 0, np.maximum(one.published, HALF), 0.0)
        weights += one.weight
        noise += np.where(one.units > 0, (each * shield.counts.spread) ** 2, 0.0)
    return weights, wanted, noise


def _grams(design: Design, blocks: list[Block], response: Category | Duration, selection: Selection) -> Floats:
    """For each outcome the sums of products of the columns of classes over its records."""
    own: tuple[tuple[int, tuple[int, ...]], ...] = ((len(design.classes), response.levels),)
    names: tuple[str, ...] = (response.variable,)
    if isinstance(response, Duration):
        codes = selection.dataset.variables[response.event].codes or ()
        own += ((len(design.classes) + 1, tuple(int(place in response.places) for place in range(len(codes)))),)
        names += (response.event,)
    many, at = response.outcomes, 1
    crossed = [Block((), (), 0, 1)]
    for block in blocks:
        crossed.append(Block((), (*block.classes, *own), at, block.width * many))
        at += block.width * many
    by_outcome = replace(
        design, response=Indicator(names[0], ()), classes=(*design.classes, *names), blocks=tuple(crossed)
    )
    gram = selection.moments(selection.step(by_outcome)).gram[1:, 1:]
    return np.stack([gram[outcome::many, outcome::many] for outcome in range(many)])
