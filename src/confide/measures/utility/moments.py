"""What the numbers of a file say about means, covariances, correlations and principal components."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.arrays import Floats
from confide.errors import Mistake

__all__ = ["FileMoments"]

NOTHING = 1e-12
"""A component with less than this share of the variance has no scores; a column that varies less is constant."""


@dataclass(frozen=True)
class FileMoments:
    """Complete records and their weights, which are divided so that their mean is 1."""

    values: Floats
    weight: Floats

    @classmethod
    def of(cls, values: Floats, weight: Floats | None, which: str) -> "FileMoments":
        """Take the records in which every number is known; if there are none, that is a Mistake."""
        known = ~np.isnan(values).any(axis=1)
        if not known.any():
            raise Mistake(
                f"In the {which} file no record has a value in every one of these columns.",
                suggestions=["Name fewer columns."],
            )
        chosen = np.ones(int(known.sum())) if weight is None else weight[known]
        return cls(values[known], chosen / chosen.mean())

    @cached_property
    def mean(self) -> Floats:
        return np.asarray(np.average(self.values, axis=0, weights=self.weight))

    @cached_property
    def centred(self) -> Floats:
        """The values less their means; what is only rounding is zero."""
        apart = self.values - self.mean
        small = np.abs(apart).max(axis=0) <= NOTHING * np.abs(self.values).max(axis=0)
        return np.where(small, 0.0, apart)

    @cached_property
    def covariance(self) -> Floats:
        """V: the sum over all but one record, weighted; of a single record it is 0."""
        product = (self.centred * self.weight[:, None]).T @ self.centred
        return np.asarray(product / max(1, len(self.values) - 1))

    @cached_property
    def deviation(self) -> Floats:
        return np.sqrt(np.diag(self.covariance))

    @cached_property
    def correlation(self) -> Floats:
        """R, in which a constant column has no correlation with any other, and 1 with itself."""
        unit = np.where(self.deviation > 0, self.deviation, 1.0)
        found = np.clip(self.covariance / np.outer(unit, unit), -1, 1)
        np.fill_diagonal(found, 1.0)
        return np.asarray(found)

    @cached_property
    def components(self) -> tuple[Floats, Floats]:
        """The variances of the principal components of R, largest first, and their directions, one column each."""
        values, vectors = np.linalg.eigh(self.correlation)
        return np.maximum(values[::-1], 0.0), vectors[:, ::-1]

    @cached_property
    def loadings(self) -> Floats:
        """RF: the correlations between attributes (rows) and components (columns)."""
        values, vectors = self.components
        return np.asarray(vectors * np.sqrt(values))

    @cached_property
    def communalities(self) -> Floats:
        """C: the share of each attribute that the first component explains."""
        return np.asarray(self.loadings[:, 0] ** 2)

    @cached_property
    def scores(self) -> Floats:
        """F: by what standardised attributes are multiplied to give components of variance 1; 0 if one has no variance."""
        values, vectors = self.components
        there = values > NOTHING * len(values)
        return np.asarray(vectors * np.where(there, 1 / np.sqrt(np.where(there, values, 1.0)), 0.0))

    def facing(self, other: "FileMoments") -> Floats:
        """A sign for each component: -1 where it points away from the other's, which says nothing about the data."""
        return np.where((self.components[1] * other.components[1]).sum(axis=0) < 0, -1.0, 1.0)
