"""Perturbation tables: how counts move, as R's ptable and cellKey and τ-ARGUS write it, and as the ONS looks it up by keys."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.text import read_text, write_text
from confide.errors import Mistake
from confide.tables.perturbation.transitions import Transitions

__all__ = ["KeyTable", "PTable", "read_key_table", "read_ptable", "write_key_table", "write_ptable"]


KEYS = 256
"""How many different cell keys the ONS has."""

LAST, CYCLE = 750, 250
"""Counts above the last are looked up among the last few, in turn."""


@dataclass(frozen=True, eq=False)
class PTable:
    """With what probability `p` a count or magnitude `i` moves by `v`; one entry a move. The last stands for all larger ones.

    `kind` tells apart the moves of magnitudes of even and of odd numbers of contributors, where they differ.

    >>> PTable.of(Transitions(1, 1.0, 0, None, np.array([[0, 1.0, 0], [0.5, 0, 0.5]]))).v.tolist()
    [0.0, -1.0, 1.0]
    """

    i: Ints
    v: Floats
    p: Floats
    kind: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for kind in dict.fromkeys(self.kind or ("all",)):
            here = np.array([not self.kind or each == kind for each in self.kind or self.i])
            sums = np.bincount(self.i[here], self.p[here])
            wrong = [i for i in np.unique(self.i[here]).tolist() if abs(sums[i] - 1) > 1e-3]
            if wrong or (self.p < 0).any():
                which = f" for {wrong[0]}" if wrong else ""
                raise Mistake(f"The probabilities{which} do not add up to 1, or one is negative.")

    @classmethod
    def of(cls, transitions: Transitions) -> "PTable":
        """The moves of a transition matrix that can happen."""
        i, column = np.nonzero(transitions.matrix)
        return cls(i, (column - transitions.D).astype(np.float64), transitions.matrix[i, column])

    def transitions(self) -> Transitions:
        """The moves as a transition matrix; they must be of whole counts."""
        gaps = np.diff(np.unique(self.i)) > 1
        if (self.v != np.rint(self.v)).any() or gaps.any() or len(set(self.kind)) > 1:
            raise Mistake("This perturbation table moves magnitudes, not counts.")
        D = int(np.abs(self.v).max())
        matrix = np.zeros((int(self.i.max()) + 1, 2 * D + 1))
        matrix[self.i, D + self.v.astype(np.int64)] = self.p
        # A table may start at 1: there is nothing to say of 0, which stays.
        matrix[:1, D] += 1 - matrix[:1].sum()
        matrix /= matrix.sum(axis=1, keepdims=True)
        spread = float(matrix[-1] @ np.arange(-D, D + 1.0) ** 2)
        targets = self.i + self.v
        return Transitions(D, spread, int(targets[targets > 0].min()) - 1, None, matrix)


def read_ptable(path: str | Path) -> PTable:
    """A table with the columns i (count), p (probability) and v (move) or j (target), however separated."""
    rows = _rows(path, ("i", "p"))
    i = _numbers(rows, "i", path)
    moves = _numbers(rows, "v", path) if "v" in rows[0] else _numbers(rows, "j", path) - i
    kind = tuple(row["type"].strip() for row in rows) if "type" in rows[0] else ()
    return PTable(i.astype(np.int64), moves, _numbers(rows, "p", path), kind)


def write_ptable(table: PTable, path: str | Path) -> None:
    """Write a table as R's ptable does: count, target, probability, move, and where its share of the unit interval ends."""
    lines = ["i;j;p;v;p_int_ub" + ";type" * bool(table.kind)]
    ends: dict[tuple[int, str], float] = {}
    kinds = table.kind or ("",) * len(table.i)
    for i, v, p, kind in zip(table.i.tolist(), table.v.tolist(), table.p.tolist(), kinds, strict=True):
        end = ends[i, kind] = ends.get((i, kind), 0.0) + p
        lines.append(f"{i};{i + v:g};{p!r};{v:g};{min(end, 1.0)!r}" + f";{kind}" * bool(kind))
    write_text(path, "\n".join(lines) + "\n")


@dataclass(frozen=True, eq=False)
class KeyTable:
    """By how much a count moves under each cell key: row i is the count i, column k the key k.

    Promise: counts above 750 move as those from 501 to 750 do, in turn.
    Reference: Office for National Statistics, cell key perturbation, method specification 1.1.
    """

    moves: Ints

    @classmethod
    def of(cls, table: PTable, *, rows: int = LAST) -> "KeyTable":
        """The keys shared out so that each move has as many of them as its probability says, to the nearest key."""
        moves = np.zeros((rows + 1, KEYS), dtype=np.int64)
        for count in range(1, rows + 1):
            at = table.i == min(count, int(table.i.max()))
            ends = np.rint(KEYS * np.cumsum(table.p[at])).astype(np.int64)
            moves[count] = np.repeat(table.v[at].astype(np.int64), np.diff(ends, prepend=0))
        return cls(moves)

    def draw(self, counts: Ints, keys: Ints) -> Ints:
        """The perturbed counts, each under its cell key."""
        last = len(self.moves) - 1
        cycle = min(CYCLE, last)
        rows = np.where(counts > last, (counts - 1) % cycle + last - cycle + 1, counts)
        perturbed: Ints = counts + self.moves[rows, keys]
        return perturbed


def read_key_table(path: str | Path) -> KeyTable:
    """A table with the columns pcv (count), ckey (cell key) and pvalue (move)."""
    rows = _rows(path, ("pcv", "ckey", "pvalue"))
    count, key, move = (_numbers(rows, name, path).astype(np.int64) for name in ("pcv", "ckey", "pvalue"))
    if count.min() < 0 or not (0 <= key.min() <= key.max() < KEYS):
        raise Mistake(f"Counts in {Path(path).name} are 0 or more, and keys from 0 to {KEYS - 1}.")
    moves = np.zeros((int(count.max()) + 1, KEYS), dtype=np.int64)
    moves[count, key] = move
    return KeyTable(moves)


def write_key_table(table: KeyTable, path: str | Path) -> None:
    """Write a table as the ONS does."""
    rows, keys = np.nonzero(np.ones_like(table.moves[1:]))
    entries = zip((rows + 1).tolist(), keys.tolist(), table.moves[1:].ravel().tolist(), strict=True)
    write_text(path, "pcv,ckey,pvalue\n" + "".join(f"{count},{key},{move}\n" for count, key, move in entries))


def _rows(path: str | Path, needed: tuple[str, ...]) -> list[dict[str, str]]:
    """The rows of a file with a header, separated by semicolons or commas."""
    text = read_text(path)
    head = text.partition("\n")[0]
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=";" if ";" in head else ","))
    if not rows or not set(needed) <= set(rows[0]):
        raise Mistake(f"{Path(path).name} is no perturbation table: it needs rows and the columns {', '.join(needed)}.")
    return rows


def _numbers(rows: list[dict[str, str]], name: str, path: str | Path) -> Floats:
    try:
        return np.array([float(row[name]) for row in rows])
    except (KeyError, TypeError, ValueError):
        raise Mistake(f"{Path(path).name} does not have a number {name!r} in every row.") from None
