"""Small tables as text."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from confide.formats.about import plain

__all__ = ["aligned"]

WIDEST = 44
"""Longer texts are cut; the other formats carry them whole."""


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table: columns of numbers stand to the right, others to the left.

    >>> print(aligned(("name", "n"), [("a", "1"), ("bb", "10")]))
    name   n
    ----  --
    a      1
    bb    10
    """
    columns = [_column(name, list(values)) for name, *values in zip(head, *rows, strict=True)]
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def _column(name: str, values: list[str]) -> list[str]:
    texts = [plain(name), *map(plain, values)]
    width = min(WIDEST, max(map(cell_len, texts)))
    right = any(values) and all(
        value.replace(",", "").replace(".", "").replace("-", "").replace("e", "").isdigit() for value in values if value
    )
    lines = [_fitted(text, width, right=right) for text in texts]
    return [lines[0], "-" * width, *lines[1:]]


def _fitted(text: str, width: int, *, right: bool) -> str:
    cut = text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"
    return " " * (width - cell_len(cut)) + cut if right else set_cell_size(cut, width)
