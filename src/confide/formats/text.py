"""A release, of a table or of a model, as plain text, for terminals and logs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size

from confide.formats.about import adding, legend, model_legend, plain, shown, shown_value, subject
from confide.formats.layout import Cross, Heading, cross, places
from confide.model.model_release import Grid, ModelRelease, Value
from confide.model.release import Release

__all__ = ["write_model_text", "write_text"]

WIDEST = 40
"""Longer labels are cut in text; the other formats carry them whole."""
GAP = "  "


MOST_ROWS, FEW_ROWS = 500, 5
"""A grid of a model with more rows than the first number shows the second."""


def write_text(release: Release, *, width: int | None = None) -> str:
    """Give the cross table with its caption, legend and notes; the receipt comes last.

    With a width, columns that do not fit continue in further panels below.
    """
    table = cross(release)
    caption = [plain(release.title), plain(release.scope), table.measure]
    notes = [*map(plain, release.notes), adding(release)]
    return _page(
        release, caption, ["\n".join(lines) for lines in _panels(table, width)], [*_legend(legend(release)), *notes]
    )


def write_model_text(release: ModelRelease[Any], *, width: int | None = None) -> str:
    """Give the grids one under the other, with caption, legend and notes; the receipt comes last.

    With a width, columns that do not fit continue in further panels below.
    """
    caption = [plain(release.title), plain(release.scope), subject(release)]
    body = ["\n".join(lines) for grid in release.grids.values() for lines in _grid(grid, width)]
    return _page(release, caption, body, [*_legend(model_legend(release)), *map(plain, release.notes)])


def _page(release: Release | ModelRelease[Any], caption: list[str], body: list[str], notes: list[str]) -> str:
    facts = {"Source": release.source, "Policy": release.policy, "Receipt": release.receipt}
    notes = [*notes, *(f"{name}: {plain(fact)}" for name, fact in facts.items() if fact)]
    return "\n\n".join(["\n".join(filter(None, caption)), *body, "\n".join(filter(None, notes))]).strip("\n") + "\n"


def _legend(marks: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{mark} {meaning}" for mark, meaning in marks]


def _grid(grid: Grid, width: int | None) -> Iterator[list[str]]:
    """The panels of a grid under its title; the first column stands in each. Of the points of a plot a few suffice."""
    rows_shown = grid.rows if len(grid.rows) <= MOST_ROWS else grid.rows[:FEW_ROWS]
    values = list(zip(*rows_shown, strict=True)) or [()] * len(grid.columns)
    columns = [_grid_column(plain(name), column) for name, column in zip(grid.columns, values, strict=True)]
    first, *widths = (cell_len(column[0]) for column in columns)
    for start, stop in _fitting(widths, None if width is None else width - first - len(GAP)):
        rows = zip(columns[0], *columns[1 + start : 1 + stop], strict=True)
        more = (
            f"... {len(grid.rows):,} rows in all; CSV, JSON and XLSX have them" if rows_shown is not grid.rows else ""
        )
        title = [] if start else [plain(grid.title)]
        yield [*title, *(GAP.join(row).rstrip() for row in rows), *filter(None, [more])]


def _grid_column(name: str, values: Sequence[Value]) -> list[str]:
    """The lines of a column: texts stand to the left, numbers to the right."""
    texts = [name, *map(shown_value, values)]
    width = min(WIDEST, max(map(cell_len, texts)))
    texts.insert(1, "-" * width)
    side = _left if all(isinstance(value, str) for value in values) else _right
    return [side(text, width) for text in texts]


def _panels(table: Cross, width: int | None) -> Iterator[list[str]]:
    widest = WIDEST if width is None else min(WIDEST, max(8, width // (len(table.stubs) + 2)))
    cells = _cells(table)
    stubs = _stub_widths(table, widest)
    leaves = _leaf_widths(table, cells, widest)
    side = _side(table, stubs)
    for start, stop in _fitting(leaves, None if width is None else width - sum(w + len(GAP) for w in stubs)):
        yield _panel(table, cells, side, (stubs, leaves), (start, stop))


def _panel(
    table: Cross,
    cells: list[list[str]],
    side: list[list[str]],
    widths: tuple[list[int], list[int]],
    part: tuple[int, int],
) -> list[str]:
    (stubs, leaves), (start, stop) = widths, part
    blank, titles = [" " * w for w in stubs], [_left(t, w) for t, w in zip(table.stubs, stubs, strict=True)]
    lines = [[*blank, *_head_line(level, leaves, part)] for level in table.head[:-1]]
    lines.append([*titles, *_head_line(table.head[-1], leaves, part)])
    lines.append(["-" * w for w in [*stubs, *leaves[start:stop]]])
    for labels, row in zip(side, cells, strict=True):
        lines.append([*labels, *(text.rjust(w) for text, w in zip(row[start:stop], leaves[start:stop], strict=True))])
    return [GAP.join(line).rstrip() for line in lines]


def _cells(table: Cross) -> list[list[str]]:
    rows = zip(table.values.tolist(), table.marks.tolist(), strict=True)
    return [list(map(shown, values, marks, table.decimals)) for values, marks in rows]


def _side(table: Cross, widths: Sequence[int]) -> list[list[str]]:
    levels = [(places(level), width) for level, width in zip(table.side, widths, strict=True)]
    return [[_left(_label(level, row), width) for level, width in levels] for row in range(len(table.values))]


def _label(level: dict[int, Heading], row: int) -> str:
    return level[row].text if row in level else ""


def _stub_widths(table: Cross, widest: int) -> list[int]:
    levels = zip(table.stubs, table.side, strict=True)
    return [min(widest, max(map(cell_len, {title, *(h.text for h in level)}))) for title, level in levels]


def _leaf_widths(table: Cross, cells: list[list[str]], widest: int) -> list[int]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for level in reversed(table.head):
        for start, heading in places(level).items():
            span = widths[start : start + heading.span]
            short = min(widest, cell_len(heading.text)) - sum(span) - len(GAP) * (len(span) - 1)
            widths[start + heading.span - 1] += max(0, short)
    return widths


def _fitting(widths: Sequence[int], room: int | None) -> Iterator[tuple[int, int]]:
    """Cut the columns into runs that fit, at least one column each."""
    start = used = 0
    for place, width in enumerate(widths):
        if room is not None and place > start and used + width > room:
            yield start, place
            start, used = place, 0
        used += width + len(GAP)
    yield start, len(widths)


def _head_line(level: Sequence[Heading], widths: Sequence[int], part: tuple[int, int]) -> Iterator[str]:
    for place, heading in places(level).items():
        span = widths[max(place, part[0]) : min(place + heading.span, part[1])]
        if span:
            width = sum(span) + len(GAP) * (len(span) - 1)
            yield _left(heading.text, width) if heading.span > 1 else _right(heading.text, width)


def _right(text: str, width: int) -> str:
    cut = _cut(text, width)
    return " " * (width - cell_len(cut)) + cut


def _left(text: str, width: int) -> str:
    return set_cell_size(_cut(text, width), width)


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)) + "…"
