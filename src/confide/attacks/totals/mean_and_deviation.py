"""B6: mean and standard deviation of one cell together, with and without the largest."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.intruder import Intruder
from confide.attacks.totals.differences import in_the_top_bin, with_and_without
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["MeanAndDeviation"]


@dataclass(frozen=True)
class MeanAndDeviation:
    """Solve for the contribution of the largest from sums of squares.

    A group's weighted count W, mean m and standard deviation s tell its sum of squares, W (m^2 + s^2). Over a group with the
    target and without it, the difference is w y^2, in which one who is far above all others stands out far more than in the
    difference of totals, w y. Both together give y and w.

    Tried: (1) w y as the difference of totals alone, which is B3; (2) y as the ratio of the two differences, times w from the
    difference of counts; (3) the root of w y^2 times w, with a weight of at least 1, which is kept: the noise of a root is half that
    of the square.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "mean-and-deviation"
    code: ClassVar = "B6"
    words: ClassVar = "mean and standard deviation of the same cells, with and without the largest"
    knows: ClassVar = (
        "two classes of the target, that it is in the top bin of the number, and that nobody else there is"
    )

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        return in_the_top_bin(book, policy, keys=self.keys, secret=self.secret)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        found = with_and_without(intruder, wanted, "weighted_count", "mean", "sd")
        if found is not None:
            (more, squares), (less, rest) = (_squares(*part) for part in found)
            weight, gained = np.maximum(more - less, 1.0), squares - rest
            yield Claims.of(np.where(gained > 0, np.sqrt(np.maximum(gained, 0.0) * weight), np.nan))


def _squares(weights: Floats, means: Floats, deviations: Floats) -> tuple[Floats, Floats]:
    """The weights of a group and its sum of squares."""
    return weights, weights * (means**2 + deviations**2)
