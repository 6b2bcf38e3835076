"""A release as an Arrow table, which pandas, polars and DuckDB read."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.formats.about import marks
from confide.formats.tidy import MeasureNames, measure_names, places
from confide.model.release import Column, Release

__all__ = ["to_arrow"]


def to_arrow(release: Release) -> pa.Table:
    """Give one row a cell, margins included: codes, then value, mark and noise of each measure.

    Promise: a withheld number is null. Receipt, policy, title, scope and source are in the schema's metadata.
    """
    arrays = {
        dimension.name: pa.DictionaryArray.from_arrays(place, pa.array(dimension.codes, pa.string()))
        for dimension, place in zip(release.dimensions, places(release), strict=True)
    }
    for measure, names in measure_names(release).items():
        arrays |= _measure(release.columns[measure], names)
    facts = {name: getattr(release, name) for name in ("receipt", "policy", "title", "scope", "source")}
    return pa.table(arrays, metadata=facts)


def _measure(column: Column, names: MeasureNames) -> dict[str, pa.Array]:
    mark = marks(column).ravel()
    # Arrow keeps what lies under a null, so nothing may lie there.
    value = pa.array(np.where(mark == "", column.values.ravel(), 0.0), mask=mark != "")
    noise = column.noise.ravel()
    return {
        # A safe cast: a number too large for a 64-bit integer is an error, not another number.
        names.value: value if column.decimals else pc.round(value).cast(pa.int64()),
        names.mark: pa.array(mark.tolist(), pa.string()),
        names.noise: pa.array(noise, mask=np.isnan(noise)),
    }
