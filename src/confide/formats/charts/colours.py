"""The colours of charts. Each is legible on a light page and has a twin for a dark one; specs name the light ones only.

Series can be told apart by people who see no red or no green; marks have a contrast of 3 to 1 or more with the page (WCAG 1.4.11).
"""

from typing import Any

__all__ = ["ABOVE", "BELOW", "LINE", "MIDDLE", "OVER", "POINT", "RULE", "SERIES", "darkened"]

POINT, LINE, RULE = "#5b7ba6", "#8a1c1c", "#595959"
"""Points and bars, what leads the eye through them, and lines of reference."""

OVER = "white"
"""What is drawn over a point, a bar or a strong colour."""

BELOW, MIDDLE, ABOVE = "#a8500c", "#f4f2ef", "#1d5c9c"
"""A scale from below zero to above it."""

SERIES = ("#1d5c9c", "#b35410", "#2f7d5b", "#7b4a9b", "#8a7a12", "#a33a4f", "#3c7f93", "#6b6b6b")
"""Classes beside each other, in this order."""

_TWINS = {
    POINT: "#8fb3e0",
    LINE: "#ff9d8a",
    RULE: "#b4b8bc",
    OVER: "#12161a",
    BELOW: "#f0a35e",
    MIDDLE: "#2b3138",
    ABOVE: "#74aee8",
    **dict(
        zip(
            SERIES,
            ("#74aee8", "#f0a35e", "#74c9a2", "#c39be0", "#d6c65a", "#f08ea0", "#7fc4d8", "#b4b8bc"),
            strict=True,
        )
    ),
}
_COLOURED = {"color", "fill", "stroke", "value", "range"}
"""Where a spec names a colour. A label of the data that reads like one is left alone."""


def darkened(spec: Any, *, key: str = "") -> Any:
    """Give the spec with every colour replaced by its twin; data are not looked at.

    >>> darkened({"mark": {"type": "bar", "color": POINT}, "data": {"values": [{"color": POINT}]}})
    {'mark': {'type': 'bar', 'color': '#8fb3e0'}, 'data': {'values': [{'color': '#5b7ba6'}]}}
    """
    if isinstance(spec, dict):
        return {name: part if name == "data" else darkened(part, key=name) for name, part in spec.items()}
    if isinstance(spec, list | tuple):
        return [darkened(part, key=key) for part in spec]
    return _TWINS.get(spec, spec) if key in _COLOURED and isinstance(spec, str) else spec
