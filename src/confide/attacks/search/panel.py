"""Asks the questions of a shape about many targets at once: those in one bin and class share them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import codes
from confide.attacks.claims import UnitTargets
from confide.attacks.intruder import Intruder, values
from confide.attacks.search.shapes import Shape, Side

__all__ = ["Panel"]

Where = tuple[tuple[int, ...], tuple[int, ...]]
"""The places of the bins and of the classes in a universe."""

TRIED = 3
"""So many universes of each question are tried on the real site before a shape is used."""

FARTHEST = 4.0
"""Larger differences of counts say no more than this one."""


@dataclass
class Panel:
    """Targets, whom to ask, and what is drawn for one round: some bins, and half of the classes of the wanted variable."""

    intruder: Intruder
    wanted: UnitTargets
    some: Bools
    half: Bools
    asked: dict[tuple[tuple[str, ...], bool, Where], Floats | None] = field(default_factory=dict)

    @classmethod
    def draw(cls, intruder: Intruder, wanted: UnitTargets, rng: np.random.Generator) -> "Panel":
        """With a random three quarters of the bins, and a random half of the classes."""
        bins, classes = (len(codes(intruder.book, name)) for name in (wanted.keys[0], wanted.secret))
        half = rng.permutation(classes) < (classes + 1) // 2
        return cls(intruder, wanted, np.asarray(rng.random(bins) < 0.75), np.asarray(half))

    def features(self, shape: Shape) -> Floats:
        """By target and class: for each two answers whether they differ, whether they agree, and by how much they differ.

        They count for the classes in the half that was asked about, and against the others.
        """
        answers = [self._counts(shape, side) for side in shape.sides]
        sign = np.where(self.half, 1.0, -1.0) if shape.halved else np.ones(len(self.half))
        found = [part * sign for pair in combinations(answers, 2) for part in _compared(*pair)]
        return np.stack(found, axis=2)

    def cost(self, shape: Shape) -> int:
        """How many questions the shape takes."""
        return len({where for side in shape.sides for where, _ in self._groups(side)})

    def answered(self, shape: Shape) -> float:
        """The share of a few of its questions that are answered: invented data may be refused less often than real ones."""
        tried = [
            (shape.rows, shape.halved, where) for side in shape.sides for where, _ in islice(self._groups(side), TRIED)
        ]
        for key in tried:
            if key not in self.asked:
                self.asked[key] = self._table(*key)
        return sum(self.asked[key] is not None for key in tried) / max(len(tried), 1)

    def _counts(self, shape: Shape, side: Side) -> Floats:
        """The count in the cell of each target, by class, or the same for all classes of the half; NaN if refused."""
        found = np.full((self.intruder.known.size, len(self.half)), np.nan)
        for where, here in self._groups(side):
            key = (shape.rows, shape.halved, where)
            if key not in self.asked:
                self.asked[key] = self._table(*key)
            if (table := self.asked[key]) is not None:
                cells = table[tuple(self._places(row)[here] for row in shape.rows)]
                found[here] = cells[:, None] if shape.halved else cells
        return found

    def _groups(self, side: Side) -> Iterator[tuple[Where, Ints]]:
        """The universes of a question, and the targets that each is about."""
        both = np.stack([self._places("first"), self._places("third")], axis=1)
        for bin, place in np.unique(both, axis=0).tolist():
            where = self._bins(side[0], bin), self._classes(side[1], place)
            if where[0] and where[1]:
                yield where, np.flatnonzero((both == (bin, place)).all(axis=1))

    def _bins(self, kind: str, own: int) -> tuple[int, ...]:
        every = np.arange(len(self.some))
        some = every[self.some | (every == own)]
        kept = {"all": every, "without": every[every != own], "only": every[every == own], "some": some}
        return tuple(kept.get(kind, some[some != own]).tolist())

    def _classes(self, kind: str, own: int) -> tuple[int, ...]:
        every = range(len(codes(self.intruder.book, self.wanted.keys[2])))
        return tuple(p for p in every if kind == "all" or (p == own) == (kind == "own"))

    def _table(self, rows: tuple[str, ...], halved: bool, where: Where) -> Floats | None:
        first, _, third = self.wanted.keys
        limits = {first: where[0], third: where[1]}
        if halved:
            limits[self.wanted.secret] = tuple(np.flatnonzero(self.half).tolist())
        by = [self._name(row) for row in rows] + ([] if halved else [self.wanted.secret])
        release = self.intruder.table(*by, where=self._universe(limits))
        return None if release is None else values(release)

    def _universe(self, limits: dict[str, tuple[int, ...]]) -> dict[str, list[str]]:
        every = {name: codes(self.intruder.book, name) for name in limits}
        return {name: [every[name][p] for p in kept] for name, kept in limits.items() if len(kept) < len(every[name])}

    def _name(self, row: str) -> str:
        return self.wanted.keys[("first", "second", "third").index(row)]

    def _places(self, row: str) -> Ints:
        return self.intruder.known.places[self._name(row)]


def _compared(first: Floats, second: Floats) -> tuple[Floats, Floats, Floats]:
    seen = np.isfinite(first) & np.isfinite(second)
    difference = np.where(seen, np.nan_to_num(first) - np.nan_to_num(second), 0.0)
    agree = seen & (difference == 0) & (np.nan_to_num(first) > 0)
    clipped = np.clip(difference, -FARTHEST, FARTHEST) / FARTHEST
    return (difference != 0).astype(np.float64), agree.astype(np.float64), clipped
