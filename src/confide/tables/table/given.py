"""What people hand over where a table is asked for."""

from typing import Any

from confide.errors import Mistake
from confide.tables.table.table import Table

__all__ = ["given_table"]


def given_table(given: Any) -> Table:
    """The table that was given, or that of a result; a `Mistake` that says how to make one where it is something else.

    >>> given_table({"sex": ["f", "m"]})
    Traceback (most recent call last):
    confide.errors.Mistake: Not a table: builtins.dict. Make one: tables.Table.from_microdata(...) or tables.Table.from_cells(...). ...
    """
    table = given if isinstance(given, Table) else getattr(given, "table", None)
    if not isinstance(table, Table):
        raise Mistake(
            f"Not a table: {type(given).__module__}.{type(given).__qualname__}.",
            suggestions=[
                "Make one: tables.Table.from_microdata(...) or tables.Table.from_cells(...).",
                "What was published is judged with tables.read_pattern and tables.audit_pattern.",
            ],
        )
    return table
