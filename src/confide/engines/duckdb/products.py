"""Sums of numbers and of their products, kept with a large file, so that linear models of the whole file need no scan.

A basis is the constant 1 and every number, plain and transformed, that is there in every record, less a centre near its
mean (so that no digits are lost whatever a model moves it by). Kept are the weighted sums of all products of two of the
basis, and the weighted sums of each by the classes of each variable.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from confide.arrays import Floats
from confide.model.design import Number

__all__ = ["Basis", "Products"]


@dataclass(frozen=True)
class Basis:
    """Which numbers stand at 1, 2, ... of the basis: variable, transformation, centre. The constant stands at 0."""

    numbers: tuple[tuple[str, str, float], ...]
    places: Mapping[tuple[str, str], int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", {(v, t): at for at, (v, t, _) in enumerate(self.numbers, 1)})

    def has(self, number: Number) -> bool:
        return (number.variable, number.transform.value) in self.places

    def row(self, number: Number) -> Floats:
        """The number, moved and scaled as a model wants it, in terms of the basis.

        >>> Basis((("age", "", 40.0),)).row(Number("age", shift=30.0, scale=10.0))
        array([1. , 0.1])
        """
        at = self.places[number.variable, number.transform.value]
        row = np.zeros(len(self.numbers) + 1)
        row[0], row[at] = (self.numbers[at - 1][2] - number.shift) / number.scale, 1 / number.scale
        return row


@dataclass(frozen=True)
class Products:
    """`pairs` are the sums of products of two of the basis, `classes` for each variable those of each, a row a place."""

    basis: Basis
    pairs: Floats
    classes: Mapping[str, Floats]
