"""A release, or one grid of a model, as an Arrow table, which pandas, polars and DuckDB read."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.formats.about import marks, shown_value
from confide.formats.tidy import MeasureNames, column_names, measure_names, places
from confide.model.model_release import ModelRelease, Value
from confide.model.release import Column, Release

__all__ = ["grid_to_arrow", "to_arrow"]

FACTS = ("receipt", "policy", "title", "scope", "source")


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
    facts = {name: getattr(release, name) for name in FACTS}
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


def grid_to_arrow(release: ModelRelease[Any], name: str) -> pa.Table:
    """Give a grid of a model; a number that does not apply is null. The schema's metadata are those of a table."""
    grid = release.grids[name]
    columns = list(zip(*grid.rows, strict=True)) or [()] * len(grid.columns)
    arrays = dict(zip(column_names(grid), map(_grid_column, columns), strict=True))
    return pa.table(arrays, metadata={fact: getattr(release, fact) for fact in FACTS})


def _grid_column(values: tuple[Value, ...]) -> pa.Array:
    """Texts if any is one, whole numbers if all are, other numbers otherwise."""
    if any(isinstance(value, str) for value in values):
        return pa.array([None if value is None else shown_value(value, thousands="") for value in values], pa.string())
    numbers = [value for value in values if value is not None]
    if numbers and all(isinstance(value, int) and abs(value) < 2**63 for value in numbers):
        return pa.array(values, pa.int64())
    # Arrow refuses a whole number that a double cannot hold exactly; Python rounds it.
    return pa.array([None if value is None else float(value) for value in values], pa.float64())
