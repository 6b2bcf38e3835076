"""What PostgreSQL says in its own way."""

from confide.engines.sql import Dialect

__all__ = ["POSTGRES"]


def _square(size: str, shift: int) -> str:
    """The shift keeps every product within BIGINT; the sum is made in 128 bits and fits again."""
    cut = f"({size} / {1 << shift})" if shift else size
    return f"CAST(sum({cut} * {cut}) AS BIGINT)"


def _largest(size: str, top: int) -> str:
    """The very largest; those after it are asked for by themselves."""
    return f"max({size})"


POSTGRES = Dialect(_square, _largest)
