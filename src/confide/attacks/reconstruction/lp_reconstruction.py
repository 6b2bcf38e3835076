"""D1: counts over many overlapping universes, and the linear program that explains them best (Dinur and Nissim 2003)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import class_secret, codes, named
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.counts.keys import three_keys
from confide.attacks.intruder import Intruder, values
from confide.attacks.passing import within_rules
from confide.attacks.reconstruction.least_error import least_error
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.universe import Piece, Universe

__all__ = ["LinearPrograms"]

LOOKS = (60, 120, 240)
"""After so many tables claims are made; the last time for good."""

LIKELY = 2
"""So many classes of each target go through the linear program: those that least squares, which is quick, finds likeliest."""


@dataclass(frozen=True)
class LinearPrograms:
    """Read the confidential class of people who are alone on three keys by reconstructing who is in each box of two of them.

    Each universe is a random set of boxes: for some codes of one key a piece with random bins of another. The table shows
    the third key and the confidential classes. In each cell of the target's row the numbers of people in the boxes are
    unknown, and at most 1 in the target's own. Those that explain all published counts with the least absolute error say
    in which class the target is.

    Tried (20,000 people): (1) random halves of the classes in the universe and two keys in the table, a program for each half
    with two sets a bin: 63 % against `tablebuilder` in 217 questions and 65 % against `standard` in 577, of which the rule on
    remainders refused 321. (2) The classes in the table and a program for each, `standard` after 60, 120 and 240 tables: 73, 87
    and 93 % of 60 targets. (3) Least squares in place of programs: 75, 90 and 96 % of 200. (4) Programs for the two classes
    that least squares finds likeliest: 79, 88 and 94 % of 200, kept: it is right more often after few tables.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "lp-reconstruction"
    code: ClassVar = "D1"
    words: ClassVar = "counts over many overlapping universes, explained with the least error"
    knows: ClassVar = "three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        wanted = UnitTargets(three_keys(book, self.keys), class_secret(book, self.secret))
        return within_rules(wanted, book, policy, given=self.keys)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        bins, shown, pieces = wanted.keys
        known, book = intruder.known, intruder.book
        own = np.ravel_multi_index((known.places[pieces], known.places[bins]), _shape(book, wanted))
        asked: list[Bools] = []
        rows: list[Floats] = []
        while len(asked) < LOOKS[-1] and not intruder.hopeless:
            boxes = _boxes(intruder.rng, _shape(book, wanted), intruder.policy.universe.pieces)
            table = intruder.table(shown, wanted.secret, where=_universe(book, wanted, boxes))
            if table is not None:
                asked.append(boxes.ravel())
                rows.append(np.nan_to_num(values(table)[known.places[shown]]))
            if table is not None and len(asked) in LOOKS:
                yield Claims.of(_classes(np.stack(asked), np.stack(rows), own))


def _shape(book: Dataset, wanted: UnitTargets) -> tuple[int, int]:
    bins, _, pieces = wanted.keys
    return len(codes(book, pieces)), len(codes(book, bins))


def _boxes(rng: np.random.Generator, shape: tuple[int, int], pieces: int) -> Bools:
    """Random bins for as many codes as there may be pieces; never none."""
    chosen = rng.permutation(shape[0]) < pieces
    boxes = (rng.random(shape) < 0.5) & chosen[:, None]
    boxes[chosen, rng.integers(shape[1])] = True
    return np.asarray(boxes)


def _universe(book: Dataset, wanted: UnitTargets, boxes: Bools) -> Universe:
    bins, _, pieces = wanted.keys
    parts = zip(codes(book, pieces), boxes, strict=True)
    return Universe(
        tuple(Piece.of({pieces: [code], bins: named(book, bins, some)}) for code, some in parts if some.any())
    )


def _classes(asked: Bools, rows: Floats, own: Ints) -> Floats:
    """The class whose cell holds most of the target's own box; `rows` has tables, targets and classes for axes."""
    tables, targets, classes = rows.shape
    rough = np.linalg.lstsq(asked.astype(np.float64), rows.reshape(tables, -1), rcond=None)[0]
    rough = rough.reshape(-1, targets, classes)[own, np.arange(targets)]
    likely = np.argsort(-rough, axis=1)[:, :LIKELY]
    answers = np.take_along_axis(rows, likely[None], axis=2).reshape(tables, -1).T
    boxes = np.repeat(own, likely.shape[1])
    most = np.where(np.arange(asked.shape[1]) == boxes[:, None], 1.0, np.inf)
    found = least_error(asked, answers, most)
    held = found[np.arange(len(boxes)), boxes].reshape(likely.shape)
    # Where the program cannot tell, least squares does.
    best = (held + 1e-3 * np.take_along_axis(rough, likely, axis=1)).argmax(axis=1)
    return np.asarray(likely[np.arange(targets), best], np.float64)
