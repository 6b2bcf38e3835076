"""A model with derived classes in terms of stored ones.

The classes of a variable made of one other are those of that one under another map of levels. What is made of several is the
interaction of these, with a column for each combination that matters; a column of the model is the sum of some of them, so sums over
records follow from those of the finer model: x = A u gives sum x x' = A (sum u u') A', and beta' x = (A' beta)' u.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from confide.arrays import Floats, Ints
from confide.errors import Fault
from confide.model.catalog.dataset import Derivation
from confide.model.catalog.derivation import table_of
from confide.model.design import Block, Design, Duration, Indicator, Number, Response

__all__ = ["StoredDesign"]

Levels = tuple[int, ...]


@dataclass(frozen=True)
class _Part:
    """A class of a block by stored classes: the levels of each, and the level in the block for every combination of them."""

    classes: tuple[tuple[int, Levels], ...]
    levels: Ints

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(max(levels) + 1 for _, levels in self.classes)


@dataclass(frozen=True, eq=False)
class StoredDesign:
    """A design with derived classes, and the `design` in stored classes from which its sums follow."""

    derived: Design
    made: Mapping[str, Derivation]

    def sources(self, name: str) -> tuple[str, ...]:
        return self.made[name].sources if name in self.made else (name,)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The stored class variables."""
        return tuple(dict.fromkeys(source for name in self.derived.classes for source in self.sources(name)))

    @cached_property
    def design(self) -> Design:
        blocks: list[Block] = []
        for block in self.derived.blocks:
            offset = blocks[-1].offset + blocks[-1].width if blocks else 0
            parts = self._parts(block)
            classes = tuple(one for part in parts for one in part.classes)
            width = prod(width for part in parts for width in part.widths)
            blocks.append(replace(block, classes=classes, offset=offset, width=width))
        return Design(self._response, self.derived.numbers, self.classes, tuple(blocks))

    @property
    def same(self) -> bool:
        """Whether the columns are those of the stored design, one by one."""
        return all(len(self.sources(name)) == 1 for name in self.derived.classes)

    @cached_property
    def all_sums(self) -> Floats:
        """The same for the columns of every linear predictor."""
        return np.asarray(np.kron(np.eye(self.derived.predictors), self.sums), np.float64)

    @cached_property
    def sums(self) -> Floats:
        """The matrix A: which columns of the stored design each column is the sum of."""
        found = np.zeros((self.derived.columns, self.design.columns))
        for block, stored in zip(self.derived.blocks, self.design.blocks, strict=True):
            parts = self._parts(block)
            widths = [max(levels) + 1 for _, levels in block.classes]
            each = product(*(np.ndindex(part.widths) for part in parts))
            for column, cell in enumerate(each):
                levels = [int(part.levels[at]) for part, at in zip(parts, cell, strict=True)]
                if min(levels, default=0) >= 0:
                    place = int(np.ravel_multi_index(levels, widths)) if levels else 0
                    found[block.offset + place, stored.offset + column] = 1.0
        return found

    def place(self, name: str, stored: Ints) -> Ints:
        """The places of a class variable, from those of the stored ones: a column each, in the order of `classes`."""
        columns = [stored[:, self.classes.index(source)].astype(np.int64) for source in self.sources(name)]
        return table_of(self.made[name])[tuple(columns)] if name in self.made else columns[0]

    @property
    def _response(self) -> Response:
        response = self.derived.response
        if isinstance(response, Duration) and response.event in self.made:
            made = self._only_source(response.event)
            response = replace(response, event=made.sources[0], places=_among(made, response.places))
        if isinstance(response, Number) or response.variable not in self.made:
            return response
        made = self._only_source(response.variable)
        if isinstance(response, Indicator):
            return Indicator(made.sources[0], _among(made, response.places))
        return replace(response, variable=made.sources[0], levels=tuple(response.levels[at] for at in made.places))

    def _only_source(self, name: str) -> Derivation:
        if len(self.made[name].sources) > 1:
            raise Fault("What is made of several variables is no response.")
        return self.made[name]

    def _parts(self, block: Block) -> list[_Part]:
        return [self._part(self.derived.classes[at], levels) for at, levels in block.classes]

    def _part(self, name: str, levels: Levels) -> _Part:
        at = [self.classes.index(source) for source in self.sources(name)]
        if name not in self.made:
            return _Part(((at[0], levels),), np.arange(max(levels) + 1))
        table = np.array(levels)[table_of(self.made[name])]
        if len(at) == 1:
            return _Part(((at[0], tuple(table.tolist())),), np.arange(max(levels) + 1))
        maps = []
        for axis in range(table.ndim):
            numbered, first = _alike(np.moveaxis(table, axis, 0))
            maps.append(numbered)
            table = table.take(first, axis)
        return _Part(tuple(zip(at, maps, strict=True)), table)


def _among(made: Derivation, places: tuple[int, ...]) -> tuple[int, ...]:
    """The places of the only source that stand for some places."""
    return tuple(np.flatnonzero(np.isin(made.places, places)).tolist())


def _alike(table: Ints) -> tuple[Levels, list[int]]:
    """The levels of places that differ in something; -1 for those of which all is the reference. And where each begins."""
    levels: dict[bytes, int] = {}
    first: list[int] = []
    found = []
    for place, part in enumerate(table):
        if (part < 0).all():
            found.append(-1)
            continue
        mark = np.ascontiguousarray(part).tobytes()
        if mark not in levels:
            levels[mark] = len(first)
            first.append(place)
        found.append(levels[mark])
    return tuple(found), first
