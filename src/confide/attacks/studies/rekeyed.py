"""T2b, differencing under noise that is drawn anew for every universe: pads average it away."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.attacks.studies.study import StudyResult, figures
from confide.tables.perturbation.transitions import transitions

__all__ = ["RekeyedNoise"]


@dataclass(frozen=True)
class RekeyedNoise:
    """The tables of U with a pad and of U without the target with the same pad, by secret class; noise keyed on the universe.

    No cell stands still, so no change tells. But every pad gives another difference with the same truth: the intruder adds
    them up and takes the class in which most is missing. The noise is of maximum entropy with variance V, and shows no
    count of 1..js.
    """

    title: ClassVar[str] = "Noise keyed on the universe, and pads"
    source: ClassVar[str] = "Lucero et al. 2011, 3.1.2"

    secrets: int = 5
    cell: int = 40
    D: int = 3
    noise: tuple[tuple[float, int], ...] = ((1.25, 1), (2.0, 2))
    pads: tuple[int, ...] = (1, 8, 40)
    targets: int = 4_000
    seed: int = 1

    def run(self) -> StudyResult:
        """How many targets' classes are guessed rightly, by V and the number of pads; without the site 1 / secrets are."""
        rng = np.random.default_rng(self.seed)
        told = [figures(f"secrets guessed at V={V:g}, by pads", self._guessed(rng, V, js)) for V, js in self.noise]
        return StudyResult(self.title, sum(told, ()))

    def _guessed(self, rng: np.random.Generator, V: float, js: int) -> dict[str, float]:
        moves = transitions(D=self.D, V=V, js=js)
        secret = rng.integers(0, self.secrets, self.targets)
        target = np.eye(self.secrets, dtype=np.int64)[secret]
        without = rng.poisson(self.cell, target.shape)
        gone, guessed = np.zeros(target.shape), {}
        for pad in range(1, max(self.pads) + 1):
            gone += moves.draw(without + target, rng.random(target.shape))
            gone -= moves.draw(without, rng.random(target.shape))
            if pad in self.pads:
                broken = gone + 0.5 * rng.random(target.shape)  # equal sums: any of them
                guessed[str(pad)] = float((broken.argmax(axis=1) == secret).mean())
        return guessed
