"""T5, the known maximum: noise that reaches D at most, and cells that add up, bound every count by linear programs."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_diag, csr_array, vstack

from confide.arrays import Ints
from confide.attacks.studies.study import StudyResult, figures

__all__ = ["KnownMaximum", "bounds"]


@dataclass(frozen=True)
class KnownMaximum:
    """Tables of 3 by 3 counts with their margins, each number moved on its own by at most D; zeros are not moved.

    The intruder takes the least and the greatest value of each cell over all tables that could have been published so. The
    same counts are also published with margins that add up, none farther than D from the truth.
    """

    title: ClassVar[str] = "Known maximum and margins"
    source: ClassVar[str] = "linear programs"

    D: int = 2
    mean: float = 1.5
    tables: int = 200
    seed: int = 1

    def run(self) -> StudyResult:
        """A row published as 1, 1 and a total of 0; and the share of published counts above zero that are known exactly."""
        rng = np.random.default_rng(self.seed)
        true = rng.poisson(self.mean, (self.tables, 3, 3))
        apart, along = _each_moved(rng, true, self.D), _moved_to_add_up(rng, true, self.D)
        low, high = bounds(np.array([[[1, 1]]]), np.array([[0, 1, 1]]), D=self.D)
        return StudyResult(
            self.title,
            (
                *figures("true total of a row shown as 1 + 1 = 0", {"least": low.sum(), "greatest": high.sum()}),
                *figures(
                    "counts above zero known exactly",
                    {"each moved alone": _known(*apart, D=self.D), "adding up": _known(*along, D=self.D)},
                ),
            ),
        )


def bounds(inner: Ints, margins: Ints, *, D: int) -> tuple[Ints, Ints]:
    """The least and the greatest true count of each inner cell of each table; margins are those of rows, then of columns.

    A published number above zero is a true one above zero. In a two-way table with whole bounds the corners of the linear
    program are whole, so no integer program is needed. Tables do not touch, so one program serves one cell of all of them.

    >>> low, high = bounds(np.array([[[1, 1]]]), np.array([[0, 1, 1]]), D=2)
    >>> low.tolist(), high.tolist()
    ([[[1, 1]]], [[[1, 1]]])
    """
    tables, height, width = inner.shape
    sums = csr_array(block_diag([_sums(height, width)] * tables))
    least, most = np.maximum(margins - D, margins > 0).ravel(), (margins + D).ravel()
    box = np.stack([np.maximum(inner - D, inner > 0).ravel(), inner.ravel() + D], axis=1)
    found = np.empty((2, tables, height * width))
    for side, sign in enumerate((1.0, -1.0)):
        for cell in range(height * width):
            cost = np.zeros((tables, height * width))
            cost[:, cell] = sign
            solved = linprog(cost.ravel(), vstack([sums, -sums]), np.concatenate([most, -least]), bounds=box)
            found[side, :, cell] = solved.x.reshape(tables, -1)[:, cell]
    low, high = np.rint(found).astype(np.int64).reshape(2, *inner.shape)
    return low, high


def _sums(height: int, width: int) -> Ints:
    """Rows that add up the cells of each row and of each column of a table."""
    cells = np.arange(height * width).reshape(height, width)
    return np.array([np.isin(cells, line).ravel() for line in (*cells, *cells.T)]).astype(np.int64)


def _margins(tables: Ints) -> Ints:
    return np.concatenate([tables.sum(axis=2), tables.sum(axis=1)], axis=1)


def _moved(rng: np.random.Generator, counts: Ints, reach: int) -> Ints:
    return np.where(counts > 0, np.maximum(counts + rng.integers(-reach, reach + 1, counts.shape), 0), 0)


def _each_moved(rng: np.random.Generator, true: Ints, reach: int) -> tuple[Ints, Ints]:
    return _moved(rng, true, reach), _moved(rng, _margins(true), reach)


def _moved_to_add_up(rng: np.random.Generator, true: Ints, reach: int) -> tuple[Ints, Ints]:
    """Counts drawn until no margin of theirs is off by more than the reach; a margin of nothing but zeros stays zero."""
    moved = _moved(rng, true, reach)
    while (off := (abs(_margins(moved) - _margins(true)) > reach).any(axis=1)).any():
        moved[off] = _moved(rng, true[off], reach)
    return moved, _margins(moved)


def _known(inner: Ints, margins: Ints, *, D: int) -> float:
    low, high = bounds(inner, margins, D=D)
    return float((low == high)[inner > 0].mean())
