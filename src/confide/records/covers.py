"""Larger tables of which others are parts: a file of millions is looked through once for each of a few, and many small ones follow."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Generic, TypeVar

__all__ = ["JOINT", "Cover", "covers"]

V = TypeVar("V")

JOINT = 1 << 12
"""Cells of a larger table, at the most: what is added up of each of them stays in the processor's cache."""


@dataclass(frozen=True)
class Cover(Generic[V]):
    """A table by the `variables` of several, and the `tables` that are parts of it."""

    variables: tuple[V, ...]
    tables: tuple[tuple[V, ...], ...]

    def left_out(self, table: tuple[V, ...]) -> tuple[int, ...]:
        """The axes over which it is added up for a part of it."""
        return tuple(axis for axis, name in enumerate(self.variables) if name not in table)


def covers(tables: Iterable[tuple[V, ...]], sizes: Mapping[V, int], most: int) -> list[Cover[V]]:
    """Every table as a part of a larger one with at most so many cells, the largest first; one that has more stands alone.

    Variables stand in the order of their `sizes`, those of each table too.

    >>> found = covers([("a",), ("b",), ("a", "b"), ("b", "c")], {"a": 2, "b": 3, "c": 9}, 30)
    >>> [cover.variables for cover in found]
    [('b', 'c'), ('a', 'b')]
    """

    def cells(names: Iterable[V]) -> int:
        return prod(sizes[name] for name in names)

    joint: list[set[V]] = []
    parts: list[list[tuple[V, ...]]] = []
    for table in sorted(tables, key=cells, reverse=True):
        both = [(cells(some.union(table)), place) for place, some in enumerate(joint)]
        able = [(size / cells(joint[at]), at) for size, at in both if size <= most or joint[at].issuperset(table)]
        if not able:
            joint.append(set())
            parts.append([])
        _, place = min(able, default=(1.0, len(joint) - 1))
        joint[place].update(table)
        parts[place].append(table)
    return [
        Cover(tuple(name for name in sizes if name in some), tuple(of)) for some, of in zip(joint, parts, strict=True)
    ]
