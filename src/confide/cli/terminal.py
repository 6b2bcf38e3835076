"""What a person at a terminal is told while work is done."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

__all__ = ["working"]


@contextmanager
def working(text: str) -> Iterator[None]:
    """Say what takes time, on stderr, and only to a person."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(text):
            yield
    else:
        yield
