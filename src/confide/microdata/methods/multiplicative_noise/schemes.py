"""The two schemes of multiplicative noise: what noise to draw for means and covariances to stay, and how to apply it.

Oganian (2011), with the corrections that its formulas need: the noise of (9) has mean minus half its variance, and (23)
has E[XiXj] + k E[Xi] E[Xj] as denominator.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide.arrays import Floats
from confide.errors import Mistake
from confide.microdata.methods.gaussian import root

__all__ = ["Scheme", "distance", "exactly"]


@dataclass(frozen=True)
class Scheme:
    """Noise learnt from records that are known and not negative: `spread` is the root of its covariance matrix.

    `moved` says by how much that matrix had to be changed to be one: 0 but for files in which columns avoid each other.
    """

    k: float
    scores: bool
    mean: Floats
    spread: Floats
    moved: float

    @classmethod
    def learnt(cls, known: Floats, *, k: float, scores: bool, names: Sequence[str]) -> "Scheme":
        """The noise for which masked values have the means and, on average, the covariances of those known.

        With `scores`, formula (23), which always exists where two columns are sometimes positive together; else (8).
        """
        scale = known.max(axis=0)  # nothing depends on it, but squares of large numbers do not fit
        known = known / scale
        mean = known.mean(axis=0)
        about = known - mean
        covariance, product = about.T @ about / len(known), np.outer(mean, mean)
        denominator = covariance + product + (k * product if scores else 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = k * covariance / denominator
        bad = ~(ratio > -1)
        if bad.any():
            one, other = (names[place] for place in np.argwhere(bad)[0])
            raise Mistake(
                f"MultiplicativeNoise: {one!r} and {other!r} avoid each other so much that no noise keeps their covariance.",
                suggestions=[
                    "If one is zero where the other is not, name them in zeros." if scores else "Use z-scores."
                ],
            )
        matrix, moved = root(np.log1p(ratio))
        return cls(k, scores, mean * scale, matrix, moved)

    def masked(self, values: Floats, normals: Floats, centre: Floats | None = None) -> Floats:
        """Values masked by formula (21), with scores, or (7); never negative. `centre` stands in for the mean."""
        grow = float(np.sqrt(1 + self.k))
        shift = (grow - 1) * (self.mean if centre is None else centre)
        noise = normals @ self.spread
        noise -= np.sum(self.spread**2, axis=0) / 2
        np.exp(noise, out=noise)
        noise *= values + shift if self.scores else values
        if not self.scores:
            noise += shift
        noise /= grow
        return noise


def exactly(masked: Floats, like: Floats) -> Floats:
    """Masked values moved as little as can be, by one linear map, to the very means and covariances of others.

    The map is the symmetric one that carries one normal distribution to the other (Olkin and Pukelsheim 1982).
    """
    scale = _scale(like)
    about, target = (masked - masked.mean(axis=0)) / scale, (like - like.mean(axis=0)) / scale
    now, then = about.T @ about / len(about), target.T @ target / len(target)
    half = root(now).matrix
    back = np.linalg.pinv(half, rcond=1e-7, hermitian=True)
    turn = back @ root(half @ then @ half).matrix @ back
    moved: Floats = (about @ turn) * scale + like.mean(axis=0)
    return moved


def distance(masked: Floats, true: Floats) -> float:
    """The largest difference between two covariance matrices, in units of the true columns' spread."""
    scale = _scale(true)
    one, other = (np.cov((values / scale).T, bias=True) for values in (masked, true))
    return float(np.max(np.abs(one - other)))


def _scale(values: Floats) -> Floats:
    """The spread of columns that are not negative; of those that hardly vary, something that divides without harm."""
    top = values.max(axis=0)
    spread: Floats = np.maximum(top * np.maximum((values / top).std(axis=0), 1e-12), np.finfo(np.float64).tiny)
    return spread
