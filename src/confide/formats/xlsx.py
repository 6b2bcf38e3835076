"""A release as an Excel workbook: a sheet for each measure, or for each grid of a model, and one that says what it is."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from typing import Any

import xlsxwriter
from rich.cells import cell_len
from xlsxwriter.format import Format
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from confide.errors import Mistake
from confide.formats.about import adding, legend, model_legend, plain, shown, shown_value, subject, titles
from confide.formats.layout import Cross, cross, places, size
from confide.model.model_release import Grid, ModelRelease
from confide.model.release import Release

__all__ = ["write_model_xlsx", "write_xlsx"]

ROWS, COLUMNS, CHARACTERS = 1_048_576, 16_384, 16_383
"""What a sheet and a cell hold; Excel counts 32,767 half-characters."""

TOP = 3
"""Lines for title, scope and measure above each table."""

ABOUT = "About"


def write_xlsx(release: Release) -> bytes:
    """Give the workbook; the same release gives the same bytes.

    Promise: no text is a formula or a link; a withheld number shows as its mark.
    """
    rows, columns = size(release)
    across = len(release.dimensions) - len(release.request.rows)
    _fits(rows + TOP + across + 1, columns + len(release.request.rows))
    target = BytesIO()
    with _book(target, release.title) as book:
        labels = dict(zip(release.columns, titles(release.columns.values()), strict=True))
        for name, sheet in _sheet_names(labels):
            _Sheet(book, sheet).table(release, name)
        totals, marks = ("Totals", adding(release)), legend(release)
        _Sheet(book, ABOUT).about([*_head(release), totals, *_foot(release), *marks])
    return target.getvalue()


def write_model_xlsx(release: ModelRelease[Any]) -> bytes:
    """Give the workbook of a model; the same release gives the same bytes.

    Promise: no text is a formula or a link; a number that does not apply shows as [z].
    """
    for grid in release.grids.values():
        _fits(len(grid.rows) + TOP + 1, len(grid.columns))
    target = BytesIO()
    with _book(target, release.title) as book:
        for name, sheet in _sheet_names({name: name.capitalize() for name in release.grids}):
            _Sheet(book, sheet).grid(release, release.grids[name])
        asked, marks = ("Asked", subject(release)), model_legend(release)
        _Sheet(book, ABOUT).about([*_head(release), asked, *_foot(release), *marks])
    return target.getvalue()


@contextmanager
def _book(target: BytesIO, title: str) -> Iterator[Workbook]:
    with xlsxwriter.Workbook(target, {"in_memory": True}) as book:
        book.set_properties({"title": plain(title)[:255], "created": datetime(2000, 1, 1)})
        yield book


def _head(release: Release | ModelRelease[Any]) -> list[tuple[str, str]]:
    protected = [("How protected", note) for note in release.notes]
    return [("Title", release.title), ("Scope", release.scope), ("Source", release.source), *protected]


def _foot(release: Release | ModelRelease[Any]) -> list[tuple[str, str]]:
    return [("Policy", release.policy), ("Receipt", release.receipt)]


def _fits(rows: int, columns: int) -> None:
    if rows > ROWS or columns > COLUMNS:
        raise Mistake(
            "This table is larger than an Excel sheet, which holds 1,048,576 rows and 16,384 columns.",
            suggestions=["Ask for CSV instead, or for fewer variables."],
        )


def _sheet_names(labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Excel wants names of at most 31 characters, without some signs, different from each other in lower case."""
    used = {ABOUT.casefold(), "history"}
    for name, label in labels.items():
        clean = re.sub(r"[\[\]:*?/\\']", " ", plain(label)).strip()[:26].strip() or "Table"
        sheet, number = clean, 1
        while sheet.casefold() in used:
            number += 1
            sheet = f"{clean} {number}"
        used.add(sheet.casefold())
        yield name, sheet


class _Sheet:
    """One sheet under construction."""

    def __init__(self, book: Workbook, name: str) -> None:
        self.book = book
        self.sheet: Worksheet = book.add_worksheet(name)
        self.formats: dict[tuple[str, bool, str], Format] = {}

    def table(self, release: Release, name: str) -> None:
        table = cross(release, [name])
        measure = plain(release.columns[name].label or name)
        for row, line in enumerate((plain(release.title), plain(release.scope), measure)):
            self.text(row, 0, line, bold=row == 0)
        self.head(table)
        self.body(table)
        self.sheet.freeze_panes(TOP + len(table.head), len(table.stubs))

    def head(self, table: Cross) -> None:
        last = TOP + len(table.head) - 1
        for column, title in enumerate(table.stubs):
            self.text(last, column, title, bold=True)
            widest = max(cell_len(text) for text in {title, *(h.text for h in table.side[column])})
            self.sheet.set_column(column, column, min(40, max(10, widest + 2)))
        for row, level in enumerate(table.head, TOP):
            for place, heading in places(level).items():
                column = place + len(table.stubs)
                if heading.span > 1:
                    self.sheet.merge_range(row, column, row, column + heading.span - 1, "", self.style("center", True))
                self.text(row, column, heading.text, bold=True, align="center" if heading.span > 1 else "right")

    def body(self, table: Cross) -> None:
        first, levels = TOP + len(table.head), [places(level) for level in table.side]
        for row, (values, marks) in enumerate(zip(table.values.tolist(), table.marks.tolist(), strict=True)):
            for column, level in enumerate(levels):
                if row in level:
                    self.text(first + row, column, level[row].text, bold=level[row].total)
            for column, (value, mark) in enumerate(zip(values, marks, strict=True)):
                place, bold = (first + row, len(levels) + column), bool(table.totals[row, column])
                if mark:
                    self.text(*place, shown(value, mark, 0), bold=bold, align="right")
                else:
                    self.sheet.write_number(*place, value, self.style("right", bold, _pattern(table.decimals[column])))

    def grid(self, release: ModelRelease[Any], grid: Grid) -> None:
        for row, line in enumerate((plain(release.title), plain(release.scope), plain(grid.title))):
            self.text(row, 0, line, bold=row == 0)
        for column, name in enumerate(grid.columns):
            texts = [plain(name), *(shown_value(row[column]) for row in grid.rows)]
            self.text(TOP, column, texts[0], bold=True)
            self.sheet.set_column(column, column, min(40, max(10, max(map(cell_len, texts)) + 2)))
        for row, values in enumerate(grid.rows, TOP + 1):
            for column, value in enumerate(values):
                if value is None or isinstance(value, str):
                    self.text(row, column, shown_value(value), align="right" if value is None else "left")
                else:
                    self.sheet.write_number(row, column, value, self.style("right", False, "General"))
        self.sheet.freeze_panes(TOP + 1, 1)

    def about(self, lines: Iterable[tuple[str, str]]) -> None:
        for row, (name, fact) in enumerate(lines):
            self.text(row, 0, name, bold=True)
            self.text(row, 1, plain(fact))
        self.sheet.set_column(0, 0, 16)
        self.sheet.set_column(1, 1, 80)

    def text(self, row: int, column: int, text: str, *, bold: bool = False, align: str = "left") -> None:
        cut = text if len(text) <= CHARACTERS else text[: CHARACTERS - 1] + "…"
        self.sheet.write_string(row, column, cut, self.style(align, bold))

    def style(self, align: str, bold: bool, pattern: str = "") -> Format:
        """Texts carry Excel's quote prefix, so that editing one does not turn it into a formula."""
        key = (align, bold, pattern)
        if key not in self.formats:
            kind = {"num_format": pattern} if pattern else {"quote_prefix": True}
            self.formats[key] = self.book.add_format({"align": align, "bold": bold, **kind})
        return self.formats[key]


def _pattern(decimals: int) -> str:
    return "#,##0" + ("." + "0" * decimals if decimals else "")
