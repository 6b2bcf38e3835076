"""The sums of a linear model of the whole file from stored tables, where it is made of classes and numbers alone.

Products of dummies are weighted counts of pairs of classes; products of a dummy with a number, and of numbers with each
other, are kept with the file. Nothing is left to a scan.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations

import numpy as np

from confide.arrays import Floats, Ints
from confide.engines.duckdb.products import Products
from confide.model.design import Block, Indicator, Number
from confide.model.evidence import Moments, Step
from confide.model.request import Family

__all__ = ["StoredTable", "less", "stored_moments"]


@dataclass(frozen=True)
class StoredTable:
    """A stored table of at most two variables, these in alphabetical order: records, their keys, weighted counts."""

    a: Ints
    b: Ints
    records: Ints
    key: Ints
    weight: Floats


Load = Callable[[Sequence[tuple[str, ...]]], Mapping[tuple[str, ...], StoredTable] | None]


def stored_moments(step: Step, products: Products, load: Load) -> Moments | None:
    """The moments of the whole file, or None where stored tables do not suffice."""
    names = _names(step, products)
    tables = load([(), *((name,) for name in names), *combinations(sorted(names), 2)]) if names is not None else None
    return None if tables is None else _StoredSums(step, products, tables).moments()


def less(whole: Moments, gone: Moments) -> Moments:
    """The moments without some units."""
    names = [field.name for field in fields(Moments) if field.name != "key"]
    left = {name: getattr(whole, name) - getattr(gone, name) for name in names}
    return Moments(**left, key=whole.key ^ gone.key)


def _names(step: Step, products: Products) -> list[str] | None:
    """The classes of a model that is made of stored sums alone."""
    design = step.design
    if step.family is not Family.GAUSSIAN or step.beta or step.within:
        return None
    if any(len(block.numbers) + len(block.classes) > 1 for block in design.blocks):
        return None
    numbers = [*design.numbers, *([design.response] if isinstance(design.response, Number) else [])]
    names = [*design.classes, *([design.response.variable] if isinstance(design.response, Indicator) else [])]
    if not all(map(products.basis.has, numbers)) or len(set(names)) < len(names):
        return None
    return names


class _StoredSums:
    """The sums of a model, put together from those that are stored."""

    def __init__(self, step: Step, products: Products, tables: Mapping[tuple[str, ...], StoredTable]) -> None:
        self._design, self._products, self._stored = step.design, products, tables
        self._constant = np.eye(1, len(products.basis.numbers) + 1)[0]

    def moments(self) -> Moments:
        design, whole = self._design, self._stored[()]
        gram, score = np.zeros((design.columns, design.columns)), np.zeros(design.columns)
        support = np.full(design.columns, whole.records[0])
        plain = [block for block in design.blocks if not block.classes]
        dummies = [block for block in design.blocks if block.classes]
        at = [block.offset for block in plain]
        rows = np.array([self._row(block) for block in plain])
        with_response, total, square = self._response()
        gram[np.ix_(at, at)], score[at] = rows @ self._products.pairs @ rows.T, rows @ with_response
        for block in dummies:
            columns = slice(block.offset, block.offset + block.width)
            sums, support[columns] = self._by_level(block)
            gram[columns, columns] = np.diag(sums[:, 0])
            gram[columns, at] = sums @ rows.T
            gram[at, columns] = gram[columns, at].T
            score[columns] = self._response_by_level(block, sums)
        for one, other in combinations(dummies, 2):
            here, there = slice(one.offset, one.offset + one.width), slice(other.offset, other.offset + other.width)
            gram[here, there] = self._pair(one, other)
            gram[there, here] = gram[here, there].T
        records, key = int(whole.records[0]), int(whole.key[0])
        weight = float(self._products.pairs[0, 0])
        return Moments(gram, score, square, square, weight, total, square, records, records, key, support)

    def _row(self, block: Block) -> Floats:
        numbers = [self._design.numbers[at] for at in block.numbers]
        return self._products.basis.row(numbers[0]) if numbers else self._constant

    def _response(self) -> tuple[Floats, float, float]:
        """Sums of the response with each of the basis, of itself, and of its square."""
        response = self._design.response
        if isinstance(response, Indicator):
            by_place = self._products.classes[response.variable]
            yes = by_place[[place for place in response.places if place < len(by_place)]].sum(axis=0)
            return yes, float(yes[0]), float(yes[0])
        assert isinstance(response, Number), "a model of several classes is not gaussian"
        row = self._products.basis.row(response)
        sums: Floats = self._products.pairs @ row
        return sums, float(sums[0]), float(sums @ row)

    def _by_level(self, block: Block) -> tuple[Floats, Ints]:
        """For each column of a block the sums of the basis, and how many records it has."""
        table, levels = self._stored[(self._name(block),)], self._levels(block)
        by_place = self._products.classes[self._name(block)]
        own, sums = levels[: len(by_place)], np.zeros((block.width, len(self._constant)))
        np.add.at(sums, own[own >= 0], by_place[own >= 0])
        return sums, _summed(levels[table.a], table.records.astype(np.float64), block.width).astype(np.int64)

    def _response_by_level(self, block: Block, sums: Floats) -> Floats:
        response = self._design.response
        if isinstance(response, Number):
            product: Floats = sums @ self._products.basis.row(response)
            return product
        places, answers, weight = self._pair_of(self._name(block), response.variable)
        assert isinstance(response, Indicator), "a model of several classes is not gaussian"
        yes = np.isin(answers, response.places)
        return _summed(self._levels(block)[places[yes]], weight[yes], block.width)

    def _pair(self, one: Block, other: Block) -> Floats:
        first, second, weight = self._pair_of(self._name(one), self._name(other))
        rows, columns = self._levels(one)[first], self._levels(other)[second]
        cells = np.where((rows >= 0) & (columns >= 0), rows * other.width + columns, -1)
        return _summed(cells, weight, one.width * other.width).reshape(one.width, other.width)

    def _pair_of(self, first: str, second: str) -> tuple[Ints, Ints, Floats]:
        table = self._stored[(min(first, second), max(first, second))]
        return (table.a, table.b, table.weight) if first < second else (table.b, table.a, table.weight)

    def _name(self, block: Block) -> str:
        return self._design.classes[block.classes[0][0]]

    def _levels(self, block: Block) -> Ints:
        return np.array(block.classes[0][1], dtype=np.int64)


def _summed(levels: Ints, amounts: Floats, width: int) -> Floats:
    kept = levels >= 0
    return np.asarray(np.bincount(levels[kept], weights=amounts[kept], minlength=width), dtype=np.float64)
