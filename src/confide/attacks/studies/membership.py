"""M1, membership: many margins of a small universe tell who is in it (Homer et al. 2008; Dwork et al. 2015)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import rankdata

from confide.arrays import Floats
from confide.attacks.studies.study import StudyResult, figures

__all__ = ["MarginMembership", "area"]


@dataclass(frozen=True)
class MarginMembership:
    """Exact shares of `margins` independent yes-no variables among n people, and a reference of n others from the same place.

    The intruder knows everything about a person but whether they are among the n, and scores them by
    (z - reference) . (released - reference): those who are in lean towards the release. By the normal law the area under the
    curve is near Φ(sqrt(margins / n) / 2).
    """

    title: ClassVar[str] = "Membership from margins"
    source: ClassVar[str] = "Homer et al. 2008; Dwork et al. 2015"

    n: int = 200
    margins: tuple[int, ...] = (50, 500, 5_000)
    runs: int = 10
    seed: int = 1

    def run(self) -> StudyResult:
        """The area under the curve that tells members from others, by the number of margins."""
        rng = np.random.default_rng(self.seed)
        areas = {str(count): np.mean([self._area(rng, count) for _ in range(self.runs)]) for count in self.margins}
        return StudyResult(self.title, figures("area under the curve, by margins", areas))

    def _area(self, rng: np.random.Generator, margins: int) -> float:
        share = rng.uniform(0.1, 0.9, margins)
        members, reference, others = rng.random((3, self.n, margins)) < share
        released, base = members.mean(axis=0), reference.mean(axis=0)
        return area((members - base) @ (released - base), (others - base) @ (released - base))


def area(members: Floats, others: Floats) -> float:
    """The probability that a member scores above another person.

    >>> area(np.array([2.0, 3.0]), np.array([1.0, 2.5]))
    0.75
    """
    ranks = rankdata(np.concatenate([members, others]))[: len(members)]
    return float((ranks.mean() - (len(members) + 1) / 2) / len(others))
