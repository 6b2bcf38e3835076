"""What Spark says in its own way."""

from confide.engines.sql import Dialect

__all__ = ["SPARK"]


def _square(size: str, shift: int) -> str:
    """The shift keeps every product and the sum within BIGINT; one that left it would be an error (ANSI mode)."""
    cut = f"({size} div {1 << shift})" if shift else size
    return f"sum({cut} * {cut})"


def _largest(size: str, top: int) -> str:
    """The very largest; those after it are asked for by themselves."""
    return f"max({size})"


SPARK = Dialect(_square, _largest)
