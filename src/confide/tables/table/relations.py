"""The linear relations of a table: which cells add up to which."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from confide.arrays import Floats
from confide.errors import Mistake
from confide.tables.table.decimals import decimals_of

__all__ = ["Relations"]


@dataclass(frozen=True, eq=False)
class Relations:
    """Equations among cells: row r of `matrix` has -1 at a total and +1 at each of its parts, and matrix @ values = rhs.

    `rhs` is 0 unless an instance made elsewhere says otherwise (JJ files may).
    """

    matrix: sparse.csr_array
    rhs: Floats

    @classmethod
    def of(cls, parts: Iterable[tuple[int, Sequence[int]]], *, cells: int) -> "Relations":
        """From pairs of a total and its parts, all by the number of the cell.

        >>> Relations.of([(0, [1, 2])], cells=3).residuals(np.array([5.0, 2.0, 3.0]))
        array([0.])
        """
        rows, columns, signs, count = [], [], [], 0
        for total, some in parts:
            rows += [count] * (len(some) + 1)
            columns += [total, *some]
            signs += [-1.0, *[1.0] * len(some)]
            count += 1
        matrix = sparse.csr_array((signs, (rows, columns)), shape=(count, cells))
        return cls(matrix, np.zeros(count))

    @property
    def cells(self) -> int:
        return int(self.matrix.shape[1])

    def residuals(self, values: Floats) -> Floats:
        """By how much each relation fails; 0 where the table adds up."""
        return np.asarray(self.matrix @ values - self.rhs, dtype=np.float64)

    def rounded(self, values: Floats) -> bool:
        """Whether relations fail by no more than they do when true values were rounded, each by itself.

        >>> relations = Relations.of([(0, [1, 2])], cells=3)
        >>> relations.rounded(np.array([0.67, 0.33, 0.33])), relations.rounded(np.array([0.7, 0.33, 0.33]))
        (True, False)
        """
        decimals = decimals_of(values)
        if decimals is None:
            return False
        half = (0.5 + 1e-6) * 10.0**-decimals
        return bool((np.abs(self.residuals(values)) <= half * np.diff(self.matrix.indptr)).all())

    def check(self, values: Floats, *, tolerance: float = 1e-6) -> None:
        """A `Mistake` that names the first relation that fails, by the numbers of its cells."""
        scale = np.maximum(1.0, np.asarray(abs(self.matrix) @ np.abs(values)))
        failing = np.flatnonzero(np.abs(self.residuals(values)) > tolerance * scale)
        if len(failing):
            row = self.matrix[[int(failing[0])]]
            raise Mistake(
                f"The table does not add up: relation {failing[0]} among the cells {row.indices.tolist()} "
                f"({len(failing)} of {self.matrix.shape[0]} relations fail).",
                suggestions=["Correct the cells, or leave totals out and let them be computed."],
            )
