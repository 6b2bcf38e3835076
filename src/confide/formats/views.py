"""Other views of a released table: as percentages, and with the spread of its noise. Made from released numbers alone."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.formats.about import marks
from confide.model.release import Column, Release
from confide.model.request import Measure, Request, Share, TableRequest

__all__ = ["as_asked", "with_noise"]

R = TypeVar("R")

NORMAL = {"90": 1.644854, "95": 1.959964, "99": 2.575829}
"""How many standard deviations on either side hold so many percent of a normal distribution."""


def as_asked(release: R, request: Request[R]) -> R:
    """Give the answer as its request wants it shown: counts and totals as percentages, with intervals, if it names them.

    Promise: they are computed from the protected numbers that are shown anyway, so they tell nothing more. 100 percent is a
    total as released, so that parts need not sum to 100.
    """
    if not (isinstance(release, Release) and isinstance(request, TableRequest) and request.percent):
        return release
    asked = replace(release, request=replace(release.request, percent=request.percent, interval=request.interval))
    columns = [shown for column in release.columns.values() for shown in _shown(column, asked)]
    said = ["Percentages are of protected numbers, and need not sum to 100."]
    if request.interval:
        said.append(
            f"An interval holds the percentage with a confidence of {request.interval} %, if the data are a simple random "
            "sample of their units; the noise of protection is in it."
        )
    return replace(asked, columns={c.name: c for c in columns}, notes=(*release.notes, *said), totals_add=False)


def _shown(column: Column, asked: Release) -> Iterator[Column]:
    share, level = asked.request.percent, asked.request.interval
    if share is None or not Measure(column.name).adds:
        yield column
        return
    percent = _share(column, asked, share)
    yield percent
    if level and column.name == "count":
        ends = _interval(column, percent, _wholes(column.values, asked, share), NORMAL[level])
        fixed = _is_whole(asked, share)
        for name, word, values in zip(("low", "high"), ("from", "to"), ends, strict=True):
            shown = np.where(percent.marks == "", np.where(fixed, 100.0, np.round(values, 1)), np.nan)
            yield replace(
                percent,
                name=f"{percent.name}_{name}",
                label=f"{percent.label}, {level} % interval {word}",
                values=shown,
            )


def _interval(column: Column, percent: Column, wholes: Floats, z: float) -> tuple[Floats, Floats]:
    """Wilson's interval of a share, of as many units as would make its sampling error and its noise together.

    The sampling error is taken at Wilson's centre, so that a share of 0 has one too.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.clip(column.values / wholes, 0.0, 1.0)
        centre = (part * wholes + z**2 / 2) / (wholes + z**2)
        sampling = centre * (1 - centre) / wholes
        units = centre * (1 - centre) / (sampling + (percent.noise / 100) ** 2)
        middle = part + z**2 / (2 * units)
        half = z * np.sqrt(part * (1 - part) / units + z**2 / (4 * units**2))
        ends = ((middle + sign * half) / (1 + z**2 / units) for sign in (-1, 1))
        low, high = (100 * np.clip(end, 0.0, 1.0) for end in ends)
    return low, high


def with_noise(release: Release) -> Release:
    """Give beside each measure the standard deviation of its noise."""
    both = [each for column in release.columns.values() for each in (column, _noise(column))]
    note = "Noise, s.d. is the standard deviation of the random change of the number before it."
    return replace(release, columns={column.name: column for column in both}, notes=(*release.notes, note))


def _share(column: Column, release: Release, share: Share) -> Column:
    """The noises of a part and of its total are independent, unless the part is the total (delta method)."""
    whole, whole_noise = _wholes(column.values, release, share), _wholes(column.noise, release, share)
    shown = np.where(marks(column) == "", column.values, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = shown / whole
        noise = np.hypot(column.noise, part * whole_noise) / np.abs(whole)
    said = np.where(np.isnan(whole), "x", np.where(whole > 0, "", "z"))
    mark = np.where(marks(column) != "", marks(column), said)
    hidden = mark != ""
    return replace(
        column,
        name=f"{column.name}_percent",
        label=f"{column.label or column.name}, % of {share}",
        decimals=1,
        values=np.where(hidden, np.nan, np.round(100 * part, 1)),
        marks=mark,
        noise=np.where(hidden, np.nan, np.where(_is_whole(release, share), 0.0, np.round(100 * noise, 2))),
    )


def _axes(release: Release, share: Share) -> Iterator[int]:
    """The axes over which a total is taken."""
    down = len(release.request.rows)
    for axis in range(len(release.dimensions)):
        if share is Share.TOTAL or (axis >= down) == (share is Share.ROW):
            yield axis


def _wholes(values: Floats, release: Release, share: Share) -> Floats:
    """The total that each cell is a part of; totals stand last."""
    for axis in _axes(release, share):
        values = np.broadcast_to(np.take(values, [-1], axis=axis), values.shape)
    return values


def _is_whole(release: Release, share: Share) -> Bools:
    """Whether a cell is its own total."""
    whole = np.ones(release.shape, dtype=bool)
    for axis in _axes(release, share):
        np.moveaxis(whole, axis, 0)[:-1] = False
    return whole


def _noise(column: Column) -> Column:
    largest = float(np.max(column.noise, initial=0.0, where=np.isfinite(column.noise)))
    return replace(
        column,
        name=f"{column.name}_noise_sd",
        label="Noise, s.d.",
        decimals=column.decimals + 2 if largest < 100 else column.decimals,
        values=column.noise,
    )
