"""The stylesheet, the script and the icon: the same for everyone, so their addresses name their contents and never change."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from importlib import resources

from fastapi import FastAPI, Response
from starlette.exceptions import HTTPException

from confide.web.middleware import STATIC

__all__ = ["add_static", "address", "address_of"]

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}
_FOREVER = "public, max-age=31536000, immutable"


def _read() -> dict[str, bytes]:
    files = resources.files("confide.web").joinpath("static").iterdir()
    return {file.name: file.read_bytes() for file in files if file.name.rpartition(".")[2] in _TYPES}


_FILES = _read()


def address(name: str) -> str:
    """Where a file is served: another address as soon as its contents differ, so that it may be kept for ever.

    >>> address("confide.css").startswith("/static/confide.")
    True
    """
    return address_of(name, _FILES[name])


@lru_cache(100)
def address_of(name: str, content: bytes) -> str:
    """Where a file with these contents is served."""
    stem, _, kind = name.rpartition(".")
    return f"{STATIC}{stem}.{sha256(content).hexdigest()[:12]}.{kind}"


def add_static(app: FastAPI, more: Callable[[], Mapping[str, bytes]]) -> None:
    """Serve the files, and the site's own as they are by then, from memory, to anyone."""

    @app.get(STATIC + "{file}", include_in_schema=False)
    async def static(file: str) -> Response:
        for name, content in {**_FILES, **more()}.items():
            if address_of(name, content) == STATIC + file:
                kind = _TYPES[name.rpartition(".")[2]]
                return Response(content, media_type=kind, headers={"Cache-Control": _FOREVER})
        raise HTTPException(404)
