"""D2, padding: other people in the universe soak up the drops of plain Drop q (Lucero et al. 2011, 3.1.2)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Ints
from confide.attacks.studies.lucero import dropped
from confide.attacks.studies.study import StudyResult, figures

__all__ = ["PaddingStudy"]


@dataclass(frozen=True)
class PaddingStudy:
    """T(U + P) - T(U - x + P), where the pad P is a piece of its own of which the table shows where it ends.

    Plain Drop q drops from the whole universe, anew for every universe. One large pad leaves U nearly whole; many pads, here of
    three times the size of U, can be averaged. Drops by piece, drawn once for each set of units in a piece, are the same under
    every pad: neither helps.
    """

    title: ClassVar[str] = "Padding against Drop q"
    source: ClassVar[str] = "Lucero et al. 2011, 3.1.2"

    n: int = 978
    cells: int = 4
    k: int = 5
    sizes: tuple[int, ...] = (1, 10, 100)
    pads: tuple[int, ...] = (1, 10, 40)
    pairs: int = 100_000
    targets: int = 2_000
    seed: int = 1

    def run(self) -> StudyResult:
        """Disclosures by one pad of so many times n; and secrets (yes or no) read from several pads; for both kinds of drops."""
        rng = np.random.default_rng(self.seed)
        large = {str(size): self._one_pad(rng, size * self.n) for size in self.sizes}
        return StudyResult(
            self.title,
            (
                *figures("plain: disclosed, by size of pad / n", large),
                *figures("by piece: disclosed, by size of pad / n", {"any": self._one_pad(rng, 0)}),
                *figures("plain: secrets read, by pads", self._read(self._redrawn(rng))),
                *figures("by piece: secrets read, by pads", self._read(self._kept(rng))),
            ),
        )

    def _one_pad(self, rng: np.random.Generator, pad: int) -> float:
        """How often the difference within U is the target alone: both drops took equally many from every cell of U."""
        cells = np.full(self.cells, self.n // self.cells)
        cells[: self.n - cells.sum()] += 1
        whole = np.append(cells, pad)
        without = whole - np.eye(len(whole), dtype=np.int64)[0]
        first, second = (dropped(rng, counts, self.k, self.pairs)[:, :-1] for counts in (whole, without))
        return float((first == second).all(axis=1).mean())

    def _redrawn(self, rng: np.random.Generator) -> Ints:
        """Targets by pads: how many more people with the secret the table of U - x lost than that of U; anew for every pad."""
        size = self.targets * max(self.pads)
        return self._lost_more(rng, np.array([self.n // 2, self.n // 2, 3 * self.n]), size).reshape(self.targets, -1)

    def _kept(self, rng: np.random.Generator) -> Ints:
        """The same with drops that know nothing of the pad."""
        once = self._lost_more(rng, np.array([self.n // 2, self.n // 2]), self.targets)
        return np.repeat(once[:, None], max(self.pads), axis=1)

    def _lost_more(self, rng: np.random.Generator, counts: Ints, size: int) -> Ints:
        """For large n the one person more or less does not change the law of the drops."""
        return dropped(rng, counts, self.k, size)[:, 0] - dropped(rng, counts, self.k, size)[:, 0]

    def _read(self, lost: Ints) -> dict[str, float]:
        """How often the mean difference, rounded to 0 or 1, is the target's secret; half of them have it."""
        secret = np.arange(self.targets) % 2
        means = {pads: secret + lost[:, :pads].mean(axis=1) for pads in self.pads}
        return {str(pads): float(((mean > 0.5) == secret).mean()) for pads, mean in means.items()}
