"""A site's logo: a small PNG or SVG in its folder, which can do nothing but be looked at."""

import re
from pathlib import Path
from xml.etree import ElementTree

from confide.errors import Mistake

__all__ = ["LARGEST", "check_logo"]

LARGEST = 200_000
"""Bytes. Every page loads it."""

_PNG = b"\x89PNG\r\n\x1a\n"
_SVG = "{http://www.w3.org/2000/svg}"
_SHAPES = ("path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan")
_PAINTS = ("clipPath", "mask", "linearGradient", "radialGradient", "stop")
_DRAWN = {"svg", "g", "defs", "symbol", "use", "title", "desc", *_SHAPES, *_PAINTS}
"""What draws. Everything else (script, foreignObject, image, style, animation) is left out: it runs, loads or changes something."""

_PLAIN = "Save it as plain SVG without metadata, or as PNG."


def check_logo(folder: Path, name: str) -> bytes:
    """The contents of a logo in the site's folder; a Mistake if it is no picture, or one that does more than show itself."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*\.(png|svg)", name):
        raise Mistake(f"The logo {name[:60]!r} must be a file in the site's folder that ends in .png or .svg.")
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise Mistake(f"The logo {name!r} cannot be read ({error.strerror}).") from None
    if len(content) > LARGEST:
        raise Mistake(f"The logo {name!r} is larger than {LARGEST // 1000} kB.")
    _check_svg(content, name) if name.endswith(".svg") else _check_png(content, name)
    return content


def _check_png(content: bytes, name: str) -> None:
    if not content.startswith(_PNG) or content[12:16] != b"IHDR":
        raise Mistake(f"The logo {name!r} is no PNG.")


def _check_svg(content: bytes, name: str) -> None:
    try:
        if b"<!" in content.replace(b"<!--", b""):  # no entities, which could grow without end
            raise Mistake(f"The logo {name!r} has a document type.", suggestions=[_PLAIN])
        drawing = ElementTree.fromstring(content)
    except ElementTree.ParseError:
        raise Mistake(f"The logo {name!r} is no SVG.") from None
    if drawing.tag != f"{_SVG}svg":
        raise Mistake(f"The logo {name!r} is no SVG.")
    for element in drawing.iter():
        _check_element(element, name)


def _check_element(element: ElementTree.Element, name: str) -> None:
    tag = str(element.tag)
    if tag.removeprefix(_SVG) not in _DRAWN or not tag.startswith(_SVG):
        what = tag.rpartition("}")[2][:40]
        raise Mistake(f"The logo {name!r} holds a {what!r}, which does more than draw.", suggestions=[_PLAIN])
    for key, value in element.attrib.items():
        short, text = key.rpartition("}")[2].lower(), re.sub(r"\s", "", value.lower())
        elsewhere = short == "href" and not text.startswith("#")
        fetched = re.search(r"url\((?!['\"]?#)|@import|\\", text)
        if short.startswith("on") or elsewhere or fetched:
            raise Mistake(
                f"The logo {name!r} has an attribute {short[:40]!r} that loads or runs something.", suggestions=[_PLAIN]
            )
