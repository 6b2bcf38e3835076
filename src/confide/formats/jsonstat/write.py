"""A release as a JSON-stat 2.0 dataset (https://json-stat.org/format/), and back without loss."""

import math
from typing import Any

import numpy as np

from confide.formats.about import legend
from confide.formats.jsonstat.read import read_jsonstat
from confide.model.release import Dimension, Release
from confide.spelling.json import write_request

__all__ = ["read_jsonstat", "write_jsonstat"]

FACTS = ("scope", "policy", "receipt", "totals_add")


def write_jsonstat(release: Release) -> dict[str, Any]:
    """Give a JSON-stat dataset with the measures as its last dimension; what JSON-stat has no place for is under
    `extension.confide`.

    Promise: a withheld number is null and its mark is in `status`; `read_jsonstat(write_jsonstat(r)) == r`.
    """
    metric = _metric(release)
    values = np.stack([column.values for column in release.columns.values()], axis=-1).ravel().tolist()
    marks = np.stack([column.marks for column in release.columns.values()], axis=-1).ravel().tolist()
    dimensions = {d.name: _write_dimension(d) for d in release.dimensions}
    return {
        "version": "2.0",
        "class": "dataset",
        "label": release.title,
        "source": release.source,
        "note": list(release.notes),
        "id": [*dimensions, metric],
        "size": [*release.shape, len(release.columns)],
        "role": {"metric": [metric]},
        "dimension": {**dimensions, metric: _write_measures(release)},
        "value": [None if mark else _write_number(value) for value, mark in zip(values, marks, strict=True)],
        "status": {str(place): mark for place, mark in enumerate(marks) if mark},
        "extension": {
            "status": {"label": {mark[1:-1]: text for mark, text in legend(release)}},
            "confide": _rest(release),
        },
    }


def _metric(release: Release) -> str:
    name, taken = "measure", {d.name for d in release.dimensions}
    while name in taken:
        name += "_"
    return name


def _write_dimension(dimension: Dimension) -> dict[str, Any]:
    labels = dict(zip(dimension.codes, dimension.labels, strict=True))
    return {"label": dimension.label, "category": {"index": list(dimension.codes), "label": labels}}


def _write_measures(release: Release) -> dict[str, Any]:
    columns = release.columns
    labels = {name: column.label for name, column in columns.items()}
    units = {name: {"decimals": column.decimals} for name, column in columns.items()}
    return {"label": "Measure", "category": {"index": list(columns), "label": labels, "unit": units}}


def _rest(release: Release) -> dict[str, Any]:
    noise = {name: [_write_number(sd) for sd in c.noise.ravel().tolist()] for name, c in release.columns.items()}
    return {"request": write_request(release.request), "noise_sd": noise} | {n: getattr(release, n) for n in FACTS}


def _write_number(value: float) -> float | None:
    if math.isnan(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
