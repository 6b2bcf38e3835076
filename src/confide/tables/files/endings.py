"""Which format a file has, by how its name ends."""

from pathlib import Path

from confide.data.writing import FRAMES, check_target, write_frame
from confide.errors import Mistake
from confide.tables.files.jj import write_jj
from confide.tables.files.tab import write_tab
from confide.tables.table.table import Table

__all__ = ["WORKING", "check_published", "ending", "write_published", "write_working"]

WORKING = (".tab", ".jj")
"""Endings of files that hold tables with their true values."""


def ending(path: str | Path) -> str:
    """How a file's name ends, without the sign that it is compressed.

    >>> ending("tables/Turnover.CSV.gz")
    '.csv'
    """
    return Path(str(path).lower().removesuffix(".gz")).suffix


def write_published(table: Table, path: str | Path) -> None:
    """Write what others may see of a table."""
    check_published(path)
    write_frame(table.published(), path)


def check_published(path: str | Path) -> None:
    """A `Mistake` where a file cannot hold what others may see, and only that."""
    if ending(path) in WORKING:
        raise Mistake(
            f"{Path(path).name} would have the true values of suppressed cells in it.",
            suggestions=["Publish a .csv, .parquet or .arrow file; keep this one with --working."],
        )
    check_target(path, *FRAMES)


def write_working(table: Table, path: str | Path) -> None:
    """Write all that is known of a table, true values too: for τ-ARGUS (.tab), as a JJ instance, or as a frame."""
    if ending(path) == ".tab":
        write_tab(table, path)
    elif ending(path) == ".jj":
        write_jj(table, path)
    else:
        write_frame(table.to_arrow(), path)
