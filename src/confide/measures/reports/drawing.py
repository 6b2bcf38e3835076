"""Vega-Lite charts drawn as SVG, if the extra for it is installed."""

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["NOT_DRAWN", "drawn"]

NOT_DRAWN = "Pictures need the extra 'charts': pip install 'confide[charts]'. The data of the charts are in the JSON."


def drawn(chart: Mapping[str, Any]) -> str | None:
    """The chart as SVG, or None if the extra 'charts' is not installed. Nothing is fetched from other machines."""
    try:
        import vl_convert
    except ImportError:
        return None
    svg: str = vl_convert.vegalite_to_svg(json.dumps(chart), vl_version="5.21", allowed_base_urls=[])
    return svg
