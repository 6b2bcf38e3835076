"""D1, reconstruction by linear programs: many noisy counts of random sets give everyone's bit (Dinur and Nissim 2003)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linprog

from confide.arrays import Bools, Floats
from confide.attacks.studies.study import StudyResult, figures

__all__ = ["LinearReconstruction", "reconstruct"]


@dataclass(frozen=True)
class LinearReconstruction:
    """A secret bit of each of n people, and counts of those who have it in random halves of them, with normal noise.

    The intruder takes the numbers in [0, 1] whose sums come closest to the answers, by absolute error, and rounds them.
    """

    title: ClassVar[str] = "Reconstruction by linear programs"
    source: ClassVar[str] = "Dinur and Nissim 2003"

    n: int = 80
    questions: int = 800
    noise: tuple[float, ...] = (0.5, 2, 4, 8)
    runs: int = 5
    seed: int = 1

    def run(self) -> StudyResult:
        """The share of bits that come out right, by the standard deviation of the noise; guessing gives a half."""
        rng = np.random.default_rng(self.seed)
        right = {f"{sd:g}": np.mean([self._right(rng, sd) for _ in range(self.runs)]) for sd in self.noise}
        return StudyResult(self.title, figures("bits right, by sd of the noise", right))

    def _right(self, rng: np.random.Generator, sd: float) -> float:
        bits = rng.random(self.n) < 0.5
        asked = rng.random((self.questions, self.n)) < 0.5
        answers = asked @ bits.astype(np.float64) + sd * rng.standard_normal(self.questions)
        return float((reconstruct(asked, answers) == bits).mean())


def reconstruct(asked: Bools, answers: Floats) -> Bools:
    """The bits that explain the answers best, in absolute error.

    >>> reconstruct(np.array([[True, False], [True, True]]), np.array([0.1, 1.2])).tolist()
    [False, True]
    """
    questions, n = asked.shape
    # Each error is the difference of two numbers of 0 or more; what is minimised is the sum of both.
    equal = np.hstack([asked, np.eye(questions), -np.eye(questions)])
    cost = np.repeat([0.0, 1.0], [n, 2 * questions])
    box = [(0, 1)] * n + [(0, None)] * (2 * questions)
    found: Bools = linprog(cost, A_eq=equal, b_eq=answers, bounds=box).x[:n] > 0.5
    return found
