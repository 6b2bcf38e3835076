"""Normal noise with a given covariance, and what is learnt of a file before it is drawn."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from confide.arrays import Bools, Floats
from confide.errors import Mistake
from confide.microdata.records import Records

__all__ = ["Root", "complete", "must_vary", "normals", "orthogonal", "root"]


class Root(NamedTuple):
    """The symmetric root of the covariance matrix nearest to a given one, and how far that had to be moved.

    `moved` is the Frobenius norm of the change as a share of the matrix's own; 0 where nothing had to change.
    """

    matrix: Floats
    moved: float


def root(matrix: Floats) -> Root:
    """The symmetric root of a symmetric matrix, projected to the nearest that is positive semidefinite.

    >>> root(np.array([[1.0, 2.0], [2.0, 1.0]])).moved.__round__(4)
    0.3162
    """
    values, vectors = np.linalg.eigh(matrix)
    size = float(np.sqrt(np.sum(values**2)))
    below = values[values < -1e-12 * max(size, 1e-300)]
    moved = float(np.sqrt(np.sum(below**2))) / size if len(below) else 0.0
    return Root((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T, moved)


def complete(values: Floats) -> Bools:
    """Which records have all columns known."""
    return np.asarray(~np.isnan(values).any(axis=1))


def normals(records: Records, names: Sequence[str], size: int, *words: str) -> Floats:
    """Independent standard normal draws, a stream for each name, so that the order of columns does not matter."""
    drawn = np.empty((size, len(names)))
    for j, name in enumerate(names):
        drawn[:, j] = records.rng(name, *words).standard_normal(size)
    return drawn


def orthogonal(noise: Floats, scores: Floats) -> Floats:
    """Noise of mean 0 and unit covariance matrix, uncorrelated with the scores (of mean 0): in this very sample.

    What the noise has in common with the scores is taken away, and the rest is whitened. There must be more than twice
    as many records as columns.
    """
    rest = noise - noise.mean(axis=0)
    rest -= scores @ (np.linalg.pinv(scores.T @ scores, hermitian=True) @ (scores.T @ rest))
    values, vectors = np.linalg.eigh(rest.T @ rest / (len(rest) - 1))
    whitened: Floats = rest @ ((vectors / np.sqrt(values)) @ vectors.T)
    return whitened


def must_vary(title: str, names: Sequence[str], known: Floats, *, where: str) -> None:
    """A Mistake where noise in proportion to spread would do nothing: too few records, or a column that is constant."""
    if len(known) < 2:
        raise Mistake(
            f"{title}: fewer than two records have all columns known{where}, so their spread is not.",
            suggestions=["Mask fewer columns together, or make the parts of the file larger."],
        )
    for name, low, high in zip(names, known.min(axis=0), known.max(axis=0), strict=True):
        if low == high:
            raise Mistake(
                f"{title}: column {name!r} is the same in all records{where}, so noise would leave it as it is.",
                suggestions=["Leave it out, or make the parts of the file larger."],
            )
