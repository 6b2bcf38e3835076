"""Tables from microdata."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.data.frame import Frame
from confide.data.hierarchy import Hierarchy
from confide.errors import Mistake
from confide.tables.sensitivity import Contributions
from confide.tables.table.build import assemble, every_cell
from confide.tables.table.spanning import HierarchyLike, check_variables, hierarchy_of, places_of
from confide.tables.table.table import Status, Table
from confide.tables.table.tabulate import TableRecords, tabulate

__all__ = ["RecordLayout", "table_of_records"]


@dataclass(frozen=True)
class RecordLayout:
    """How a table is to be made of records."""

    by: Sequence[str]
    of: str | None = None
    weight: str | None = None
    holding: str | None = None
    hierarchies: Mapping[str, HierarchyLike] = field(default_factory=dict)
    top: int = 3
    empty: bool = True


def table_of_records(frame: Frame, layout: RecordLayout) -> Table:
    """The table with all its totals; `layout.empty` says whether the cells that nobody is in belong to it."""
    check_variables(layout.by, layout.hierarchies)
    if layout.top < 1:
        raise Mistake("Keep at least the largest contributor of each cell.", suggestions=["Give top of 1 or more."])
    hierarchies, places = zip(*(_spanning(frame, name, layout) for name in layout.by), strict=True)
    weight = frame.numbers(layout.weight) if layout.weight else None
    if weight is not None and (weight < 0).any():
        raise Mistake(f"Some weights in {layout.weight!r} are negative.", suggestions=["Weights are 0 or more."])
    holders = frame.coded(layout.holding) if layout.holding else None
    amount = frame.numbers(layout.of) if layout.of else np.ones(len(frame))
    records = TableRecords(np.column_stack(places), amount, weight, holders.places if holders else None)
    tabulated = tabulate(records, hierarchies, top=layout.top)
    cells = np.column_stack(np.unravel_index(tabulated.number, [len(hierarchy.codes) for hierarchy in hierarchies]))
    columns = {name: vars(tabulated)[name] for name in ("value", "units", "total", "top", "weights", "holders")}
    if layout.empty:
        cells = every_cell(hierarchies)
        columns = {
            name: _spread(column, tabulated.number, cells, name == "holders") for name, column in columns.items()
        }
    if weight is None:
        columns["weights"] = None
    value = columns.pop("value")
    return assemble(
        layout.by, hierarchies, cells, value,
        contributions=Contributions(**columns, names=tuple(holders.codes) if holders else None),
        status=np.where(columns["units"] == 0, Status.EMPTY, Status.SAFE).astype(np.int8),
        lower_bound=np.full(len(value), -np.inf if (amount < 0).any() else 0.0),
        measure=layout.of or "count",
    )  # fmt: skip


def _spanning(frame: Frame, name: str, layout: RecordLayout) -> tuple[Hierarchy, Ints]:
    column = frame.coded(name)
    hierarchy = hierarchy_of(name, layout.hierarchies.get(name), frame, column.codes)
    places = places_of(name, column.codes, hierarchy)
    inner = [code for code, place in zip(column.codes, places, strict=True) if not hierarchy.leaves[place]]
    if inner and inner[0] == hierarchy.codes[0]:
        raise Mistake(
            f"Some records have the code {inner[0]!r} of {name!r}, which is what its total is called.",
            suggestions=[f"Rename it, or the total: hierarchies={{{name!r}: Hierarchy.flat(codes, total='All')}}."],
        )
    if inner:
        raise Mistake(
            f"Some records have the code {inner[0][:60]!r} of {name!r}, which has parts.",
            suggestions=["Give every record a code without parts, if need be one for what is not known in detail."],
        )
    return hierarchy, places[column.places]


def _spread(column: NDArray[np.generic], numbers: Ints, cells: Ints, nobody: bool) -> NDArray[np.generic]:
    """The column among all cells: 0, or -1 for nobody, in those it does not speak of."""
    spread = np.full((len(cells), *column.shape[1:]), -1 if nobody else 0, dtype=column.dtype)
    spread[numbers] = column
    return spread
