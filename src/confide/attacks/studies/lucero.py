"""Differencing against Drop q: the tables of U(n) and U(n - 1), each without q units drawn at random (Lucero et al. 2011, 4)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Ints
from confide.attacks.studies.study import StudyResult, figures

__all__ = ["DifferencingStudy", "dropped"]


@dataclass(frozen=True)
class DifferencingStudy:
    """Four cells of n units with the given shares; the target is in the last, the rarest.

    Each table loses q units, q uniform on 2..k, drawn without replacement, and never the same ones in both. Subtracted they show
    the target's cell if both lost the same number from every cell; they show a single unit, in whichever cell, a little more
    often. With many pairs that are drawn independently the intruder adds the differences up.
    """

    title: ClassVar[str] = "Differencing against Drop q"
    source: ClassVar[str] = "Lucero et al. 2011, section 4"

    shares: tuple[float, ...] = (0.25, 0.25, 0.25, 0.25)
    n: int = 978
    ks: tuple[int, ...] = (3, 4, 5, 6, 7)
    averaged: tuple[int, ...] = (1, 5, 10, 20, 50)
    pairs: int = 200_000
    targets: int = 2_000
    seed: int = 1

    def run(self) -> StudyResult:
        """By k: correct disclosures, single units shown, those of them that are correct; and, at k = 5, by pairs averaged."""
        rng = np.random.default_rng(self.seed)
        told = {str(k): self._disclosed(rng, k) for k in self.ks}
        return StudyResult(
            self.title,
            (
                *figures("disclosed correctly, by k", {k: right for k, (right, _) in told.items()}),
                *figures("disclosed apparently, by k", {k: apparent for k, (_, apparent) in told.items()}),
                *figures(
                    "apparent ones that are correct, by k",
                    {k: right / apparent for k, (right, apparent) in told.items()},
                ),
                *figures("read with k = 5, by independent pairs", self._averaged(rng)),
            ),
        )

    def _differences(self, rng: np.random.Generator, k: int, size: int) -> Ints:
        counts = np.rint(self.n * np.array(self.shares)).astype(np.int64)
        counts[0] += self.n - counts.sum()
        without = counts - np.eye(len(counts), dtype=np.int64)[-1]
        shown: Ints = (counts - dropped(rng, counts, k, size)) - (without - dropped(rng, without, k, size))
        return shown

    def _disclosed(self, rng: np.random.Generator, k: int) -> tuple[float, float]:
        shown = self._differences(rng, k, self.pairs)
        single = (abs(shown).sum(axis=1) == 1) & (shown.sum(axis=1) == 1)
        return float((single & (shown[:, -1] == 1)).mean()), float(single.mean())

    def _averaged(self, rng: np.random.Generator) -> dict[str, float]:
        """How often the target's cell alone has the largest sum of differences."""
        shown = self._differences(rng, 5, self.targets * max(self.averaged)).reshape(self.targets, -1, len(self.shares))
        sums = {pairs: shown[:, :pairs].sum(axis=1) for pairs in self.averaged}
        return {str(pairs): float((s[:, -1] > s[:, :-1].max(axis=1)).mean()) for pairs, s in sums.items()}


def dropped(rng: np.random.Generator, counts: Ints, k: int, size: int) -> Ints:
    """`size` draws of how many units each cell loses: q in all, q uniform on 2..k, without replacement."""
    lost = np.empty((size, len(counts)), dtype=np.int64)
    q = rng.integers(2, k + 1, size)
    for number in range(2, k + 1):
        lost[q == number] = rng.multivariate_hypergeometric(counts, number, size=int((q == number).sum()))
    return lost
