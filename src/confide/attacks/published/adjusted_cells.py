"""L6: adjusted cells, which were moved exactly as far as they had to be."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats
from confide.attacks.published.attack import TableAttack
from confide.attacks.published.published_table import CellClaims, PublishedTable
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.program import Effort, Program, solve

__all__ = ["AdjustedCells"]

NODES = 1_000
"""How far the search for directions goes: a number, not a time, so that it always ends alike."""


@dataclass(frozen=True)
class AdjustedCells(TableAttack):
    """Undoing controlled tabular adjustment: a sensitive cell was moved by its level and no farther, up or down.

    Knows which cells are sensitive (the rule is public, and so are numbers of contributors) and the share of their value
    by which they were moved. So each has two possible values. If only one of them has as few decimals as most cells, it is
    that. Of the others a mixed integer program picks those for which the rest of the table must change least to add up;
    alone it is hardly better than tossing a coin, because a table with all moves the other way fits as well.
    """

    name: ClassVar = "adjusted-cells"
    code: ClassVar = "L6"
    words: ClassVar = "Undoes the least move of each sensitive cell, up or down as the rest of the table fits best."

    def unfit(self, table: PublishedTable) -> str:
        if not table.share:
            return "The table was not adjusted, or nobody knows by how much."
        return "" if table.wanted.any() else "No cell is sensitive."

    def attack(self, table: PublishedTable) -> CellClaims:
        cells = np.flatnonzero(table.wanted)
        went_up, went_down = table.value[cells] / (1 + table.share), table.value[cells] / (1 - table.share)
        plain = [_multiple(went, _unit(table)) for went in (went_up, went_down)]
        ways = np.where(plain[0] == plain[1], np.nan, plain[0])
        found = solve(_program(table, went_up, went_down, ways), Deadline(), effort=Effort(nodes=NODES)).values
        value = np.full(len(table.value), np.nan)
        if found is None:
            return CellClaims(value, table.value, table.share / 2, ("No table that adds up was found.",))
        up = found[2 * len(value) :] > 0.5
        value[cells] = np.where(up, went_up, went_down)
        note = f"Cells whose direction their decimals tell: {int(np.sum(~np.isnan(ways)))}."
        return CellClaims(value, table.value, table.share / 2, (note,))


def _unit(table: PublishedTable) -> float:
    """What at least half of the cells are multiples of: 1, 0.1 or 0.01; 0 if none."""
    return next((unit for unit in (1.0, 0.1, 0.01) if np.mean(_multiple(table.value, unit)) >= 0.5), 0.0)


def _multiple(values: Floats, unit: float) -> Bools:
    if not unit:
        return np.zeros(len(values), np.bool_)
    return np.asarray(np.abs(values - unit * np.rint(values / unit)) <= 1e-6 * unit + 1e-9 * np.abs(values))


def _program(table: PublishedTable, went_up: Floats, went_down: Floats, ways: Floats) -> Program:
    """Columns: the cells, how far each is from what was published, and whether each sensitive one went up.

    `ways` are 1 for up, 0 for down, NaN where that is to be found.
    """
    cells, size = np.flatnonzero(table.wanted), len(table.value)
    eye, none = sparse.eye_array(size, format="csr"), sparse.csr_array((size, len(cells)))
    rows, many = np.arange(len(cells)), len(cells)
    picked = sparse.csr_array((np.ones(many), (rows, cells)), shape=(many, size))
    turns = sparse.csr_array((went_down - went_up, (rows, rows)), shape=(many, many))
    relations, blank = table.relations.matrix, sparse.csr_array((many, size))
    matrix = sparse.block_array(
        [
            [relations, sparse.csr_array(relations.shape), sparse.csr_array((relations.shape[0], many))],
            [eye, -eye, none],
            [eye, eye, none],
            [picked, blank, turns],
        ],
        format="csr",
    )
    infinite = np.full(size, np.inf)
    low = np.concatenate([table.relations.rhs, -infinite, table.value, went_down])
    high = np.concatenate([table.relations.rhs, table.value, infinite, went_down])
    cost = np.concatenate([np.zeros(size), np.where(table.wanted, 0.0, 1.0), np.zeros(many)])
    least = np.concatenate([table.least, np.zeros(size), np.where(np.isnan(ways), 0.0, ways)])
    most = np.concatenate([table.most, infinite, np.where(np.isnan(ways), 1.0, ways)])
    return Program(cost, least, most, matrix, low, high, np.arange(2 * size + many) >= 2 * size)
