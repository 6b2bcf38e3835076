"""The values a strip of unknown cross-products can take: one variable against a block of others."""

from dataclasses import dataclass
from math import lgamma, log, pi

import numpy as np

from confide.arrays import Bools, Floats
from confide.errors import Mistake

__all__ = ["Ellipsoid", "strip"]


@dataclass(frozen=True)
class Ellipsoid:
    """All s with (s - centre)' spread⁻¹ (s - centre) < 1.

    Promise: every strip that keeps the cross-product matrix positive definite lies inside, and nothing else does.
    Reference: Gomatam et al. (2004), Result 1 and Note 1; `spread` is their B⁻¹.

    >>> Ellipsoid(np.array([0.5]), np.array([[0.04]])).bounds()
    (array([0.3]), array([0.7]))
    """

    centre: Floats
    spread: Floats

    def bounds(self) -> tuple[Floats, Floats]:
        """Give the least and the greatest value of each unknown: centre ± √diag(spread)."""
        reach = np.sqrt(np.diag(self.spread))
        return self.centre - reach, self.centre + reach

    def contains(self, points: Floats) -> Bools:
        """Mark the points (one per row) that lie inside."""
        away = np.atleast_2d(points) - self.centre
        return np.asarray(np.sum(away * np.linalg.solve(self.spread, away.T).T, axis=1) < 1)

    def sample(self, size: int, *, generator: np.random.Generator) -> Floats:
        """Draw points uniformly, one per row; every draw is used, where a bounding box wastes most of them."""
        unknowns = len(self.centre)
        direction = generator.standard_normal((size, unknowns))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        radius = generator.random((size, 1)) ** (1 / unknowns)
        return np.asarray(self.centre + radius * direction @ np.linalg.cholesky(self.spread).T)

    def volume(self) -> float:
        """Give π^(k/2) / Γ(1 + k/2) · √det(spread)."""
        half = len(self.centre) / 2
        return float(np.exp(half * log(pi) - lgamma(1 + half) + np.linalg.slogdet(self.spread)[1] / 2))


def strip(cross: Floats, *, response: int, hidden: tuple[int, ...]) -> Ellipsoid:
    """Bound the cross-products of `response` with the `hidden` variables by all the other ones.

    Promise: reads no element of the strip itself, so that it gives what an intruder can know.
    Formula: centre S12 S22⁻¹ s_free, spread r (S11 - S12 S22⁻¹ S21), r = s00 - s_free' S22⁻¹ s_free.
    Reference: Gomatam et al. (2004), Result 1.

    >>> strip(np.array([[1, 0.6, np.nan], [0.6, 1, 0.8], [np.nan, 0.8, 1]]), response=0, hidden=(2,)).centre
    array([0.48])
    """
    if not hidden or response in hidden:
        raise Mistake("A strip sets one variable against others. Give at least one hidden variable, not the response.")
    ours = list(hidden)
    free = [i for i in range(len(cross)) if i != response and i not in hidden]
    _check_positive(cross, [response, *free], [*ours, *free])
    slopes = np.linalg.solve(cross[np.ix_(free, free)], cross[np.ix_(free, [response, *ours])])
    known, towards = cross[free, response], slopes[:, 1:]
    rest = cross[response, response] - known @ slopes[:, 0]
    spread = rest * (cross[np.ix_(ours, ours)] - cross[np.ix_(ours, free)] @ towards)
    return Ellipsoid(towards.T @ known, (spread + spread.T) / 2)


def _check_positive(cross: Floats, *blocks: list[int]) -> None:
    """The two known blocks must be positive definite; then, and only then, some strip fits between them."""
    try:
        for block in blocks:
            np.linalg.cholesky(cross[np.ix_(block, block)])
    except np.linalg.LinAlgError:
        raise Mistake("The known cross-products are not positive definite. Leave repeated variables out.") from None
