"""A table with all its margins, dense: one axis for each variable, the total in the last place."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from confide.answering.universe.census import TallyFunction, UnitSets
from confide.arrays import Ints
from confide.model.evidence import Cells, Tally

__all__ = ["Cube", "gather_cube"]


@dataclass(frozen=True)
class Cube:
    """True aggregates of every cell and margin. `top` has one more axis: the largest contributions, decreasing."""

    records: Ints
    units: Ints
    key: Ints
    weight: Ints | None
    total: Ints | None
    size: Ints | None
    square: Ints | None
    top: Ints | None

    @property
    def last_margin(self) -> "Cube":
        """The cells of the table without its last variable."""
        fields = {name: numbers for name, numbers in vars(self).items() if name != "top" and numbers is not None}
        top = None if self.top is None else self.top[..., -1, :]
        return replace(self, **{name: numbers[..., -1] for name, numbers in fields.items()}, top=top)

    @property
    def sets(self) -> UnitSets:
        return UnitSets(self.records, self.units, self.key)


def gather_cube(tally: TallyFunction, question: Tally, sizes: Sequence[int], *, several: bool) -> Cube:
    """The cube of a tally. Where every record is a unit, margins are sums of cells; otherwise each margin is asked for."""
    cells = tally(question)
    cube = _empty(sizes, cells)
    _place(cube, cells, range(len(sizes)))
    for kept in _margins(len(sizes)):
        if several:
            by = tuple(question.by[axis] for axis in kept)
            _place(cube, tally(replace(question, by=by)), kept)
    if not several:
        for axis in range(len(sizes)):
            _sum_axis(cube, axis)
    return cube


def _margins(dimensions: int) -> list[tuple[int, ...]]:
    return [kept for size in range(dimensions) for kept in itertools.combinations(range(dimensions), size)]


def _empty(sizes: Sequence[int], cells: Cells) -> Cube:
    shape = tuple(size + 1 for size in sizes)

    def zeros(like: Ints | None) -> Ints | None:
        return None if like is None else np.zeros(shape + like.shape[1:], dtype=np.int64)

    names = ("records", "units", "key", "weight", "total", "size", "square", "top")
    return Cube(**{name: zeros(getattr(cells, name)) for name in names})  # type: ignore[arg-type]  # None only where optional


def _place(cube: Cube, cells: Cells, kept: Sequence[int]) -> None:
    """Write cells into the places of a margin: the axes not kept stand at their total."""
    index = [np.full(len(cells.records), size - 1) for size in cube.records.shape]
    for column, axis in enumerate(kept):
        index[axis] = cells.places[:, column]
    for name, array in vars(cube).items():
        if array is not None:
            array[(*index, ...)] = getattr(cells, name)


def _sum_axis(cube: Cube, axis: int) -> None:
    inner = tuple(slice(None, -1) if a == axis else slice(None) for a in range(cube.records.ndim))
    total = tuple(-1 if a == axis else slice(None) for a in range(cube.records.ndim))
    for name, array in vars(cube).items():
        if array is None:
            continue
        if name == "key":
            array[total] = np.bitwise_xor.reduce(array[inner], axis=axis)
        elif name == "top":
            array[total] = _largest(array[inner], axis)
        else:
            array[total] = array[inner].sum(axis=axis)


def _largest(top: Ints, axis: int) -> Ints:
    """The largest contributions of a margin are among the largest of its cells."""
    width = top.shape[-1]
    moved = np.moveaxis(top, axis, -2)
    flat = moved.reshape(*moved.shape[:-2], -1)
    return -np.sort(-flat, axis=-1)[..., :width]
