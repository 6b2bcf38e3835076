"""T2, differencing under cell keys: the cell that changed is the target's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Ints
from confide.attacks.studies.study import StudyResult, figures
from confide.tables.perturbation.transitions import transitions

__all__ = ["TablePairs"]

Publish = Callable[[Ints, NDArray[np.uint64]], Ints]


@dataclass(frozen=True)
class TablePairs:
    """Counts with noise from cell keys (maximum entropy, reach D, variance V, no 1 or 2), asked with and without one person.

    Noise belongs to the set of people in a cell, so every cell but the target's is the same in both tables. Where one differs
    it is theirs, and says their secret class. A pair may show no change; then another variable beside the secret makes
    another pair.

    Noise is read off the sum of record keys itself, as first proposed: a target moves it by
    the same amount in every table, and one whose key happens to make up for the person who is missing is found last.
    """

    title: ClassVar[str] = "Table pairs under cell keys"
    source: ClassVar[str] = "Lucero et al. 2011, 3.1.2"

    people: int = 200
    secrets: int = 5
    others: int = 3
    D: int = 5
    V: float = 2.0
    pairs: tuple[int, ...] = (1, 3, 8)
    targets: int = 1_000
    seed: int = 1

    def run(self) -> StudyResult:
        """How many targets' secrets are claimed rightly and wrongly, by the number of table pairs."""
        rng = np.random.default_rng(self.seed)
        published = self._publisher()
        seen = np.stack([self._target(rng, published) for _ in range(self.targets)])
        right, wrong = seen[..., 0], seen[..., 1]
        return StudyResult(
            self.title,
            (
                *figures("secrets read, by table pairs", {str(m): right[:, :m].any(axis=1).mean() for m in self.pairs}),
                *figures("claims that are wrong, by table pairs", {str(max(self.pairs)): wrong.any(axis=1).mean()}),
            ),
        )

    def _publisher(self) -> Publish:
        moves = transitions(D=self.D, V=self.V, js=2)

        def published(cells: Ints, keys: NDArray[np.uint64]) -> Ints:
            size = self.secrets * self.others
            sums = np.zeros(size, dtype=np.uint64)
            np.add.at(sums, cells, keys)  # cell keys: sums of record keys, modulo 2^64
            return moves.draw(np.bincount(cells, minlength=size), (sums >> np.uint64(11)).astype(np.float64) * 2.0**-53)

        return published

    def _target(self, rng: np.random.Generator, published: Publish) -> Bools:
        """Pairs by (right, wrong): whether the change of each says the class of person 0, or another one."""
        secret = rng.integers(0, self.secrets, self.people)
        keys = rng.integers(0, 2**64, self.people, dtype=np.uint64)
        found = np.zeros((max(self.pairs), 2), dtype=np.bool_)
        for pair in range(max(self.pairs)):
            cells = secret * self.others + rng.integers(0, self.others, self.people)
            changed = np.flatnonzero(published(cells, keys) != published(cells[1:], keys[1:])) // self.others
            found[pair] = (changed == secret[0]).any(), (changed != secret[0]).any()
        return found
