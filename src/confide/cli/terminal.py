"""What a person at a terminal is told while work is done, and where results are written."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from confide.errors import Mistake

__all__ = ["width", "working", "write"]


@contextmanager
def working(text: str) -> Iterator[None]:
    """Say what takes time, on stderr, and only to a person."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(text):
            yield
    else:
        yield


def width() -> int | None:
    """How wide a table may be: as the terminal, or, into a pipe, as it is."""
    return Console().width if sys.stdout.isatty() else None


def write(content: str | bytes, output: Path | None) -> None:
    """Write a result to a file, or to the screen."""
    if output is None:
        typer.echo(content, nl=not str(content).endswith("\n"))
        return
    try:
        output.write_bytes(content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise Mistake(f"{output} cannot be written ({error.strerror}).") from None
