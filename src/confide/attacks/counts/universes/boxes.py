"""Random universes: boxes of two keys left out, the third key and the wanted variable in the table."""

from dataclasses import dataclass
from itertools import compress

import numpy as np

from confide.arrays import Bools, Ints
from confide.attacks.choosing import codes
from confide.attacks.claims import UnitTargets
from confide.attacks.intruder import Intruder
from confide.model.release import Release

__all__ = ["Boxes"]

LEFT_OUT = (0.1, 0.5)
"""The share of boxes that a random universe leaves out lies between these: more makes tables that are too sparse."""


@dataclass(frozen=True)
class Boxes:
    """The cross of two keys, any boxes of which can be left out of a universe: a piece for each class of the coarser."""

    intruder: Intruder
    wanted: UnitTargets
    measure: tuple[str, ...] = ("count",)

    @property
    def occupied(self) -> list[tuple[int, int]]:
        """The boxes that hold a target."""
        bins, classes = self._places
        return sorted({*zip(bins.tolist(), classes.tolist(), strict=True)})

    def targets(self, box: tuple[int, int]) -> Ints:
        """Those in a box."""
        bins, classes = self._places
        return np.flatnonzero((bins == box[0]) & (classes == box[1]))

    @property
    def own(self) -> Ints:
        """The place of each target's box in a universe that `draw` gave, laid out in one row."""
        bins, classes = self._places
        return bins * len(codes(self.intruder.book, self.wanted.keys[2])) + classes

    @property
    def _places(self) -> tuple[Ints, Ints]:
        known = self.intruder.known.places
        return known[self.wanted.keys[0]], known[self.wanted.keys[2]]

    def draw(self) -> Bools:
        """Which boxes are in a random universe, by bins and classes.

        Only so many classes differ as there may be pieces, with one piece to spare for a box that changes sides.
        """
        rng, book = self.intruder.rng, self.intruder.book
        hidden, _, coarse = self.wanted.keys
        inside = rng.random((len(codes(book, hidden)), len(codes(book, coarse)))) >= rng.uniform(*LEFT_OUT)
        alike = rng.permutation(inside.shape[1])[max(self.intruder.policy.universe.pieces - 2, 0) :]
        inside[:, alike] = inside[:, alike[:1]]
        return inside

    def table(self, inside: Bools) -> Release | None:
        """The table of the key that is shown and the confidential variable over these boxes."""
        book, (hidden, shown, coarse) = self.intruder.book, self.wanted.keys
        pieces = []
        for pattern in np.unique(inside, axis=1).T:
            if pattern.any():
                alike = (inside == pattern[:, None]).all(axis=0)
                piece = {hidden: list(compress(codes(book, hidden), pattern))}
                pieces.append(piece if alike.all() else {**piece, coarse: list(compress(codes(book, coarse), alike))})
        return self.intruder.table(shown, self.wanted.secret, where=pieces, measure=self.measure)
