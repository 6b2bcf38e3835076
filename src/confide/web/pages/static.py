"""The stylesheet, the script and the icon: the same for everyone, so their addresses name their contents and never change."""

from functools import cache
from hashlib import sha256
from importlib import resources

from fastapi import FastAPI, Response
from starlette.exceptions import HTTPException

from confide.web.middleware import STATIC

__all__ = ["add_static", "address"]

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_FOREVER = "public, max-age=31536000, immutable"


def _read() -> dict[str, bytes]:
    files = resources.files("confide.web").joinpath("static").iterdir()
    return {file.name: file.read_bytes() for file in files if file.name.rpartition(".")[2] in _TYPES}


_FILES = _read()


@cache
def address(name: str) -> str:
    """Where a file is served: another address as soon as its contents differ, so that it may be kept for ever.

    >>> address("confide.css").startswith("/static/confide.")
    True
    """
    stem, _, kind = name.rpartition(".")
    return f"{STATIC}{stem}.{sha256(_FILES[name]).hexdigest()[:12]}.{kind}"


def add_static(app: FastAPI) -> None:
    """Serve the files from memory, to anyone."""
    served = {address(name).removeprefix(STATIC): (name, content) for name, content in _FILES.items()}

    @app.get(STATIC + "{file}", include_in_schema=False)
    async def static(file: str) -> Response:
        if file not in served:
            raise HTTPException(404)
        name, content = served[file]
        return Response(content, media_type=_TYPES[name.rpartition(".")[2]], headers={"Cache-Control": _FOREVER})
