"""T4, partition averaging: halves of a cell always add up to the same truth (Asghar and Kaafar 2020)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools
from confide.attacks.studies.study import StudyResult, figures

__all__ = ["PartitionAveraging"]


@dataclass(frozen=True)
class PartitionAveraging:
    """Counts with noise that is uniform on -r..r and belongs to the set of people; a cell split in two by classes of a variable.

    For random sets S of its classes the intruder adds the counts of the cell in S and not in S; the mean of the sums, rounded, is
    the claim. Two splits that part the same people alike give the same noise, as on a server.
    """

    title: ClassVar[str] = "Partition averaging"
    source: ClassVar[str] = "Asghar and Kaafar 2020"

    classes: int = 14
    people: int = 60
    trials: tuple[tuple[int, int], ...] = ((2, 200), (10, 500))
    cells: int = 1_000
    seed: int = 1

    def run(self) -> StudyResult:
        """How many cells are found exactly, by the reach r of the noise and the number of splits."""
        rng = np.random.default_rng(self.seed)
        exact = {f"r={r}, {splits}": self._cells(rng, r, splits).mean() for r, splits in self.trials}
        return StudyResult(self.title, figures("counts exact, by reach and splits", exact))

    def _cells(self, rng: np.random.Generator, r: int, splits: int) -> Bools:
        return np.array([self._exact(rng, r, splits) for _ in range(self.cells)])

    def _exact(self, rng: np.random.Generator, r: int, splits: int) -> bool:
        place = rng.integers(0, self.classes, self.people)
        held = np.bincount(place, minlength=self.classes)
        everyone = (1 << self.classes) - 1
        # A set of classes is a number of so many bits, and its noise stands in a table. The last class is never in S, or S and
        # its complement would be one split asked twice.
        chosen = rng.choice(1 << (self.classes - 1), splits, replace=False)
        noise = rng.integers(-r, r + 1, everyone + 1)
        occupied = int((held > 0) @ (1 << np.arange(self.classes)))
        noise[0] = 0  # nobody is counted exactly
        sums = self.people + noise[chosen & occupied] + noise[(everyone - chosen) & occupied]
        return bool(np.rint(sums.mean()) == self.people)
