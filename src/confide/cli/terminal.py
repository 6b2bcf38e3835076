"""What a person at a terminal is told while work is done, and where results are written."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import typer
from rich.console import Console

from confide.errors import Mistake
from confide.progress import StagedProgress, time_left

__all__ = ["told", "width", "working", "write"]


@contextmanager
def working(text: str) -> Iterator[None]:
    """Say what takes time, how far it is and how long the rest may take: on stderr, and only to a person."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    begun = monotonic()
    with console.status(text) as status:
        progress = StagedProgress(lambda doing, share: status.update(told(doing, share, monotonic() - begun)))
        with progress.applied():
            yield


def told(doing: str, share: float, seconds: float) -> str:
    """A line about work that is so far after so many seconds.

    >>> told("Writing", 0.5, 30), told("Coding", 0.0, 1)
    ('Writing, 50 % done, about 30 s left', 'Coding')
    """
    done = f"{share:.0%}".replace("%", " % done") if share else ""
    return ", ".join(part for part in (doing, done, time_left(share, seconds)) if part)


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
