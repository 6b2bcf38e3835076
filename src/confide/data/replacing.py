"""Writing files whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a file to write to, which then takes the place of `path`.

    Promise: who is killed on the way, or writes at the same time as another, leaves a whole file in that place.
    """
    path = Path(path).resolve()
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
