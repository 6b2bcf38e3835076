"""T19: universes that leave out many bins at random, and least squares of cells on bins."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.choosing import class_secret
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.counts.keys import three_keys
from confide.attacks.counts.universes.boxes import Boxes
from confide.attacks.intruder import Intruder, values
from confide.attacks.passing import within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["RandomUniverses", "non_negative"]

LOOKS = (60, 100, 160, 250, 400)
"""After so many tables claims are made; the last time for good."""

STEPS = 200
"""Gradient steps of the least squares: more change no claim."""


@dataclass(frozen=True)
class RandomUniverses:
    """Read the confidential class of people who are alone on three keys by regression on random universes.

    No two universes are near each other, so no check of pairs helps: each leaves out a random part of the boxes of two
    keys. The counts of a cell by the third key and the class are regressed on which boxes are in; the box of a target
    then holds about one person in the cell of their class and none in the others.

    Tried (20,000 people, `standard`, after 60, 100, 160, 250, 400 tables): (1) plain least squares: 60, 81, 88, 91, 92 %.
    (2) Non-negative least squares: 71, 85, 90, 91, 92 %, kept. (3) Whole numbers drawn from their posterior under the
    known law of cell keys: 61, 74, 82, 87 %, since the draws of one set of people are one draw and not many. (4) One step
    of likelihoods from rounded least squares: worse still.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "random-universes"
    code: ClassVar = "T19"
    words: ClassVar = "universes without many bins at random, and least squares of cells on bins"
    knows: ClassVar = "three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        wanted = UnitTargets(three_keys(book, self.keys), class_secret(book, self.secret))
        return within_rules(wanted, book, policy, given=self.keys)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        boxes = Boxes(intruder, wanted)
        rows = intruder.known.places[wanted.keys[1]]
        inside: list[Bools] = []
        cells: list[Floats] = []
        while len(cells) < LOOKS[-1] and not intruder.hopeless:
            drawn = boxes.draw()
            table = boxes.table(drawn)
            if table is not None:
                inside.append(drawn)
                cells.append(np.nan_to_num(values(table)[rows]))
            if table is not None and len(cells) in LOOKS:
                yield Claims.of(_classes(boxes, np.stack(inside), np.stack(cells)))


def _classes(boxes: Boxes, inside: Bools, rows: Floats) -> Floats:
    """The class of each target whose cell has most people in the target's box; `rows` are its cells in every table."""
    design = inside.reshape(len(inside), -1).astype(np.float64)
    tables, targets, classes = rows.shape
    held = non_negative(design, rows.reshape(tables, -1)).reshape(-1, targets, classes)
    return np.asarray(held[boxes.own, np.arange(targets)].argmax(axis=1), np.float64)


def non_negative(design: Floats, counts: Floats) -> Floats:
    """How many people every box holds of every cell, by least squares: none holds fewer than nobody."""
    gram, target = design.T @ design, design.T @ counts
    step = 1 / float(np.linalg.eigvalsh(gram)[-1])
    held = np.maximum(np.linalg.lstsq(design, counts, rcond=None)[0], 0.0)
    for _ in range(STEPS):
        held = np.maximum(held - step * (gram @ held - target), 0.0)
    return np.asarray(held)
