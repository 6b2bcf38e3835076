"""The grammar of the search: what two or three questions about a target may look like."""

from dataclasses import dataclass, replace

import numpy as np

__all__ = ["BINS", "CLASSES", "ROWS", "Shape", "mutated", "random_shape"]

BINS = ("all", "without", "only", "some", "some without")
"""Bins of the first key in the universe: all, all but the target's, the target's alone, some at random with the target's,
the same without it."""

CLASSES = ("all", "own", "others")
"""Classes of the third key in the universe: all, the target's, all others."""

ROWS = (("second",), ("third",), ("second", "third"))
"""Keys in the table."""

Side = tuple[str, str]
"""One question: which bins and which classes are in its universe."""


@dataclass(frozen=True)
class Shape:
    """Two or three questions whose answers are compared. The wanted variable stands in the table, or a random half of its
    classes in the universe.
    """

    rows: tuple[str, ...]
    halved: bool
    sides: tuple[Side, ...]

    @property
    def random(self) -> bool:
        """Whether asking again, with other bins or another half, tells something new."""
        return self.halved or any(bins.startswith("some") for bins, _ in self.sides)


def random_shape(rng: np.random.Generator) -> Shape:
    """Any shape."""
    return Shape(ROWS[rng.integers(3)], bool(rng.integers(2)), tuple(_side(rng) for _ in range(rng.integers(2, 4))))


def mutated(shape: Shape, rng: np.random.Generator) -> Shape:
    """The shape with one thing changed."""
    what = rng.integers(4)
    if what == 0:
        return replace(shape, rows=ROWS[rng.integers(3)])
    if what == 1:
        return replace(shape, halved=not shape.halved)
    sides, place = list(shape.sides), rng.integers(len(shape.sides))
    if what == 2 and len(sides) == 3:
        del sides[place]
    else:
        bins, classes = _side(rng)
        sides[place] = (bins, sides[place][1]) if rng.integers(2) else (sides[place][0], classes)
    return replace(shape, sides=tuple(sides))


def _side(rng: np.random.Generator) -> Side:
    return BINS[rng.integers(len(BINS))], CLASSES[rng.integers(len(CLASSES))]
