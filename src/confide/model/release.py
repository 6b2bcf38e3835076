"""What leaves: protected numbers with their marks, uncertainty and receipt."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Floats
from confide.errors import Fault
from confide.model.request import Share, TableRequest

__all__ = ["MARKS", "Column", "Dimension", "Release", "share_axes", "wholes", "without_cells"]

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
    """One measure over all cells: numbers, marks, and the noise's standard deviation; a mark stands for both numbers."""

    name: str
    label: str
    decimals: int
    values: Floats
    marks: NDArray[np.str_]
    noise: Floats

    def __post_init__(self) -> None:
        marked = self.marks != ""
        whole = self.values.shape == self.marks.shape == self.noise.shape
        if not whole or (np.isfinite(self.values) == marked).any() or (np.isfinite(self.noise) == marked).any():
            raise Fault(f"The column {self.name!r} is not well formed, so it is not released.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column):
            return NotImplemented
        named = (self.name, self.label, self.decimals) == (other.name, other.label, other.decimals)
        pairs = ((self.values, other.values), (self.noise, other.noise))
        same = all(np.array_equal(mine, theirs, equal_nan=True) for mine, theirs in pairs)
        return named and same and np.array_equal(self.marks, other.marks)

    def __hash__(self) -> int:
        return hash((self.name, self.label, self.values.shape))


@dataclass(frozen=True)
class Release:
    """A protected table. Arrays have one axis for each dimension, rows first; the last place is the total."""

    request: TableRequest
    title: str
    scope: str
    dimensions: tuple[Dimension, ...]
    columns: Mapping[str, Column]
    notes: tuple[str, ...]
    totals_add: bool
    policy: str
    receipt: str
    source: str = ""

    def __post_init__(self) -> None:
        if any(column.values.shape != self.shape for column in self.columns.values()):
            raise Fault("The table is not well formed, so it is not released.")

    @property
    def digest(self) -> str:
        """A fingerprint of the numbers released."""
        digest = hashlib.sha256()
        for name, column in sorted(self.columns.items()):
            digest.update(name.encode() + column.values.tobytes() + column.marks.tobytes() + column.noise.tobytes())
        return digest.hexdigest()

    @property
    def size(self) -> int:
        """About so many bytes the numbers take."""
        arrays = (a for column in self.columns.values() for a in (column.values, column.marks, column.noise))
        return sum(array.nbytes for array in arrays)

    def without_plots(self) -> Self:
        """A table has none."""
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(dimension.codes) for dimension in self.dimensions)


def without_cells(column: Column, cells: Bools) -> Column:
    """The column with the mark [z], not applicable, in place of the numbers of some cells."""
    values, noise = (np.where(cells, np.nan, numbers) for numbers in (column.values, column.noise))
    return replace(column, values=values, marks=np.where(cells, "z", column.marks), noise=noise)


def share_axes(request: TableRequest, share: Share) -> Iterator[int]:
    """The axes of a table over which the total is taken that percentages are of."""
    down = len(request.rows)
    for axis in range(len(request.by)):
        if share is Share.TOTAL or (axis >= down) == (share is Share.ROW):
            yield axis


def wholes(values: NDArray[Any], request: TableRequest, share: Share) -> NDArray[Any]:
    """The total that each cell is a part of; totals stand last."""
    for axis in share_axes(request, share):
        values = np.broadcast_to(np.take(values, [-1], axis=axis), values.shape)
    return values
