"""Charts as pictures: Vega-Lite specs that pages made, drawn to SVG in a process of their own and kept.

A page registers its spec and gets an address that only the site can make; nothing that a reader sends is ever drawn, and
nothing is fetched while drawing. The address stays the same for the same chart and reader, also after a restart; a site that
does not know it yet answers 404 until the page is opened again, and the page's table has the numbers in any case.
"""

import gzip
import hmac
import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from hashlib import sha256
from importlib import resources
from importlib.util import find_spec
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from confide.cache import Cache
from confide.formats.charts.theme import Spec, dressed, lettered, moving
from confide.site.access import Person, PersonRole
from confide.web.closing import at_close
from confide.web.drawing import Drawing
from confide.web.pages.context import PageContext

__all__ = ["Charts", "Look", "Picture", "add_charts", "picture", "script_address"]

INSTALLED = find_spec("vl_convert") is not None
"""Whether the extra `charts` is."""

MEMORY = 48_000_000
"""Bytes kept of specs, and as many of pictures."""

WIDE, NARROW = 540, 264
"""Pixels across. The narrow one fits a telephone without shrinking its letters."""

_FOREVER = "private, max-age=31536000, immutable"
_SCRIPT = ("script", "")
"""Where the script is kept among the pictures."""

_FIRST: Spec = {"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x"}}}


class Look(StrEnum):
    """How a chart is drawn: for a light or a dark page, wide or narrow."""

    LIGHT = "light"
    DARK = "dark"
    LIGHT_NARROW = "light-narrow"
    DARK_NARROW = "dark-narrow"

    @property
    def dark(self) -> bool:
        return self.startswith("dark")

    @property
    def width(self) -> int:
        return NARROW if self.endswith("narrow") else WIDE


@dataclass(frozen=True)
class Picture:
    """A registered chart: its address, to which a look is added, and what it shows in words."""

    address: str
    words: str


class Charts:
    """The charts of a site. Safe to share among threads.

    Promise: only specs that were registered are drawn, and shown only to whom they were registered for; memory is bounded.
    """

    def __init__(self, key: bytes, *, memory: int = MEMORY) -> None:
        self._key, self._drawing = key, Drawing()
        self._specs: Cache[tuple[str, str], bytes] = Cache(memory, weigh=len)
        self._drawn: Cache[tuple[str, str], bytes] = Cache(memory, weigh=len)

    def register(self, spec: Spec, *, who: str) -> Picture:
        """The picture of a spec; its `description` is what the picture shows in words."""
        text = json.dumps(spec, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        name = hmac.digest(self._key, who.encode() + b"\0" + text, "sha256").hex()[:40]
        self._specs.put((name, who), gzip.compress(text, 5, mtime=0))
        if not self._drawing.started:
            self._drawing.begin(_vl_convert().vegalite_to_svg, _FIRST, allowed_base_urls=[])
        return Picture(f"/charts/{name}", str(spec["description"]))

    def spec(self, name: str, *, who: str) -> Spec | None:
        """A registered spec, for the person it was registered for."""
        packed = self._specs.get((name, who))
        found: Spec | None = None if packed is None else json.loads(gzip.decompress(packed))
        return found

    def svg(self, name: str, look: Look, *, who: str) -> bytes | None:
        """The picture of a registered spec, compressed by gzip."""
        spec = self.spec(name, who=who)
        if spec is None:
            return None
        drawn = self._drawn.get((name, look))
        if drawn is None:
            ready = dressed(spec, dark=look.dark, width=look.width)
            svg = self._drawing.run(_vl_convert().vegalite_to_svg, ready, allowed_base_urls=[])
            drawn = gzip.compress(lettered(svg).encode(), 6, mtime=0)
            self._drawn.put((name, look), drawn)
        return drawn

    def script(self) -> bytes:
        """The script of interactive charts, compressed by gzip: Vega-Lite as vl-convert carries it, and our few lines."""
        script = self._drawn.get(_SCRIPT)
        if script is None:
            bundle = self._drawing.run(_vl_convert().javascript_bundle, _lines())
            script = gzip.compress(bundle.encode(), 6, mtime=0)
            self._drawn.put(_SCRIPT, script)
        return script

    def close(self) -> None:
        """End the processes that draw."""
        self._drawing.close()


def picture(request: Request, spec: Spec, asker: Person) -> Picture | None:
    """The picture of a spec, for a page to show; None where the extra `charts` is missing."""
    charts: Charts = request.app.state.charts
    return charts.register(spec, who=asker.asking) if INSTALLED else None


def script_address() -> str:
    """Where the script of interactive charts is: another address as soon as it differs, so that it may be kept for ever.

    Nothing where the extra `charts` is missing.
    """
    if not INSTALLED:
        return ""
    mark = sha256(f"{_vl_convert().__version__}\0{_lines()}".encode()).hexdigest()[:12]
    return f"/charts/vega.{mark}.js"


def add_charts(app: FastAPI, context: PageContext) -> None:
    """Serve the pictures that pages register."""
    charts = app.state.charts = Charts(context.service.signing_key("charts"))
    at_close(app, charts.close)

    @app.get("/charts/vega.{mark}.js", include_in_schema=False)
    def script(request: Request, mark: str) -> Response:
        if request.url.path != script_address():
            raise HTTPException(404)
        return _packed(request, charts.script(), "text/javascript; charset=utf-8")

    @app.get("/charts/{name}/{look}.{kind}", include_in_schema=False)
    def chart(
        request: Request, name: str, look: Look, kind: Literal["svg", "json"], asker: Annotated[Person, context.asker]
    ) -> Response:
        if kind == "json":
            spec = charts.spec(name, who=asker.asking)
            content = None if spec is None else json.dumps(moving(spec, dark=look.dark, width=look.width)).encode()
            content = content and gzip.compress(content, 6, mtime=0)
        else:
            content = charts.svg(name, look, who=asker.asking)
        if content is None:
            raise HTTPException(404)
        picture = _packed(request, content, "application/json" if kind == "json" else "image/svg+xml")
        if asker.role is PersonRole.CUSTODIAN:
            picture.headers["Cache-Control"] = "no-store"  # no browser keeps the custodian's pages, nor their pictures
        return picture


def _packed(request: Request, content: bytes, media_type: str) -> Response:
    """A response of compressed content, for clients that read it as it is and for the others."""
    headers = {"Cache-Control": _FOREVER, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(content, headers={**headers, "Content-Encoding": "gzip"}, media_type=media_type)
    return Response(gzip.decompress(content), headers=headers, media_type=media_type)


@cache
def _lines() -> str:
    return resources.files("confide.web").joinpath("chart.js").read_text(encoding="utf-8")


def _vl_convert() -> Any:
    """Imported when something is to be drawn: it is an extra, and large."""
    import vl_convert

    return vl_convert
