"""Tables to be published: cells with their values, contributors, relations, and the protection they need."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints
from confide.data.hierarchy import TOTAL, Hierarchy
from confide.errors import Mistake, nearest
from confide.tables.sensitivity import Contributions, SensitivityRule
from confide.tables.table.relations import Relations

if TYPE_CHECKING:
    from confide.tables.table.spanning import HierarchyLike

__all__ = ["Status", "Table"]

Marks = NDArray[np.int8]


LONG = 60
"""Of a code so many characters are shown in words."""


class Status(IntEnum):
    """What is to happen to a cell: `PUBLISHED` must be shown, `EMPTY` has nobody in it and is shown as 0."""

    SAFE = 0
    PRIMARY = 1
    SECONDARY = 2
    PUBLISHED = 3
    EMPTY = 4


@dataclass(frozen=True, eq=False)
class Table:
    """Cells spanned by variables, and the linear relations among them. A column has one entry a cell.

    `places[c, v]` is the place of the code of cell c in `hierarchies[v].codes`; at place 0 is the total. The interval
    in which an outsider can know a suppressed cell to lie must reach `lower_protection` (LPL) below and `upper_protection`
    (UPL) above its value and be `sliding_protection` wide; beforehand they know it to lie within the bounds.

    >>> from confide import tables
    >>> t = tables.Table.from_microdata({"sex": ["f", "m", "m"]}, by=["sex"]).flag(tables.Threshold(2))
    >>> t
    Table of count by sex: 3 cells, 1 relation, 1 primary
    """

    variables: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    places: Ints
    value: Floats
    contributions: Contributions
    relations: Relations
    status: Marks
    lower_bound: Floats
    upper_bound: Floats
    lower_protection: Floats
    upper_protection: Floats
    sliding_protection: Floats
    cost: Floats
    measure: str = "count"

    @classmethod
    def from_microdata(
        cls,
        frame: Any,
        *,
        by: Sequence[str],
        of: str | None = None,
        weight: str | None = None,
        holding: str | None = None,
        hierarchies: "Mapping[str, HierarchyLike] | None" = None,
        top: int = 3,
        empty: bool = True,
        encoding: str | None = None,
    ) -> "Table":
        """The table of a frame or data file: how many records, or the total `of` a column, in each cell and every total.

        A hierarchy is a `.hrc` or CSV file, a `Hierarchy`, a mapping from codes to the codes they are parts of, or a list
        of columns with coarser codes. `holding` says whose a record is; without it every record is a contributor. The
        `top` largest contributors of each cell are kept. `empty=False` leaves out cells that nobody is in. `encoding` says
        how the letters of a CSV file are written, if not as UTF-8.

        Promise: a contributor counts once in each cell, with the sum of their records, which may be negative.
        """
        from confide.data.frame import Frame
        from confide.tables.table.from_microdata import RecordLayout, table_of_records

        layout = RecordLayout(by, of, weight, holding, hierarchies or {}, top, empty)
        return table_of_records(Frame.read(frame, encoding=encoding), layout)

    @classmethod
    def from_cells(
        cls,
        frame: Any,
        *,
        by: Sequence[str],
        value: str | None = None,
        frequency: str | None = None,
        top: Sequence[str] = (),
        hierarchies: "Mapping[str, HierarchyLike] | None" = None,
        totals: str | Mapping[str, str] = TOTAL,
        additive: bool = True,
        encoding: str | None = None,
        **columns: str,
    ) -> "Table":
        """The table in a frame or file of cells, made elsewhere: one row a cell, with the totals in it or without them.

        `value` is the column of magnitudes, `frequency` that of the numbers of contributors; with only one of them the
        table is of counts or of unknown contributors. `top` names columns of the largest contributions, `totals` the code
        of the total, for all variables or for each, `encoding` how the letters of a CSV file are written; other columns of a
        `Table` are named as they are called here: status="mark", cost="price".

        Promise: if a total is in the frame it is the sum of its parts, but for noisy tables, which need not be
        `additive`; otherwise it is computed.
        """
        from confide.data.frame import Frame
        from confide.tables.table.from_cells import CellLayout, table_of_cells

        layout = CellLayout(by, value, frequency, top, hierarchies or {}, totals, additive, columns)
        return table_of_cells(Frame.read(frame, encoding=encoding), layout)

    @classmethod
    def link(cls, tables: Iterable["Table"]) -> "Table":
        """Several tables of one measure as one: cells that mean the same are the same cell, protected once and for all.

        Variables go by their names and codes by theirs; a table not spanned by a variable has its total.
        """
        from confide.tables.table.linked import linked

        return linked(list(tables))

    def __len__(self) -> int:
        return len(self.value)

    @property
    def is_count(self) -> bool:
        """Whether the values are numbers of records or contributors."""
        return self.measure == "count"

    @property
    def units(self) -> Ints:
        """The number of contributors of each cell; -1 where it is not known."""
        return self.contributions.units

    @property
    def primary(self) -> Bools:
        """The cells that rules or people marked."""
        return np.asarray(self.status == Status.PRIMARY)

    @property
    def suppressed(self) -> Bools:
        """The cells that are not shown: primary and secondary."""
        return np.isin(self.status, (Status.PRIMARY, Status.SECONDARY))

    def name(self, cell: int) -> str:
        """A cell in words, by its codes; long codes are cut short."""
        codes = (
            hierarchy.codes[place][:LONG] for hierarchy, place in zip(self.hierarchies, self.places[cell], strict=True)
        )
        return ", ".join(f"{variable}={code}" for variable, code in zip(self.variables, codes, strict=True))

    def codes(self, variable: str) -> list[str]:
        """The code of every cell in one variable."""
        at = self._variable(variable)
        codes = self.hierarchies[at].codes
        return [codes[place] for place in self.places[:, at].tolist()]

    def find(self, **codes: str) -> Ints:
        """The cells with these codes; variables that are not named may have any.

        >>> Table.from_microdata({"sex": ["f", "m", "m"]}, by=["sex"]).find(sex="m").tolist()
        [2]
        """
        there = np.ones(len(self), dtype=bool)
        for variable, code in codes.items():
            at = self._variable(variable)
            there &= self.places[:, at] == self.hierarchies[at].place(code, variable=variable)
        return np.flatnonzero(there)

    def _variable(self, name: str) -> int:
        if name not in self.variables:
            raise Mistake(f"The table has no variable {name!r}.", suggestions=nearest(name, self.variables))
        return self.variables.index(name)

    def flag(self, *rules: SensitivityRule, weights: str = "secret", protection: str = "both") -> "Table":
        """Mark the cells that any of the rules marks as primary, with the protection they need.

        `weights` says what the rules make of sampling weights: "secret" sets the contributions themselves against the
        weighted total, "repeated" takes a record for as many contributors as its weight says. `protection` says where
        the interval of a marked cell must reach: "both" ways, "upper" for above only, "sliding" for that far in all.

        Promise: cells that are to be published stay so; a cell marked twice gets the wider protection.
        """
        from confide.tables.primary import flagged

        return flagged(self, rules, weights=weights, protection=protection)

    def waive(self, *holders: str | int) -> "Table":
        """The table when these contributors agreed to be shown: rules applied from now on protect the others only.

        They go by their holding, or by the number of their record, from 0, if the table has no holdings.
        """
        from confide.tables.primary import waived

        return waived(self, holders)

    def mark(self, cells: Ints, status: Status | str, *, range: float = 10.0) -> "Table":
        """Say what is to happen to some cells; a primary cell may then be known to within `range` percent of its value.

        >>> t = Table.from_microdata({"sex": ["f", "m", "m"]}, by=["sex"])
        >>> t.mark(t.find(sex="f"), "primary", range=50).upper_protection.tolist()
        [0.0, 0.5, 0.0]
        """
        from confide.tables.primary import marked

        return marked(self, cells, status, range=range)

    def costs(self, kind: str) -> Floats:
        """What suppressing each cell costs: its "value", the "count" of its contributors, 1 for all "cells", or the "given" cost.

        Promise: more than 0.
        """
        kinds = {
            "value": np.abs(self.value),
            "count": self.units * 1.0,
            "cells": np.ones(len(self)),
            "given": self.cost,
        }
        if kind not in kinds:
            raise Mistake(
                f"There is no cost {kind!r}.", suggestions=nearest(kind, kinds) or [f"Choose from {', '.join(kinds)}."]
            )
        if kind == "count" and (self.units < 0).any():
            raise Mistake("The table does not say how many contributors its cells have.")
        cost = kinds[kind]
        return np.where(cost > 0, cost, np.min(cost, initial=1.0, where=cost > 0))

    def check(self) -> None:
        """A `Mistake` that names, by its codes, the first relation that does not hold."""
        scale = np.maximum(1.0, np.asarray(abs(self.relations.matrix) @ np.abs(self.value)))
        failing = np.flatnonzero(np.abs(self.relations.residuals(self.value)) > 1e-6 * scale)
        if not len(failing):
            return
        row = self.relations.matrix[[int(failing[0])]]
        total, parts = (row.indices[row.data * sign > 0] for sign in (-1, 1))
        shown = "; ".join(self.name(cell) for cell in parts[:3]) + ("; ..." if len(parts) > 3 else "")
        suggestions = ["Correct the cells, or leave totals out and let them be computed."]
        if not self.is_count and self.relations.rounded(self.value):
            suggestions = [
                "The differences are as small as rounding makes them. Leave the totals out and let them be computed, give "
                "values with more decimals, or take the nearest table that adds up: "
                "tables.adjust(tables.Table.from_cells(..., additive=False)).table."
            ]
        raise Mistake(
            f"The table does not add up: {' + '.join(map(self.name, total)) or '0'} is not the sum of its "
            f"{len(parts)} parts ({shown}). {len(failing)} of {self.relations.matrix.shape[0]} relations fail.",
            suggestions=suggestions,
        )

    def to_arrow(self) -> pa.Table:
        """All that is known of every cell, for the custodian: true values too. `published` gives what others may see."""
        from confide.tables.table.show import to_arrow

        return to_arrow(self)

    def published(self) -> pa.Table:
        """What others may see: codes, values and status; the value of a suppressed cell is null."""
        from confide.tables.table.show import published

        return published(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        from confide.tables.table.show import sentence

        return sentence(self)

    def _repr_html_(self) -> str:
        from confide.tables.table.show import to_html

        return to_html(self)
