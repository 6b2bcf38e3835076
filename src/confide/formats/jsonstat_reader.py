"""Back from the JSON-stat 2.0 dataset of `confide.formats.jsonstat` to the release; trusts nothing it reads."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import Fault, Mistake
from confide.model.release import MARKS, Column, Dimension, Release
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
    _must(document["version"] == "2.0" and document["class"] == "dataset")
    rest = document["extension"]["confide"]
    *names, metric = document["id"]
    request = read_request(rest["request"])
    dimensions = tuple(_read_dimension(name, document["dimension"][name]) for name in names)
    _must(request.by == tuple(names) and document["role"]["metric"] == [metric] and type(rest["totals_add"]) is bool)
    return Release(
        request=request,
        title=_text(document["label"]),
        scope=_text(rest["scope"]),
        dimensions=dimensions,
        columns=_read_columns(document, dimensions),
        notes=tuple(_text(note) for note in document["note"]),
        totals_add=rest["totals_add"],
        policy=_text(rest["policy"]),
        receipt=_text(rest["receipt"]),
        source=_text(document["source"]),
    )


def _read_dimension(name: str, written: Mapping[str, Any]) -> Dimension:
    codes = tuple(_text(code) for code in written["category"]["index"])
    labels = tuple(_text(written["category"]["label"][code]) for code in codes)
    _must(len(set(codes)) == len(codes) > 0)
    return Dimension(name=_text(name), label=_text(written["label"]), codes=codes, labels=labels)


def _read_columns(document: Mapping[str, Any], dimensions: tuple[Dimension, ...]) -> dict[str, Column]:
    category = document["dimension"][document["id"][-1]]["category"]
    names = [_text(name) for name in category["index"]]
    shape = [*(len(d.codes) for d in dimensions), len(names)]
    _must(document["size"] == shape and names != [])
    values, marks = _read_cells(document, shape)
    noise = document["extension"]["confide"]["noise_sd"]
    return {
        name: Column(
            name=name,
            label=_text(category["label"][name]),
            decimals=_decimals(category["unit"][name]["decimals"]),
            values=values[..., place],
            marks=marks[..., place],
            noise=np.array([_number(sd) for sd in noise[name]]).reshape(shape[:-1]),
        )
        for place, name in enumerate(names)
    }


def _read_cells(document: Mapping[str, Any], shape: list[int]) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    values = np.array([_number(value) for value in document["value"]]).reshape(shape)
    marks = np.full(values.size, "", dtype="<U1")
    for place, mark in document["status"].items():
        _must(place.isdecimal() and mark in MARKS)
        marks[int(place)] = mark
    return values, marks.reshape(shape)


def _number(written: object) -> float:
    if written is None:
        return math.nan
    _must(type(written) in (int, float))
    number = float(written)  # type: ignore[arg-type]
    _must(math.isfinite(number))
    return number


def _decimals(written: object) -> int:
    if type(written) is not int or not 0 <= written <= 15:
        raise ValueError
    return written


def _text(written: object) -> str:
    if not isinstance(written, str):
        raise TypeError
    return written


def _must(condition: bool) -> None:
    if not condition:
        raise ValueError
