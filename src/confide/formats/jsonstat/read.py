"""Back from the JSON-stat 2.0 dataset of `confide.formats.jsonstat.write` to the release; trusts nothing it reads."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Floats
from confide.errors import Fault, Mistake
from confide.formats.reading import finite, must, text
from confide.model.release import MARKS, Column, Dimension, Release
from confide.model.request import TableRequest
from confide.spelling.json import read_request

__all__ = ["read_jsonstat"]


def read_jsonstat(document: Mapping[str, Any]) -> Release:
    """Give the release that `write_jsonstat` wrote; anything else is a `Mistake`."""
    try:
        return _read(document)
    except (Fault, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
        raise Mistake(
            "This is not a JSON-stat table written by Confide, or it was damaged on the way.",
            suggestions=["Ask for the table again."],
        ) from None


def _read(document: Mapping[str, Any]) -> Release:
    must(document["version"] == "2.0" and document["class"] == "dataset")
    rest = document["extension"]["confide"]
    *names, metric = document["id"]
    request = read_request(rest["request"], TableRequest)
    dimensions = tuple(_read_dimension(name, document["dimension"][name]) for name in names)
    must(request.by == tuple(names) and document["role"]["metric"] == [metric] and type(rest["totals_add"]) is bool)
    return Release(
        request=request,
        title=text(document["label"]),
        scope=text(rest["scope"]),
        dimensions=dimensions,
        columns=_read_columns(document, dimensions),
        notes=tuple(text(note) for note in document["note"]),
        totals_add=rest["totals_add"],
        policy=text(rest["policy"]),
        receipt=text(rest["receipt"]),
        source=text(document["source"]),
    )


def _read_dimension(name: str, written: Mapping[str, Any]) -> Dimension:
    codes = tuple(text(code) for code in written["category"]["index"])
    labels = tuple(text(written["category"]["label"][code]) for code in codes)
    must(len(set(codes)) == len(codes) > 0)
    return Dimension(name=text(name), label=text(written["label"]), codes=codes, labels=labels)


def _read_columns(document: Mapping[str, Any], dimensions: tuple[Dimension, ...]) -> dict[str, Column]:
    category = document["dimension"][document["id"][-1]]["category"]
    names = [text(name) for name in category["index"]]
    shape = [*(len(d.codes) for d in dimensions), len(names)]
    must(document["size"] == shape and names != [])
    values, marks = _read_cells(document, shape)
    noise = document["extension"]["confide"]["noise_sd"]
    return {
        name: Column(
            name=name,
            label=text(category["label"][name]),
            decimals=_decimals(category["unit"][name]["decimals"]),
            values=values[..., place],
            marks=marks[..., place],
            noise=np.array([_number(sd) for sd in noise[name]]).reshape(shape[:-1]),
        )
        for place, name in enumerate(names)
    }


def _read_cells(document: Mapping[str, Any], shape: list[int]) -> tuple[Floats, NDArray[np.str_]]:
    values = np.array([_number(value) for value in document["value"]]).reshape(shape)
    marks = np.full(values.size, "", dtype="<U1")
    for place, mark in document["status"].items():
        must(place.isdecimal() and mark in MARKS)
        marks[int(place)] = mark
    return values, marks.reshape(shape)


def _number(written: object) -> float:
    if written is None:
        return math.nan
    return float(finite(written))


def _decimals(written: object) -> int:
    if type(written) is not int or not 0 <= written <= 15:
        raise ValueError
    return written
