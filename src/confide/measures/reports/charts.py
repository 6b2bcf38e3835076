"""The pictures of a report as Vega-Lite: plain dictionaries with their data inside, for any page and any tool.

Each has a title and a description in words, which is what a screen reader speaks. Nothing is fetched from anywhere.
"""

from collections.abc import Sequence

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.report import SCHEMA
from confide.formats.charts.colours import LINE, POINT
from confide.formats.charts.theme import Spec
from confide.measures import risk
from confide.measures.pairs import Both, unpaired
from confide.measures.reports.findings import Measurement
from confide.measures.roles import Files

__all__ = ["charts_of"]

COLOURS = {"domain": ["original", "released"], "range": [LINE, POINT]}
COLUMNS, BINS, CLASSES = 12, 30, 20
"""At most so many columns are drawn, of numbers in so many bins, of categories the commonest so many."""

LARGEST = 10
"""Classes of so many records and more are shown together."""


def charts_of(files: Files, findings: Sequence[Measurement]) -> dict[str, Spec]:
    """The percentages, the sizes of classes, and the distribution of each column in both files."""
    charts = {}
    bars = [f for f in findings if f.part == "risk" and f.unit == "percent" and f.value is not None]
    if bars:
        charts["risk"] = _risks(bars)
    if files.roles.keys:
        charts["classes"] = _classes(files)
    names = (files.numeric + files.categorical)[:COLUMNS]
    for column in unpaired(files.original, files.released, names).columns if names else ():
        charts[f"column {column.name}"] = _numbers(column) if column.numeric else _categories(column)
    return charts


def _risks(findings: Sequence[Measurement]) -> Spec:
    rows = [
        {"measure": f"{f.name} ({f.about})" if f.about else f.name, "percent": f.value, "file": "released"}
        for f in findings
    ]
    rows += [
        {**row, "percent": f.before, "file": "original"}
        for f, row in zip(findings, rows, strict=True)
        if f.before is not None
    ]
    words = "Risks in percent: " + "; ".join(f"{f.name} {f.value:.3g}" for f in findings) + "."
    y = {"field": "measure", "type": "nominal", "sort": None, "title": None}
    x = {"field": "percent", "type": "quantitative", "title": "percent", "scale": {"domain": [0, 100]}}
    return _chart(
        "Risks",
        words,
        rows,
        {"type": "bar"},
        {"y": y, "x": x, "yOffset": {"field": "file"}, "color": _colour()},
        step=True,
    )


def _classes(files: Files) -> Spec:
    rows: list[Spec] = []
    for name, file in (("original", files.original), ("released", files.released)):
        size = np.minimum(risk.k_anonymity(file, keys=files.roles.keys).frequency, LARGEST)
        share = 100 * np.bincount(size, minlength=LARGEST + 1) / len(size)
        rows += [{"size": _size(k), "percent": _round(share[k]), "file": name} for k in range(1, LARGEST + 1)]
    alone = [row["percent"] for row in rows if row["size"] == "1"]
    words = (
        f"Records by the size of their class of equal keys: {alone[0]:.3g} percent are alone in the original file, "
        f"{alone[1]:.3g} in the released."
    )
    x = {"field": "size", "type": "nominal", "sort": None, "title": "records with the same keys"}
    return _chart(
        "Classes of equal keys",
        words,
        rows,
        {"type": "bar"},
        {"x": x, "y": _y(), "xOffset": {"field": "file"}, "color": _colour()},
    )


def _size(k: int) -> str:
    return str(k) if k < LARGEST else f"{LARGEST} or more"


def _numbers(column: Both) -> Spec:
    """Histograms over the middle of the original: a few far-out values would hide all others."""
    known = column.original[~np.isnan(column.original)]
    low, high = np.quantile(known, [0.005, 0.995]) if len(known) else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    rows: list[Spec] = []
    for name, side in (("original", column.original), ("released", column.released)):
        share = _histogram(side, edges)
        rows += [
            {"value": _round(x), "percent": _round(y), "file": name}
            for x, y in zip(edges[:-1] / 2 + edges[1:] / 2, share, strict=True)
        ]
    words = f"Histograms of {column.name} in both files, over the middle 99 percent of the original; what lies beyond is at the ends."
    x = {"field": "value", "type": "quantitative", "title": column.name, "scale": {"zero": False}}
    mark = {"type": "line", "interpolate": "step", "strokeWidth": 2}
    return _chart(column.name, words, rows, mark, {"x": x, "y": _y(), "color": _colour()})


def _histogram(values: Floats, edges: Floats) -> Floats:
    known = np.clip(values[~np.isnan(values)], edges[0], edges[-1])
    return np.asarray(100 * np.histogram(known, edges)[0] / max(1, len(values)))


def _categories(column: Both) -> Spec:
    labels = column.labels or ()
    common = np.argsort(-np.bincount(column.original[column.original >= 0], minlength=len(labels)), kind="stable")[
        :CLASSES
    ]
    rows: list[Spec] = []
    for name, side in (("original", column.original), ("released", column.released)):
        share = 100 * _counts(side, len(labels)) / len(side)
        rows += [{"category": labels[c], "percent": _round(share[c]), "file": name} for c in common.tolist()]
        rows.append({"category": "(missing)", "percent": _round(100 * np.mean(side < 0)), "file": name})
    words = f"Shares of the commonest categories of {column.name} in both files."
    x = {"field": "category", "type": "nominal", "sort": None, "title": column.name}
    return _chart(
        column.name, words, rows, {"type": "bar"}, {"x": x, "y": _y(), "xOffset": {"field": "file"}, "color": _colour()}
    )


def _counts(codes: Ints, size: int) -> Ints:
    return np.bincount(codes[codes >= 0], minlength=size)


def _round(value: float) -> float:
    return float(f"{value:.5g}")


def _y() -> Spec:
    return {"field": "percent", "type": "quantitative", "title": "percent of records"}


def _colour() -> Spec:
    return {"field": "file", "type": "nominal", "scale": COLOURS, "title": None}


def _chart(title: str, words: str, rows: list[Spec], mark: Spec, encoding: Spec, *, step: bool = False) -> Spec:
    size = {"width": 360, "height": {"step": 12}} if step else {"width": 420, "height": 220}
    return {
        "$schema": SCHEMA,
        "title": title,
        "description": words,
        **size,
        "data": {"values": rows},
        "mark": mark,
        "encoding": encoding,
    }
