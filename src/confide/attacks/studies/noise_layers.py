"""T15, the signal in the noise: layers of noise per condition tell whether one person is in a set (Gadotti et al. 2019)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.studies.study import StudyResult, figures

__all__ = ["NoiseLayers"]


@dataclass(frozen=True)
class NoiseLayers:
    """Counts with two layers of normal noise for every condition: one for its words, one for its words and the set of people.

    The differential attack: the intruder knows `known` variables of a target who is alone on any all but one of them. For each
    variable u they ask for all the others and the secret class, and for the same with "u is not the target's". If the target is not
    in the class both sets are the same people, and all layers of the shared conditions cancel: the difference has variance 2. If
    they are, nothing that knows the set cancels, and it has mean 1 and variance 2 known + 2. A likelihood ratio decides.
    """

    title: ClassVar[str] = "Noise layers by condition"
    source: ClassVar[str] = "Gadotti et al. 2019"

    known: tuple[int, ...] = (2, 5, 8)
    targets: int = 10_000
    seed: int = 1

    def run(self) -> StudyResult:
        """How many secrets (yes or no, equally often) are read rightly, by the number of variables known."""
        rng = np.random.default_rng(self.seed)
        right = {str(known): self._right(rng, known) for known in self.known}
        return StudyResult(self.title, figures("secrets read, by variables known", right))

    def _right(self, rng: np.random.Generator, known: int) -> float:
        inside = rng.random(self.targets) < 0.5
        difference = np.rint(_answers(rng, inside, known))
        odds = _log_density(difference, 1, 2 * known + 2) - _log_density(difference, 0, 2)
        return float(((odds.sum(axis=1) > 0) == inside).mean())


def _answers(rng: np.random.Generator, inside: Bools, known: int) -> Floats:
    """Targets by variables: the answer without the condition on u less the answer with it."""
    others = rng.poisson(30, (len(inside), known))
    # Conditions shared by the two questions: one for each of the other variables, and the secret class.
    words = rng.standard_normal((len(inside), known, known))
    first = rng.standard_normal((len(inside), known, known))
    second = np.where(inside[:, None, None], rng.standard_normal(first.shape), first)
    excluding = rng.standard_normal((2, len(inside), known)).sum(axis=0)
    larger = others + inside[:, None] + words.sum(axis=2) + first.sum(axis=2)
    smaller = others + words.sum(axis=2) + second.sum(axis=2) + excluding
    difference: Floats = larger - smaller
    return difference


def _log_density(values: Floats, mean: float, variance: float) -> Floats:
    density: Floats = -0.5 * ((values - mean) ** 2 / variance + np.log(variance))
    return density
