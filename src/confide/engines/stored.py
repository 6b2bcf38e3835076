"""The sums of a linear model from stored two-way tables, where it is made of nothing else but plain numbers.

Over the whole file, products of dummies are weighted counts of pairs of classes, and products of a dummy with a number are
totals by class: both are stored. Only the products of numbers with each other are left to a scan.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from confide.model.design import Block, Design, Indicator, Number
from confide.model.evidence import Moments, Step
from confide.model.formula import Transform
from confide.model.request import Family

__all__ = ["StoredTable", "less", "stored_moments"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StoredTable:
    """A stored table of one or two variables, these in alphabetical order: weighted counts, records, totals by number."""

    a: Ints
    b: Ints
    records: Ints
    weight: Floats
    totals: Mapping[str, Floats]


Load = Callable[[Sequence[tuple[str, ...]], Sequence[str]], Mapping[tuple[str, ...], StoredTable] | None]


def stored_moments(step: Step, load: Load, scan: Callable[[Step], Moments]) -> Moments | None:
    """The moments of the whole file, or None where stored tables do not suffice. `scan` sums over records."""
    tables = _tables(step, load)
    if tables is None:
        return None
    design = step.design
    plain = [block for block in design.blocks if not block.classes]
    at = [block.offset for block in plain]
    small = replace(design, classes=(), blocks=tuple(replace(b, offset=i) for i, b in enumerate(plain)))
    few = scan(replace(step, design=small))
    gram, score = np.zeros((design.columns, design.columns)), np.zeros(design.columns)
    support = np.zeros(design.columns, dtype=np.int64)
    gram[np.ix_(at, at)], score[at], support[at] = few.gram, few.score, few.support
    dummies = [block for block in design.blocks if block.classes]
    for block in dummies:
        columns = slice(block.offset, block.offset + block.width)
        weight, support[columns] = tables.weights(block)
        gram[columns, columns] = np.diag(weight)
        score[columns] = tables.response(block)
        for other in plain:
            row = weight if not other.numbers else tables.number(block, design.numbers[other.numbers[0]])
            gram[columns, other.offset] = gram[other.offset, columns] = row
    for one, other in combinations(dummies, 2):
        rows, columns = slice(one.offset, one.offset + one.width), slice(other.offset, other.offset + other.width)
        gram[rows, columns] = tables.pair(one, other)
        gram[columns, rows] = gram[rows, columns].T
    return replace(few, gram=gram, score=score, support=support)


def less(whole: Moments, gone: Moments) -> Moments:
    """The moments without some units."""
    names = (
        "gram",
        "score",
        "square",
        "deviance",
        "weight",
        "response",
        "response_square",
        "records",
        "units",
        "support",
    )
    left = {name: getattr(whole, name) - getattr(gone, name) for name in names}
    return Moments(**left, key=whole.key ^ gone.key)


def _tables(step: Step, load: Load) -> "_Tables | None":
    """The stored tables that make up the sums of the model, if it is made of nothing else."""
    design = step.design
    if step.family is not Family.GAUSSIAN or step.beta or step.within or not design.classes:
        return None
    if any(len(block.numbers) + len(block.classes) > 1 for block in design.blocks):
        return None
    numbers = [*design.numbers, *([design.response] if isinstance(design.response, Number) else [])]
    names = [*design.classes, *([design.response.variable] if isinstance(design.response, Indicator) else [])]
    if any(number.transform is not Transform.NONE for number in numbers) or len(set(names)) < len(names):
        return None
    wanted = [(name,) for name in names] + list(combinations(sorted(names), 2))
    tables = load(wanted, sorted({number.variable for number in numbers}))
    return None if tables is None else _Tables(design, tables)


class _Tables:
    """Sums by the levels of blocks, from stored tables."""

    def __init__(self, design: Design, tables: Mapping[tuple[str, ...], StoredTable]) -> None:
        self._design, self._stored = design, tables

    def weights(self, block: Block) -> tuple[Floats, Ints]:
        table = self._stored[(self._name(block),)]
        levels = self._levels(block)[table.a]
        records = _summed(levels, table.records.astype(np.float64), block.width)
        return _summed(levels, table.weight, block.width), records.astype(np.int64)

    def number(self, block: Block, number: Number) -> Floats:
        table = self._stored[(self._name(block),)]
        amounts = (table.totals[number.variable] - number.shift * table.weight) / number.scale
        return _summed(self._levels(block)[table.a], amounts, block.width)

    def response(self, block: Block) -> Floats:
        response = self._design.response
        if isinstance(response, Number):
            return self.number(block, response)
        places, answers, weight = self._pair(self._name(block), response.variable)
        yes = np.isin(answers, response.places)
        return _summed(self._levels(block)[places[yes]], weight[yes], block.width)

    def pair(self, one: Block, other: Block) -> Floats:
        first, second, weight = self._pair(self._name(one), self._name(other))
        rows, columns = self._levels(one)[first], self._levels(other)[second]
        cells = np.where((rows >= 0) & (columns >= 0), rows * other.width + columns, -1)
        return _summed(cells, weight, one.width * other.width).reshape(one.width, other.width)

    def _pair(self, first: str, second: str) -> tuple[Ints, Ints, Floats]:
        table = self._stored[(min(first, second), max(first, second))]
        return (table.a, table.b, table.weight) if first < second else (table.b, table.a, table.weight)

    def _name(self, block: Block) -> str:
        return self._design.classes[block.classes[0][0]]

    def _levels(self, block: Block) -> Ints:
        return np.array(block.classes[0][1], dtype=np.int64)


def _summed(levels: Ints, amounts: Floats, width: int) -> Floats:
    kept = levels >= 0
    return np.asarray(np.bincount(levels[kept], weights=amounts[kept], minlength=width), dtype=np.float64)
