"""Whether a synthetic file betrays whose records it was made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa

from confide.arrays import Floats
from confide.data.kdtree.static import build, distinct_rows, nearest
from confide.errors import Mistake
from confide.measures.pairs import unpaired
from confide.measures.ranks import ranked
from confide.measures.records import FileRecords, listed
from confide.measures.space import Scaling, Space

__all__ = ["Membership", "area_under_curve", "membership"]


@dataclass(frozen=True)
class Membership:
    """Released records against the original ones and against a holdout that was never used.

    `closer` is the percentage of released records nearer to the original than to the holdout, ties shared; `fair` is
    what it would be if the original had left no trace. `auc` is how well an intruder tells members from outsiders by
    their distance to the nearest released record: 0.5 is by chance, 1 always. Each `_z` is the difference from chance
    in standard errors; beyond 3 it is hardly chance.
    """

    closer: float
    fair: float
    closer_z: float
    auc: float
    auc_z: float


def membership(
    original: Any,
    released: Any,
    holdout: Any,
    *,
    columns: str | Sequence[str],
    scaling: Scaling = "standardised",
) -> Membership:
    """Distance to the closest record, with holdout (Platzer and Reutterer 2021): whether a file remembers its records.

    `holdout` are records of the same population that were not used: set some aside before synthesis. If a file has
    learnt the population and not the records, it is no nearer to the ones than to the others. Standard errors take
    released records as independent. Reference: the distance to the closest record, with holdout (Platzer and
    Reutterer, 2021); the area under the curve by Mann and Whitney.

    >>> import pyarrow as pa
    >>> original, holdout = pa.table({"pay": [1.0, 5.0, 9.0]}), pa.table({"pay": [2.0, 6.0, 10.0]})
    >>> found = membership(original, original, holdout, columns="pay")
    >>> found.closer, found.fair, found.auc
    (100.0, 50.0, 1.0)
    """
    names = listed(columns, "columns to compare")
    pair = unpaired(_joined(original, holdout, names), released, names)
    members = FileRecords.of(original, names).rows
    space = Space.of(pair, scaling)
    inside, outside = space.original[:members], space.original[members:]
    near, far = (nearest(space.released, _tree(points, space)) for points in (inside, outside))
    closer = float(np.mean((near < far) + 0.5 * (near == far)))
    fair = members / len(space.original)
    found = nearest(space.original, _tree(space.released, space))
    auc, error = area_under_curve(-found[:members], -found[members:])
    spread = sqrt(fair * (1 - fair) / len(space.released))
    return Membership(100 * closer, 100 * fair, (closer - fair) / spread, auc, (auc - 0.5) / error)


def _tree(points: Floats, space: Space) -> Any:
    return build(points[distinct_rows(points)[0]], space.nominal)


def _joined(original: Any, holdout: Any, names: Sequence[str]) -> pa.Table:
    files = []
    for which, frame in (("original", original), ("holdout", holdout)):
        read = FileRecords.of(frame, names)
        if not read.rows:
            raise Mistake(f"The {which} file has no records.")
        files.append(pa.table({name: column.array for name, column in read.columns.items()}))
    try:
        return pa.concat_tables(files, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        kinds = [name for name in names if files[0][name].type != files[1][name].type]
        raise Mistake(
            f"Column {kinds[0]!r} holds other kinds of values in the holdout than in the original file."
        ) from None


def area_under_curve(members: Floats, others: Floats) -> tuple[float, float]:
    """How often a member scores higher than another (Mann and Whitney), and the standard error if there is nothing to tell."""
    m, n = len(members), len(others)
    ranks = ranked(np.append(members, others))
    auc = (float(ranks[:m].sum()) - m * (m + 1) / 2) / (m * n)
    return auc, sqrt((m + n + 1) / (12 * m * n))
