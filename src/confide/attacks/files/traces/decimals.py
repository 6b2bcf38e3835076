"""L11: numbers with fewer decimals than the masked ones were left as they are."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats
from confide.measures.records import FileRecords
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import UntouchedClaims
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["Decimals"]

SHORT = 2
"""Numbers are recorded with so many decimals at the most: money."""


@dataclass(frozen=True)
class Decimals(FileAttack):
    """Decimals: among masked numbers with many decimals, those with two or fewer are the true ones.

    Knows which columns were masked. Where all are short, or all long, nothing is claimed.
    """

    name: ClassVar = "decimals"
    code: ClassVar = "L11"
    words: ClassVar = "Takes numbers with few decimals, among others with many, for true ones."

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        return "" if _mixed(released, known) else "All masked numbers have as many decimals as the others."

    def attack(self, released: pa.Table, known: Knowledge) -> UntouchedClaims:
        return UntouchedClaims(_mixed(released, known))


def _mixed(released: pa.Table, known: Knowledge) -> dict[str, Bools]:
    """Which numbers are short, of the columns in which others are long."""
    columns = FileRecords.of(released, known.masked).columns if known.masked else {}
    short = {name: _short(column.numbers) for name, column in columns.items() if column.kind == "numbers"}
    there = {name: ~np.isnan(columns[name].numbers) for name in short}
    return {name: few for name, few in short.items() if few.any() and (there[name] & ~few).any()}


def _short(values: Floats) -> Bools:
    scaled = values * 10.0**SHORT
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.maximum(1.0, np.abs(scaled)))
