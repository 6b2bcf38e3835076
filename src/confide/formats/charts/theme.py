"""How a chart is dressed for a page: light or dark, and as wide as there is room.

Specs say what is shown: marks, data, colours of `confide.formats.charts.colours`, and `"width": "container"` where they can
grow. Letters, axes and grids are dressed here, so that all charts of a site look alike. Their titles are on the page.
"""

from collections.abc import Iterable
from typing import Any

from confide.formats.about import plain
from confide.formats.charts.colours import darkened

__all__ = ["Spec", "distinct", "dressed", "lettered", "moving", "short"]

Spec = dict[str, Any]

WIDEST_LABELS = 230
"""Pixels for the labels of rows in a chart of several views, which cannot be fitted otherwise; at most 2 of 5 parts."""

LONGEST_LABEL = 60
"""Characters. Measuring longer ones takes seconds."""

_FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""Not the reader's own as on the page: room for labels is measured where the chart is drawn, so letters must be as wide here."""
_SIZE, _MEASURED = 12, 14
"""Pixels of letters, and of those that room is measured for in a picture: a reader without these fonts sees wider ones (DejaVu)."""
_LEGEND = 250
"""Pixels for a sign of the legend and its words: so many stand beside each other as there is room for."""
_LIGHT = {"ink": "#24292e", "soft": "#4b535b", "line": "#8b949c", "grid": "#e4e8eb"}
_DARK = {"ink": "#e8ebee", "soft": "#b9c1c9", "line": "#7d868f", "grid": "#2f363d"}


def short(text: str) -> str:
    """Give a text as a chart can show it: on one line, and cut where no chart has room any more."""
    shown = plain(text)
    return shown if len(shown) <= LONGEST_LABEL else shown[: LONGEST_LABEL - 1] + "…"


def distinct(texts: Iterable[str]) -> list[str]:
    """Give texts as a chart can show them beside each other: those that would look alike get numbers.

    >>> distinct(["Other", "None", "Other"])
    ['Other', 'None', 'Other (2)']
    """
    seen: dict[str, int] = {}
    shown = []
    for text in map(short, texts):
        seen[text] = seen.get(text, 0) + 1
        shown.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
    return shown


def dressed(spec: Spec, *, dark: bool, width: int, letters: int = _MEASURED) -> Spec:
    """Give the spec as a picture of it is drawn, so many pixels wide in all; `lettered` finishes the picture."""
    ready: Spec = darkened(spec) if dark else dict(spec)
    ready["background"] = "transparent"
    config = _joined(_config(_DARK if dark else _LIGHT, letters), {"legend": {"columns": max(1, width // _LEGEND)}})
    ready["config"] = _joined(config, ready.get("config", {}))
    if "spec" in ready:
        return _fitted_rows(ready, width)
    ready["autosize"] = {"type": "fit-x", "contains": "padding"}
    return {**ready, "width": width} if ready.get("width") == "container" else ready


def lettered(svg: str) -> str:
    """Give a picture of a dressed spec with letters of their size in the room that was measured for wider ones."""
    return svg.replace(f'font-size="{_MEASURED}px"', f'font-size="{_SIZE}px"')


def moving(spec: Spec, *, dark: bool, width: int) -> Spec:
    """Give the spec as a page's script draws it: as wide as its place, if it can be; and so that it answers to a reader.

    What is under the pointer is told, and scatters can be moved and zoomed. The page says what the chart shows, not the chart.
    """
    ready = dressed(spec, dark=dark, width=width, letters=_SIZE)
    ready["config"] = _joined(ready["config"], {"mark": {"tooltip": True}})
    for told_elsewhere in ("$schema", "description"):
        ready.pop(told_elsewhere, None)
    if spec.get("width") == "container":
        ready["width"] = "container"
    for layer in ready.get("layer", ()):
        sides = [layer.get("encoding", {}).get(side, {}).get("type") for side in ("x", "y")]
        if sides == ["quantitative", "quantitative"]:
            zoom = {"name": "zoom", "select": "interval", "bind": "scales"}
            layers = [{**each, "params": [zoom]} if each is layer else each for each in ready["layer"]]
            return {**ready, "layer": layers}
    return ready


def _fitted_rows(spec: Spec, width: int) -> Spec:
    """Views in rows: each gets what the labels leave."""
    labels = min(WIDEST_LABELS, width * 2 // 5)
    axis = {"minExtent": labels, "maxExtent": labels, "labelLimit": labels - 8}
    config = _joined(spec["config"], {"axisY": axis, "header": {"labelLimit": width - labels - 24}})
    return {**spec, "config": config, "spec": {**spec["spec"], "width": width - labels - 24}}


def _config(ink: dict[str, str], letters: int) -> Spec:
    sizes = {"labelFontSize": letters, "titleFontSize": letters}
    words = {"labelColor": ink["soft"], "titleColor": ink["soft"], **sizes}
    lines = {"domainColor": ink["line"], "tickColor": ink["line"], "gridColor": ink["grid"]}
    return {
        "font": _FONT,
        "padding": 4,
        "axis": {**words, **lines, "titleFontWeight": "normal", "labelLimit": 220},
        "legend": {
            **words,
            "orient": "top",
            "titleFontWeight": "normal",
            "labelLimit": _LEGEND - 40,
            "symbolLimit": 40,
        },
        "header": {**words, "labelColor": ink["ink"], "labelFontWeight": "bold", "labelLimit": 600},
        "title": {"color": ink["ink"], "subtitleColor": ink["soft"]},
        "text": {"color": ink["ink"], "fontSize": letters},
        "view": {"stroke": None},
    }


def _joined(first: Spec, second: Spec) -> Spec:
    """Both; where they differ the second."""
    both = {**first, **second}
    shared = {key for key in first.keys() & second.keys() if isinstance(first[key], dict)}
    return both | {key: _joined(first[key], second[key]) for key in shared}
