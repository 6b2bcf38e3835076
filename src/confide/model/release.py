"""What leaves: protected numbers with their marks, uncertainty and receipt."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.model.request import Table

__all__ = ["MARKS", "Column", "Dimension", "Release"]

MARKS = {"c": "confidential", "x": "not available", "z": "not applicable"}
"""The marks that stand in square brackets where a number does not."""


@dataclass(frozen=True)
class Dimension:
    """One variable of a table: its codes and labels, the total last."""

    name: str
    label: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Column:
    """One measure over all cells: numbers (NaN where a mark stands), marks, and the noise's standard deviation."""

    name: str
    label: str
    decimals: int
    values: NDArray[np.float64]
    marks: NDArray[np.str_]
    noise: NDArray[np.float64]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Column) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash((self.name, self.values.shape))

    def _content(self) -> tuple[object, ...]:
        arrays = (np.nan_to_num(self.values, nan=-1.0), np.nan_to_num(self.noise, nan=-1.0))
        return (self.name, self.label, self.decimals, self.marks.tolist(), *(a.tolist() for a in arrays))


@dataclass(frozen=True)
class Release:
    """A protected table. Arrays have one axis for each dimension, rows first; the last place is the total."""

    request: Table
    title: str
    scope: str
    dimensions: tuple[Dimension, ...]
    columns: Mapping[str, Column]
    notes: tuple[str, ...]
    totals_add: bool
    policy: str
    receipt: str
    source: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(dimension.codes) for dimension in self.dimensions)
