"""The released records nearest to each target, for attacks that link by distance."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from confide.arrays import Ints
from confide.data.kdtree.static import build, close, distinct_rows, nearest, within
from confide.measures.pairs import unpaired
from confide.measures.space import Scaling, Space

__all__ = ["nearest_records"]


def nearest_records(
    targets: pa.Table, released: pa.Table, columns: Sequence[str], *, scaling: Scaling, rng: np.random.Generator
) -> Ints:
    """The row of the nearest released record of each target; of several, one by chance.

    Numbers are scaled by the released file: of few targets the spread says nothing.
    """
    space = Space.of(unpaired(released, targets, columns), scaling)
    first, kind, count = distinct_rows(space.original)
    tree = build(space.original[first], space.nominal)
    at, places = within(space.released, tree, close(nearest(space.released, tree), tree))
    # one of all records that tie, each with the same chance: kinds of records by how many they are
    reached = np.append(0, np.cumsum(count[places]))
    drawn = reached[at[:-1]] + (rng.random(len(at) - 1) * (reached[at[1:]] - reached[at[:-1]])).astype(np.int64)
    place = np.searchsorted(reached, drawn, side="right") - 1
    order, start = np.argsort(kind, kind="stable"), np.append(0, np.cumsum(count))
    return np.asarray(order[start[places[place]] + drawn - reached[place]], np.int64)
