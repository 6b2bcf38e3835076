"""What an intruder knows of additive noise: how it is spread, learnt from the released file and the parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.spatial.distance import cdist

from confide.arrays import Floats, Ints
from confide.measures.records import FileRecords
from confide.microdata import AdditiveNoise, NonlinearNoise

__all__ = ["NoiseModel"]


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """Released numbers are mean + scale (x - mean + e), with e of covariance matrix `noise`; `undone` are x + e."""

    names: tuple[str, ...]
    undone: Floats
    noise: Floats

    @classmethod
    def of(cls, released: pa.Table, method: AdditiveNoise, names: Sequence[str]) -> "NoiseModel":
        """From the released file: the covariance matrix of the original follows from the kind of noise and k."""
        columns = FileRecords.of(released, names).columns
        y = np.column_stack([columns[name].numbers for name in names])
        whole = y[~np.isnan(y).any(axis=1)]
        mean, spread = whole.mean(axis=0), np.atleast_2d(np.cov(whole, rowvar=False))
        scaled = method.kind in ("linear", "covariance-preserving")
        true = spread if scaled else spread / (1 + method.k)
        noise = method.k * (np.diag(np.diag(true)) if method.kind == "uncorrelated" else true)
        scale = 1 / np.sqrt(1 + method.k) if scaled else 1.0
        return cls(tuple(names), mean + (y - mean) / scale, noise)

    @classmethod
    def of_scores(cls, scores: Floats, method: NonlinearNoise, names: Sequence[str]) -> "NoiseModel":
        """From released values as normal scores, which are (z + e) / sqrt(1 + k): their covariance matrix is that of z."""
        whole = scores[~np.isnan(scores).any(axis=1)]
        noise = method.k * np.atleast_2d(np.cov(whole, rowvar=False))
        return cls(tuple(names), scores * np.sqrt(1 + method.k), noise)

    def distances(self, targets: Floats, columns: Ints) -> Floats:
        """Squared Mahalanobis distances, by the noise, of targets (rows) to released records, in these columns.

        What is missing is taken to be the mean of the noise, 0.
        """
        # the least noise in any direction is not held to be less than rounding leaves
        values, vectors = np.linalg.eigh(self.noise[np.ix_(columns, columns)])
        turn = vectors / np.sqrt(np.maximum(values, 1e-12 * values.max()))
        if not (np.isnan(targets).any() or np.isnan(self.undone[:, columns]).any()):
            return np.asarray(cdist(targets @ turn, self.undone[:, columns] @ turn, "sqeuclidean"))
        total = np.empty((len(targets), len(self.undone)))
        for number, target in enumerate(targets):
            total[number] = np.sum((np.nan_to_num(self.undone[:, columns] - target) @ turn) ** 2, axis=1)
        return total

    def less_noise(self, rows: Ints, seen: Floats, columns: Ints, wanted: int) -> Floats:
        """A noisy column of some records less what their noise in other columns, now known, tells of its noise."""
        cross, own = self.noise[wanted, columns], self.noise[np.ix_(columns, columns)]
        slopes = np.linalg.lstsq(own, cross, rcond=None)[0]
        return np.asarray(self.undone[rows, wanted] - np.nan_to_num(self.undone[np.ix_(rows, columns)] - seen) @ slopes)
