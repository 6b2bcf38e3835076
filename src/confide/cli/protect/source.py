"""Which table a command is to protect: microdata, cells, or files of the field."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from confide.cli.described import Encoding
from confide.cli.options import names, option
from confide.cli.protect.options import number, pair
from confide.data.frame import Frame
from confide.data.hierarchy import TOTAL
from confide.errors import Mistake, nearest
from confide.tables import Table
from confide.tables.files.asc import described, read_asc
from confide.tables.files.endings import WORKING, ending
from confide.tables.files.jj import read_jj
from confide.tables.files.rda import Rda, read_rda
from confide.tables.files.safe_table import read_safe_table
from confide.tables.files.tab import read_tab

__all__ = ["TableSource", "read_frame"]


@dataclass(frozen=True)
class TableSource:
    """Where a table comes from: microdata, cells, or files that say it all; several tables are linked."""

    files: Annotated[
        list[Path],
        typer.Argument(
            help="CSV, Parquet, Arrow, DuckDB, SPSS, Stata or SAS; .asc or .tab of τ-ARGUS; .jj. Several: linked tables.",
            metavar="FILE",
        ),
    ]
    by: Annotated[
        list[str] | None,
        option(
            "Variables that span the table, with commas; repeat for linked tables, with several files once for each."
        ),
    ] = None
    of: Annotated[str | None, option("Microdata: the column to total; without it records are counted.")] = None
    weight: Annotated[str | None, option("Microdata: the column of weights.")] = None
    holding: Annotated[str | None, option("Microdata: the column that says whose a record is.")] = None
    top: Annotated[str | None, option("Microdata: how many contributors to keep; cells: columns of the largest.")] = (
        None
    )
    empty: Annotated[
        bool, typer.Option("--empty/--no-empty", help="Microdata: whether cells that nobody is in belong to the table.")
    ] = True
    value: Annotated[str | None, option("Cells: the column of magnitudes.")] = None
    frequency: Annotated[str | None, option("Cells: the column of the numbers of contributors.")] = None
    column: Annotated[
        list[str] | None, option("Cells: another column, as in status=mark, cost=price, upper_protection=upl; repeat.")
    ] = None
    total: Annotated[list[str] | None, option("Cells: the code of totals, as in All, or region=All; repeat.")] = None
    hierarchy: Annotated[
        list[str] | None,
        option("A variable's levels: region=nuts.hrc, or columns, coarsest first: town=state,county; repeat."),
    ] = None
    rda: Annotated[
        Path | None, option("The description of FILE for τ-ARGUS; without it, the .rda of the same name.")
    ] = None
    tau_argus: Annotated[
        bool,
        typer.Option("--tau-argus", help="Cells as τ-ARGUS writes a protected table: codes of --by, value, status."),
    ] = False

    encoding: Encoding = None

    def table(self, *, additive: bool = True) -> Table:
        """The table that was asked for; linked tables as one."""
        self._check()
        frames: dict[Path, Frame] = {}
        tables = [self._table(file, names(by), frames, additive) for file, by in self._parts()]
        return tables[0] if len(tables) == 1 else Table.link(tables)

    def _check(self) -> None:
        """A `Mistake` where options do not go together: none is read and then forgotten."""
        given = [
            field.name for field in fields(self) if field.name != "files" and getattr(self, field.name) != field.default
        ]
        records = [name for name in given if name in ("of", "weight", "holding", "empty")]
        cells = [name for name in given if name in ("value", "frequency", "tau_argus")]
        if records and cells:
            raise Mistake(
                f"{_spelled(records[0])} is for microdata, {_spelled(cells[0])} for cells. Give one of them.",
                suggestions=["See --help for which options go together."],
            )
        for file in self.files:
            more = [name for name in given if name not in ("value", "rda")] if ending(file) == ".tab" else given
            if ending(file) in WORKING and more:
                raise Mistake(f"{file.name} says itself what it holds. Leave out {_spelled(more[0])}.")
            if ending(file) == ".jj" and len(self.files) > 1:
                raise Mistake(
                    f"{file.name} knows cells by number only, and cannot be linked.",
                    suggestions=["Link .tab or CSV files, which have codes."],
                )
        if any(ending(file) not in WORKING for file in self.files):
            if not self.by:
                raise Mistake("Say which variables span the table.", suggestions=["Add --by region,sex."])
            lonely = [name for name in given if name in ("column", "total") and not cells]
            if lonely:
                raise Mistake(
                    f"{_spelled(lonely[0])} is for cells. Say which column has their values.",
                    suggestions=["Add --value turnover, or --frequency n for counts."],
                )

    def _parts(self) -> list[tuple[Path, str]]:
        """The tables: every file with every list of variables, or each with its own."""
        by = self.by or [""]
        if len(self.files) == len(by):
            return list(zip(self.files, by, strict=True))
        if len(self.files) > 1 and len(by) > 1:
            raise Mistake(
                f"There are {len(self.files)} files and {len(by)} times --by.",
                suggestions=["Give --by once for each file, or once for all."],
            )
        return list(product(self.files, by))

    def _table(self, file: Path, by: list[str], frames: dict[Path, Frame], additive: bool) -> Table:
        if ending(file) == ".jj":
            return read_jj(file)
        if ending(file) == ".tab":
            return read_tab(file, rda=self._described, value=self.value)
        if self.tau_argus:
            return read_safe_table(file, by=by, hierarchies=self._hierarchies(file, None, by), totals=self._totals(by))
        frame = frames.setdefault(file, frames.get(file) or read_frame(file, self._described, encoding=self.encoding))
        hierarchies = self._hierarchies(file, frame, by)
        if self.value or self.frequency:
            return self._from_cells(frame, by, hierarchies, additive)
        top = 3 if self.top is None else int(number(self.top, "--top"))
        return Table.from_microdata(
            frame, by=by, of=self.of, weight=self.weight, holding=self.holding, hierarchies=hierarchies, top=top,
            empty=self.empty,
        )  # fmt: skip

    @property
    def _described(self) -> Rda | None:
        return read_rda(self.rda) if self.rda else None

    def _from_cells(self, frame: Frame, by: list[str], hierarchies: dict[str, Any], additive: bool) -> Table:
        return Table.from_cells(
            frame, by=by, value=self.value, frequency=self.frequency, top=names(self.top),
            hierarchies=hierarchies, totals=self._totals(by), additive=additive,
            **dict(pair(each, "--column") for each in self.column or ()),
        )  # fmt: skip

    def _totals(self, by: list[str]) -> str | dict[str, str]:
        given = self.total or [TOTAL]
        named = dict(pair(each, "--total") for each in given if "=" in each)
        self._check_variables(named, "--total")
        return {name: code for name, code in named.items() if name in by} if named else given[-1]

    def _hierarchies(self, file: Path, frame: Frame | None, by: list[str]) -> dict[str, Any]:
        given: dict[str, Any] = {}
        if frame is not None and (ending(file) == ".asc" or self.rda):
            rda = self._described or described(file)
            given = {name: rda.hierarchy(name, frame.coded(name).codes) for name in by}
        named = dict(pair(each, "--hierarchy") for each in self.hierarchy or ())
        self._check_variables(named, "--hierarchy")
        given |= {
            name: levels if ending(levels) in (".hrc", ".csv") else names(levels) for name, levels in named.items()
        }
        return {name: levels for name, levels in given.items() if name in by}

    def _check_variables(self, named: Iterable[str], option: str) -> None:
        known = [name for by in self.by or () for name in names(by)]
        for name in named:
            if name not in known:
                raise Mistake(f"{option} speaks of {name!r}, which spans no table.", suggestions=nearest(name, known))


def read_frame(file: Path, rda: Rda | None = None, *, encoding: str | None = None) -> Frame:
    """The records or cells in a file."""
    if ending(file) == ".asc" or rda:
        return Frame.of(read_asc(file, rda=rda))
    return Frame.read(file, encoding=encoding)


def _spelled(name: str) -> str:
    """A field as it is called on the command line."""
    return "--" + ("no-" if name == "empty" else "") + name.replace("_", "-")
