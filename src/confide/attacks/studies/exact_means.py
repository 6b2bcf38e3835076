"""T6, exact means beside noisy counts: the counts are those whose means add up."""

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from confide.arrays import Ints
from confide.attacks.studies.study import StudyResult, figures

__all__ = ["ExactMeansStudy"]


@dataclass(frozen=True)
class ExactMeansStudy:
    """A row of cells: counts moved by at most D, and beside them the true mean of each cell and of the row, to `decimals`.

    The intruder goes through all counts that the noise allows. The row's mean must be that of the cells, weighted by their
    counts, to within rounding; if one choice alone fits, it is the claim. Incomes are whole numbers, so a count times its mean
    must be nearly whole, too: with this few choices are left.
    """

    title: ClassVar[str] = "Exact means beside noisy counts"
    source: ClassVar[str] = "enumeration"

    cells: int = 4
    D: int = 2
    decimals: int = 2
    largest: int = 30
    rows: int = 1_000
    seed: int = 1

    def run(self) -> StudyResult:
        """How many rows have their counts found exactly, by what is used, and how many claims are wrong."""
        rng = np.random.default_rng(self.seed)
        moves = np.array(list(product(range(-self.D, self.D + 1), repeat=self.cells)))
        right, claimed = np.array([self._row(rng, moves) for _ in range(self.rows)]).mean(axis=0)
        ways = ("means", "means and whole sums")
        return StudyResult(
            self.title,
            (
                *figures("rows solved, by use of", zip(ways, right, strict=True)),
                *figures("claims that are wrong, by use of", zip(ways, claimed - right, strict=True)),
            ),
        )

    def _row(self, rng: np.random.Generator, moves: Ints) -> list[list[bool]]:
        """Whether the counts of one row are found, and whether any are claimed; by means, and by whole sums besides."""
        counts = rng.integers(3, self.largest + 1, self.cells)
        incomes = [np.rint(rng.lognormal(10.2, 0.6, count)) for count in counts]
        means = np.array([np.round(values.mean(), self.decimals) for values in incomes])
        overall = np.round(np.concatenate(incomes).mean(), self.decimals)
        allowed = counts + rng.integers(-self.D, self.D + 1, self.cells) + moves
        allowed = allowed[(allowed > 0).all(axis=1)]
        gap = abs(allowed @ means / allowed.sum(axis=1) - overall)
        unit = 1.001 * 10.0**-self.decimals
        fits = gap <= unit  # half a unit for the row, at most half for its cells
        whole = (abs(allowed * means - np.rint(allowed * means)) <= allowed * unit / 2).all(axis=1)
        found = [allowed[fits], allowed[fits & whole]]
        claimed = [len(few) == 1 for few in found]
        return [[c and bool((few == counts).all()) for c, few in zip(claimed, found, strict=True)], claimed]
