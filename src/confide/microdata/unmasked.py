"""Records that masking left as they are, because they stood by themselves where values are hidden among those of others."""

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from confide.arrays import Bools, Floats, Ints
from confide.microdata.records import Masked, Records, numbers

__all__ = ["unmasked"]

FEW = 2
"""Of two records each knows their own value, and so the other's: that values changed places hides nothing."""


def unmasked(records: Records, masked: Masked) -> int:
    """How many values of one or two records by themselves (in a stratum, a zone, or alone known) are those there were."""
    if masked.drawn:
        return _drawn_from(records)
    names = [name for name in masked.columns if name in records.columns]
    return sum(_left(name, records.array(name), masked.columns[name], masked.zones) for name in names)


def _drawn_from(records: Records) -> int:
    """How many values of one or two records are all that new ones were drawn from."""
    alone = records.columns if len(records) <= FEW else ()
    return sum(int(_known(records.array(name)).sum()) for name in alone)


def _left(name: str, before: pa.Array, after: Floats | pa.Array, zones: tuple[Ints, ...]) -> int:
    known = _known(before)
    places = [rows[known[rows]] for rows in zones] if zones else [np.flatnonzero(known)]
    return sum(len(rows) for rows in places if 0 < len(rows) <= FEW and _same(name, before, after, rows))


def _known(column: pa.Array) -> Bools:
    if pt.is_floating(column.type):
        return np.asarray(~np.isnan(column.to_numpy(zero_copy_only=False)))  # what is missing is NaN there too
    return np.asarray(column.is_valid())


def _same(name: str, before: pa.Array, after: Floats | pa.Array, rows: Ints) -> bool:
    """Whether the values are the same, in whatever order."""
    old = before.take(pa.array(rows))
    if isinstance(after, np.ndarray):
        return bool(np.allclose(np.sort(after[rows]), np.sort(numbers(name, old)), rtol=1e-9, atol=0))
    return sorted(map(str, old.to_pylist())) == sorted(map(str, after.take(pa.array(rows)).to_pylist()))
