"""Tables from cells that were made elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.frame import Frame
from confide.data.hierarchy import TOTAL, Hierarchy
from confide.errors import Mistake, nearest
from confide.tables.sensitivity import Contributions
from confide.tables.table.build import assemble, cell_numbers
from confide.tables.table.spanning import HierarchyLike, check_variables, hierarchy_of, places_of
from confide.tables.table.statuses import read_status
from confide.tables.table.table import Status, Table

__all__ = ["CellLayout", "table_of_cells"]


SUMS = ("value", "units", "absolute")
"""What of a total is the sum of its parts."""

NUMBERS = ("lower_bound", "upper_bound", "lower_protection", "upper_protection", "sliding_protection", "cost")
COLUMNS = ("status", "absolute", *NUMBERS)
"""What a frame of cells may say beside values and contributors."""

NOTHING = {"lower_bound": -np.inf, "upper_bound": np.inf}
"""What a missing number means, where it may be missing: nothing is known."""


@dataclass(frozen=True)
class CellLayout:
    """What the columns of a frame of cells are."""

    by: Sequence[str]
    value: str | None = None
    frequency: str | None = None
    top: Sequence[str] = ()
    hierarchies: Mapping[str, HierarchyLike] = field(default_factory=dict)
    totals: str | Mapping[str, str] = TOTAL
    additive: bool = True
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells: the places of their codes, their columns by name (NaN where nothing is said), their largest contributions."""

    places: Ints
    columns: dict[str, Floats]
    top: Floats

    def and_more(self, other: "_Cells") -> "_Cells":
        columns = {name: np.concatenate([mine, other.columns[name]]) for name, mine in self.columns.items()}
        return _Cells(np.concatenate([self.places, other.places]), columns, np.concatenate([self.top, other.top]))


def table_of_cells(frame: Frame, layout: CellLayout) -> Table:
    """The table; totals that are not in the frame are computed."""
    check_variables(layout.by, layout.hierarchies)
    _check_columns(layout)
    hierarchies, places = map(list, zip(*(_spanning(frame, name, layout) for name in layout.by), strict=True))
    top = np.column_stack([frame.numbers(name) for name in layout.top] or [np.zeros((len(frame), 0))])
    cells = _Cells(np.column_stack(places), _columns(frame, layout), np.abs(top))
    _check_once(layout.by, hierarchies, cells.places)
    for variable, hierarchy in enumerate(hierarchies):
        if (cells.places[:, variable] == 0).any():
            hierarchies[variable], cells = _present(cells, hierarchy, variable)
        else:
            cells = _with_totals(cells, hierarchies, variable)
    return _table(layout, hierarchies, cells)


def _check_columns(layout: CellLayout) -> None:
    if layout.value is None and layout.frequency is None:
        raise Mistake(
            "Say which column has the values of the cells.", suggestions=["value='turnover'", "frequency='n'"]
        )
    for name in layout.columns:
        if name not in COLUMNS:
            hint = nearest(name, COLUMNS) or [f"It may say {', '.join(COLUMNS)}."]
            raise Mistake(f"A frame of cells does not say {name!r}.", suggestions=hint)
    if not isinstance(layout.totals, str):
        for name in layout.totals:
            if name not in layout.by:
                raise Mistake(f"There is a total for {name!r}, which does not span the table.")


def _spanning(frame: Frame, name: str, layout: CellLayout) -> tuple[Hierarchy, Ints]:
    column = frame.coded(name)
    total = layout.totals if isinstance(layout.totals, str) else layout.totals.get(name, TOTAL)
    hierarchy = hierarchy_of(name, layout.hierarchies.get(name), frame, column.codes, total=total)
    return hierarchy, places_of(name, column.codes, hierarchy)[column.places]


def _columns(frame: Frame, layout: CellLayout) -> dict[str, Floats]:
    """The columns that the frame has, as numbers."""
    named = {"value": layout.value or layout.frequency, "units": layout.frequency, **layout.columns}
    if layout.value == "count" and layout.frequency is None:
        named["units"] = "count"
    status = named.pop("status", None)
    if status and np.isnan(frame.numbers(str(named["value"]), nothing=np.nan)).any():
        raise Mistake(
            f"Some cells have no value in {named['value']!r}; suppressed cells need their true values too.",
            suggestions=[
                "If it is what was published, audit the truth, and give this file as pattern='published.csv'."
            ],
        )
    columns = {name: frame.numbers(column, nothing=NOTHING.get(name)) for name, column in named.items() if column}
    if "units" in columns and not _counts(columns["units"]):
        raise Mistake(f"Column {named['units']!r} does not count contributors.", suggestions=["Give whole numbers."])
    if status:
        words = frame.coded(status, nothing="safe")
        columns["status"] = np.array([read_status(word) for word in words.codes], dtype=np.float64)[words.places]
    return columns


def _counts(numbers: Floats) -> bool:
    return bool(((numbers >= 0) & (numbers == np.rint(numbers))).all())


def _check_once(variables: Sequence[str], hierarchies: Sequence[Hierarchy], places: Ints) -> None:
    numbers, first, times = np.unique(cell_numbers(hierarchies, places), return_index=True, return_counts=True)
    if len(numbers) < len(places):
        cell = places[first[times.argmax()]]
        codes = [hierarchy.codes[place] for hierarchy, place in zip(hierarchies, cell, strict=True)]
        shown = ", ".join(f"{name}={code}" for name, code in zip(variables, codes, strict=True))
        raise Mistake(
            f"The cell {shown} stands twice.", suggestions=["Keep one row a cell, or name all variables in 'by'."]
        )


def _present(cells: _Cells, hierarchy: Hierarchy, variable: int) -> tuple[Hierarchy, _Cells]:
    """The hierarchy of the codes that have cells, and the cells with their places in it."""
    kept = hierarchy.only(hierarchy.codes[place] for place in np.unique(cells.places[:, variable]))
    place = np.array([kept.places.get(code, -1) for code in hierarchy.codes])
    places = cells.places.copy()
    places[:, variable] = place[cells.places[:, variable]]
    return kept, replace(cells, places=places)


def _with_totals(cells: _Cells, hierarchies: Sequence[Hierarchy], variable: int) -> _Cells:
    """The cells and those totals of one variable that they do not have, deepest first."""
    hierarchy = hierarchies[variable]
    parents = np.array(hierarchy.parents)
    absent = np.ones(len(parents) + 1, dtype=bool)
    absent[cells.places[:, variable]] = False
    for depth in range(int(hierarchy.depths.max()), 0, -1):
        at = cells.places[:, variable]
        parts = np.flatnonzero((hierarchy.depths[at] == depth) & absent[parents[at]])
        if len(parts):
            cells = cells.and_more(_totals(cells, parts, hierarchies, variable))
    return cells


def _totals(cells: _Cells, parts: Ints, hierarchies: Sequence[Hierarchy], variable: int) -> _Cells:
    """The totals one level above these parts."""
    places = cells.places[parts]
    places[:, variable] = np.array(hierarchies[variable].parents)[places[:, variable]]
    _, first, group = np.unique(cell_numbers(hierarchies, places), return_index=True, return_inverse=True)
    columns = {
        name: np.bincount(group, column[parts]).astype(np.float64) if name in SUMS else np.full(len(first), np.nan)
        for name, column in cells.columns.items()
    }
    return _Cells(places[first], columns, _largest(cells.top[parts], group, len(first)))


def _largest(top: Floats, group: Ints, groups: int) -> Floats:
    """The largest of the contributions to each group."""
    most = top.shape[1]
    values, at = top.ravel(), np.repeat(group, most)
    order = np.lexsort((-values, at))
    rank = np.arange(len(order)) - np.searchsorted(at[order], at[order])
    largest = np.zeros((groups, most))
    kept = rank < most
    largest[at[order][kept], rank[kept]] = values[order][kept]
    return largest


def _table(layout: CellLayout, hierarchies: Sequence[Hierarchy], cells: _Cells) -> Table:
    columns = dict(cells.columns)
    value = columns.pop("value")
    units = columns.pop("units", np.full(len(value), -1.0)).astype(np.int64)
    total = columns.pop("absolute", np.where(value < 0, np.nan, value))
    status = columns.pop("status", np.full(len(value), np.nan))
    said = np.where(np.isnan(status), Status.SAFE, status).astype(np.int8)
    return assemble(
        layout.by, hierarchies, cells.places, value,
        contributions=Contributions(units, total, -np.sort(-cells.top, axis=1)),
        status=np.where((units == 0) & (value == 0) & (said == Status.SAFE), Status.EMPTY, said).astype(np.int8),
        measure=layout.value or "count",
        additive=layout.additive,
        **columns,
    )  # fmt: skip
