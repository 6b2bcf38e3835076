"""A table as Arrow, as a sentence and as HTML."""

import numpy as np
import pyarrow as pa

from confide.formats.about import plain
from confide.formats.html import TEMPLATES
from confide.tables.table.decimals import written
from confide.tables.table.statuses import STATUSES
from confide.tables.table.table import Status, Table

__all__ = ["published", "sentence", "to_arrow", "to_html"]

SHOWN = 60
"""How many cells a notebook shows."""


def to_arrow(table: Table) -> pa.Table:
    """Every column of the table; a bound that is not known is null.

    A column that has the name of a variable is called after the cell: cell_status.
    """
    cells = table.contributions
    tops = {f"top{rank + 1}": column for rank, column in enumerate(cells.top.T)}
    protection = ("lower_bound", "upper_bound", "lower_protection", "upper_protection", "sliding_protection", "cost")
    numbers = {name: getattr(table, name) for name in protection}
    return _framed(
        table,
        {
            "value": table.value,
            "units": pa.array(cells.units, mask=cells.units < 0),
            **tops,
            "status": pa.DictionaryArray.from_arrays(table.status, pa.array(STATUSES)),
            **{name: pa.array(column, mask=np.isinf(column)) for name, column in numbers.items()},
        },
    )


def published(table: Table) -> pa.Table:
    """Codes, values, marks; nothing lies under the null of a suppressed value, and no primary is told from a secondary."""
    hidden = table.suppressed
    value = pa.array(written(np.where(hidden, 0.0, table.value)), mask=hidden)
    whole = table.is_count and bool((table.value == np.rint(table.value)).all())
    marks = pa.array(np.where(hidden, "c", "").tolist())
    return _framed(table, {"value": value.cast(pa.int64()) if whole else value, "mark": marks})


def _framed(table: Table, columns: dict[str, pa.Array]) -> pa.Table:
    taken = table.variables
    return pa.table({**_codes(table), **{f"cell_{n}" if n in taken else n: column for n, column in columns.items()}})


def _codes(table: Table) -> dict[str, pa.Array]:
    return {
        name: pa.DictionaryArray.from_arrays(places.astype(np.int32), pa.array(hierarchy.codes, pa.string()))
        for name, hierarchy, places in zip(table.variables, table.hierarchies, table.places.T, strict=True)
    }


def sentence(table: Table) -> str:
    """What the table is of and how many cells need what."""
    counts = np.bincount(table.status, minlength=len(Status))
    relations = table.relations.matrix.shape[0]
    parts = [_many(len(table), "cell"), _many(relations, "relation")]
    parts += [f"{counts[status]} {STATUSES[status]}" for status in (Status.PRIMARY, Status.SECONDARY) if counts[status]]
    return f"Table of {table.measure} by {' x '.join(table.variables)}: {', '.join(parts)}"


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def to_html(table: Table) -> str:
    """The first cells as an HTML element; suppressed values show as their mark."""
    some = published(table).slice(0, SHOWN)
    codes = [[plain(code) for code in column.to_pylist()] for column in some.columns[: len(table.variables)]]
    rows = [
        [*((code, "") for code in cell), ("[c]", "number mark") if value is None else (f"{value:,.15g}", "number")]
        for *cell, value in zip(*codes, some.column(len(codes)).to_pylist(), strict=True)
    ]
    head = [*((plain(name), "") for name in table.variables), (plain(table.measure), "number")]
    more = f"The first {SHOWN} of {len(table):,} cells." if len(table) > SHOWN else ""
    return TEMPLATES.get_template("model.html").render(
        title=sentence(table),
        scope="",
        subject="",
        grids=[{"title": "", "head": head, "rows": rows}],
        legend=[("[c]", "confidential")] if table.suppressed.any() else [],
        notes=[more],
        facts={},
    )
