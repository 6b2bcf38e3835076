"""Other views of a released table: as percentages, and with the spread of its noise. Made from released numbers alone."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.formats.about import marks
from confide.model.release import Column, Release, share_axes, wholes
from confide.model.request import ErrorMeasure, Measure, Request, Share, TableRequest

__all__ = ["as_asked", "with_noise"]

R = TypeVar("R")

NORMAL = {"90": 1.644854, "95": 1.959964, "99": 2.575829}
"""How many standard deviations on either side hold so many percent of a normal distribution."""


def as_asked(release: R, request: Request[R]) -> R:
    """Give the answer as its request wants it shown: counts and totals as percentages, with errors and intervals, if it names them.

    Promise: they are computed from the protected numbers that are shown anyway, so they tell nothing more. 100 percent is a
    total as released, so that parts need not sum to 100.
    """
    if not (isinstance(release, Release) and isinstance(request, TableRequest)):
        return release
    if not (request.percent or request.error or request.index):
        return release
    view = replace(release.request, percent=request.percent, interval=request.interval, error=request.error)
    asked = replace(release, request=replace(view, index=request.index))
    columns = _indexed(asked) if request.index else _measured(asked)
    notes = (*release.notes, *_said(asked))
    return replace(asked, columns={c.name: c for c in columns}, notes=notes, totals_add=False)


def _measured(asked: Release) -> Iterator[Column]:
    for column in asked.columns.values():
        if column.name in tuple(Measure):
            yield from _shown(column, asked)


def _indexed(asked: Release) -> Iterator[Column]:
    """Every number as a percentage of that of the class which is 100, all else being the same."""
    variable, code = asked.request.index_class
    axis = asked.request.by.index(variable)
    place = asked.dimensions[axis].codes.index(code)
    return (_index(column, axis, place, f"{variable}={code}") for column in asked.columns.values())


def _index(column: Column, axis: int, place: int, base: str) -> Column:
    """The noises of a number and of the base are independent, unless the number is the base (delta method)."""
    number, noise = (np.broadcast_to(np.take(a, [place], axis=axis), a.shape) for a in (column.values, column.noise))
    is_base = np.zeros(column.values.shape, dtype=bool)
    np.moveaxis(is_base, axis, 0)[place] = True
    mark = np.where(marks(column) != "", marks(column), np.where(np.isnan(number), "x", np.where(number == 0, "z", "")))
    clear = mark == ""
    divisor = np.where(clear, number, 1.0)
    ratio = np.where(clear, column.values / divisor, 0.0)
    spread = np.where(is_base, 0.0, np.hypot(np.where(clear, column.noise, 0.0), ratio * np.where(clear, noise, 0.0)))
    return replace(
        column,
        name=f"{column.name}_index",
        label=f"{column.label or column.name}, {base} is 100",
        decimals=1,
        values=np.where(clear, np.round(100 * ratio, 1), np.nan),
        marks=mark,
        noise=np.where(clear, np.round(100 * spread / np.abs(divisor), 2), np.nan),
    )


def _said(asked: Release) -> Iterator[str]:
    request = asked.request
    if request.index:
        yield f"Index numbers are protected numbers as percentages of those of {'='.join(request.index_class)}."
    if request.percent:
        yield "Percentages are of protected numbers, and need not sum to 100."
    if request.interval and request.error:
        yield f"An interval holds the number with a confidence of {request.interval} %, by its standard error."
    elif request.interval:
        yield (
            f"An interval holds the percentage with a confidence of {request.interval} %, if the data are a simple random "
            "sample of their units; the noise of protection is in it."
        )


def _shown(column: Column, asked: Release) -> Iterator[Column]:
    """A measure as it is asked for: the number or its percentage, then its errors, then its interval."""
    share, level = asked.request.percent, asked.request.interval
    shown = _share(column, asked, share) if share and Measure(column.name).adds else column
    yield shown
    error = asked.columns.get(f"{shown.name}_se")
    if error is not None:
        yield from _errors(shown, error, asked)
    elif level and shown is not column and column.name == "count" and share:
        whole, fixed = wholes(column.values, asked.request, share), _is_whole(asked, share)
        variance = (shown.noise / 100) ** 2
        yield from _ends(shown, _interval(column.values / _safe(whole), whole, variance, NORMAL[level]), level, fixed)


def _errors(shown: Column, error: Column, asked: Release) -> Iterator[Column]:
    """What is asked for of the error of a number: itself, its ratio to the number, the reliability, and an interval."""
    wanted, level = asked.request.error, asked.request.interval
    if ErrorMeasure.SE in wanted:
        yield error
    if ErrorMeasure.CV in wanted:
        marks = np.where((error.marks == "") & (shown.values == 0), "z", error.marks)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(marks == "", np.round(100 * error.values / np.abs(shown.values), 1), np.nan)
        label, noise = f"{shown.label}, CV in %", np.where(marks == "", 0.0, np.nan)
        yield replace(error, name=f"{shown.name}_cv", label=label, decimals=1, values=ratio, marks=marks, noise=noise)
    if ErrorMeasure.RELIABILITY in wanted:
        yield asked.columns[f"{shown.name}_reliability"]
    if level:
        yield from _error_ends(shown, error, asked, level)


def _error_ends(shown: Column, error: Column, asked: Release, level: str) -> Iterator[Column]:
    """The ends of an interval by a standard error: Wilson's of a share of counts, as far on both sides of any other number."""
    z, share = NORMAL[level], asked.request.percent
    base = replace(error, name=shown.name, label=shown.label, decimals=max(shown.decimals, min(error.decimals, 1)))
    if share and shown.name in ("count_percent", "weighted_count_percent"):
        yield from _ends(base, _effective(shown.values / 100, error.values / 100, z), level, _is_whole(asked, share))
        return
    least = 0.0 if shown.name.endswith("count") else -np.inf
    step = 10.0 ** (np.floor(np.log10(_safe(error.values))) - 1)
    ends = (np.rint((shown.values + sign * z * error.values) / step) * step for sign in (-1, 1))
    low, high = (np.maximum(end, least) for end in ends)
    yield from _ends(base, (low, high), level)


def _effective(part: Floats, error: Floats, z: float) -> tuple[Floats, Floats]:
    """Wilson's interval of a share, of as many units as a simple random sample would need for its standard error."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.clip(part, 1e-3, 1 - 1e-3)
        return _interval(part, inside * (1 - inside) / error**2, np.zeros_like(part), z)


def _ends(column: Column, ends: tuple[Floats, Floats], level: str, fixed: Bools | None = None) -> Iterator[Column]:
    """Two columns; `fixed` are shares of all, which are 100 whatever was drawn."""
    for name, word, values in zip(("low", "high"), ("from", "to"), ends, strict=True):
        if fixed is not None:
            values = np.where(fixed, 100.0, np.round(values, 1))
        yield replace(
            column,
            name=f"{column.name}_{name}",
            label=f"{column.label}, {level} % interval {word}",
            values=np.where(column.marks == "", values, np.nan),
        )


def _safe(values: Floats) -> Floats:
    """What may be divided by: 1 where there is nothing."""
    return np.where(values > 0, values, 1.0)


def _interval(part: Floats, whole: Floats, noise: Floats, z: float) -> tuple[Floats, Floats]:
    """Wilson's interval of a share, of as many units as would make its sampling error and its noise (a variance) together.

    The sampling error is taken at Wilson's centre, so that a share of 0 has one too.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.clip(part, 0.0, 1.0)
        centre = (part * whole + z**2 / 2) / (whole + z**2)
        sampling = centre * (1 - centre) / whole
        units = centre * (1 - centre) / (sampling + noise)
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
    whole, whole_noise = (wholes(values, release.request, share) for values in (column.values, column.noise))
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


def _is_whole(release: Release, share: Share) -> Bools:
    """Whether a cell is its own total."""
    whole = np.ones(release.shape, dtype=bool)
    for axis in share_axes(release.request, share):
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
