"""One row a cell: column names that never collide, and the place of each cell along a dimension."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.model.model_release import Grid
from confide.model.release import Release

__all__ = ["MeasureNames", "column_names", "label_names", "measure_names", "places"]


@dataclass(frozen=True)
class MeasureNames:
    """The names of one measure's columns."""

    value: str
    mark: str
    noise: str


def measure_names(release: Release, *, taken: tuple[str, ...] = ()) -> dict[str, MeasureNames]:
    """Name the columns of every measure. A dimension keeps its name; a measure called alike gets a number."""
    used = {name.casefold() for name in (*(d.name for d in release.dimensions), *taken)}
    names: dict[str, MeasureNames] = {}
    for measure in release.columns:
        base = _free(measure, used, ("", "_mark", "_noise_sd"))
        names[measure] = MeasureNames(base, f"{base}_mark", f"{base}_noise_sd")
    return names


def label_names(release: Release) -> tuple[str, ...]:
    """Name the column of labels of every dimension."""
    used = {d.name.casefold() for d in release.dimensions}
    return tuple(_free(f"{d.name}_label", used, ("",)) for d in release.dimensions)


def column_names(grid: Grid, *, taken: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Name the columns of a grid; one called as another, or as what is taken, gets a number."""
    used = {name.casefold() for name in taken}
    return tuple(_free(name, used, ("",)) for name in grid.columns)


def places(release: Release) -> tuple[NDArray[np.int32], ...]:
    """Give, for each dimension, the place of its code in every cell, rows first."""
    return tuple(grid.ravel() for grid in np.indices(release.shape, dtype=np.int32))


def _free(name: str, used: set[str], endings: tuple[str, ...]) -> str:
    """Databases read names without regard to case, so the comparison does too."""
    base, number = name, 1
    while any((base + ending).casefold() in used for ending in endings):
        number += 1
        base = f"{name}_{number}"
    used.update((base + ending).casefold() for ending in endings)
    return base
