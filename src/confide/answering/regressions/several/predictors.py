"""The linear predictors of a model of several classes, and the coefficients that they have in common.

Every predictor has all columns of the design. In a multinomial model all their coefficients are free. In an ordered one each has
a threshold of its own and all have the same slopes, which lower them: log odds of being in class k or below = threshold_k -
x'beta (McCullagh 1980). In one of durations each period has a level of its own and all have the same slopes (Cox 1972, section 6;
Singer and Willett 1993). Coefficients stand term by term, so that those of a term follow one another.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.arrays import Floats
from confide.model.design import Category, Design, Duration
from confide.model.request import Family

__all__ = ["LinearPredictors"]


@dataclass(frozen=True)
class LinearPredictors:
    """What the columns of all predictors are in terms of the coefficients of the model."""

    family: Family
    design: Design

    @property
    def many(self) -> int:
        return self.design.predictors

    @cached_property
    def constraint(self) -> Floats:
        """The matrix from coefficients to those of every predictor, one after the other."""
        places, width = self._places, self.many * self.design.columns
        found = np.zeros((width, sum(self.widths)))
        for (k, column), at in places.items():
            found[k * self.design.columns + column, at] = -1.0 if column and self.family is Family.ORDERED else 1.0
        return found

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many coefficients each term has, the thresholds or intercepts first."""
        free = self.many if self.family is Family.MULTINOMIAL else 1
        return self.many, *(block.width * free for block in self.design.blocks[1:])

    def of(self, matrix: Floats) -> Floats:
        """The matrix on coefficients of what a matrix does to the columns of every predictor."""
        return np.asarray(self._back @ np.kron(np.eye(self.many), matrix) @ self.constraint)

    def among(self, matrix: Floats) -> Floats:
        """The matrix on coefficients of what a matrix does to the predictors."""
        return np.asarray(self._back @ np.kron(matrix, np.eye(self.design.columns)) @ self.constraint)

    @cached_property
    def _back(self) -> Floats:
        return np.asarray(np.linalg.pinv(self.constraint))

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """The predictor and the column of each coefficient; of those that are common the first predictor."""
        found: dict[int, tuple[int, int]] = {}
        for pair, at in self._places.items():
            found.setdefault(at, pair)
        return [found[at] for at in range(len(found))]

    def compared(self, k: int, column: int) -> tuple[int, ...]:
        """The outcomes of those whom a coefficient tells of: two classes, those below a threshold, those there in a period; or all."""
        response = self.design.response
        assert isinstance(response, Category | Duration)
        every = tuple(range(response.outcomes))
        if self.family is Family.MULTINOMIAL:
            return 0, k + 1
        if column:
            return every
        return every[: k + 1] if self.family is Family.ORDERED else every[2 * k :]

    @property
    def _places(self) -> dict[tuple[int, int], int]:
        """Where the coefficient of each predictor and column stands."""
        found: dict[tuple[int, int], int] = {}
        at = 0
        for block in self.design.blocks:
            free = not block.offset or self.family is Family.MULTINOMIAL
            for k in range(self.many):
                start = at + k * block.width if free else at
                found |= {(k, block.offset + own): start + own for own in range(block.width)}
            at += block.width * (self.many if free else 1)
        return found
