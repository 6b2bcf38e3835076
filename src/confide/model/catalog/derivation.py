"""The classes of a derived variable as combinations of the codes it is made of."""

from collections.abc import Collection

import numpy as np

from confide.arrays import Bools, Ints
from confide.model.catalog.dataset import Derivation

__all__ = ["Combinations", "combinations_of", "table_of"]

Combinations = tuple[tuple[str, tuple[int, ...]], ...]
"""Variables, each with some of its places: all combinations of these."""


def table_of(made: Derivation) -> Ints:
    """The place of the class for each combination of places, one axis for each source."""
    return np.array(made.places, np.int64).reshape(made.sizes)


def combinations_of(made: Derivation, places: Collection[int]) -> list[Combinations]:
    """What is in some of the classes, as disjoint boxes that depend on the set alone.

    >>> combinations_of(Derivation(("sex", "area"), (2, 3), (0, 0, 1, 1, 1, 1)), [1])
    [(('sex', (0,)), ('area', (2,))), (('sex', (1,)),)]
    """
    return _boxes(np.isin(table_of(made), list(places)), made.sources)


def _boxes(inside: Bools, names: tuple[str, ...]) -> list[Combinations]:
    if not inside.any():
        return []
    if inside.all():
        return [()]
    alike: dict[bytes, list[int]] = {}
    for place, part in enumerate(inside):
        alike.setdefault(part.tobytes(), []).append(place)
    found: list[Combinations] = []
    for places in alike.values():
        own = (names[0], tuple(places))
        found += [
            ((own, *rest) if len(places) < len(inside) else rest) for rest in _boxes(inside[places[0]], names[1:])
        ]
    return found
