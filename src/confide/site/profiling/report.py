"""The profile of a data file as a custodian reads it: a summary in a few lines, and a page with every column. It has true values."""

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.data.report import ReportPage, shown
from confide.model.catalog.dataset import Role
from confide.site.profiling.column import MANY, ProfiledColumn
from confide.site.profiling.profile import Decision, Profile

__all__ = ["COMMONEST", "distribution", "lacking", "profile_page", "summary"]

NAMED = 6
"""At most so many columns are named in one line."""

COMMONEST = 12
"""So many codes of a column are shown, the commonest first."""

BARS = 10
"""Bins of a number's distribution."""

WIDTH = 20
"""The longest bar, in characters."""


def summary(found: Profile) -> list[str]:
    """What was decided of the columns, one line for each kind of decision, and what a custodian should look at."""
    kinds: dict[str, list[str]] = {}
    for decision in found.decisions.values():
        kinds.setdefault(_heading(decision), []).append(decision.column.name)
    alike: dict[str, list[str]] = {}
    for decision in found.decisions.values():
        for note in decision.notes:
            alike.setdefault(note, []).append(decision.column.name)
    notes = [f"  {note[0].upper()}{note[1:]}: {_named(names)}." for note, names in alike.items()]
    return [
        *(f"{heading}: {_named(names)}." for heading, names in kinds.items()),
        *notes[: 2 * NAMED],
        *([f"  and {len(notes) - 2 * NAMED} more remarks in the profile."] if len(notes) > 2 * NAMED else []),
        *_doubts(found),
        *_question(found),
    ]


def _doubts(found: Profile) -> Iterator[str]:
    """What may be wrong with the file as a whole."""
    first = [repr(c.name) for c in found.columns if c.size <= MANY and c.name in c.codes]
    if len(first) > 1:
        yield f"The first line looks like a record, not like names of columns: {_named(first)}. Put a line of names above it."
    unit = found.unit
    if unit is not None and (several := int((unit.counts > 1).sum())):
        each = f"{several:,} of {unit.size:,} units, by {unit.name!r}, have several records"
        yield f"{each}: jobs or visits of theirs, or the same record twice?"
    for column in found.columns:
        twice = int((column.counts > 1).sum())
        if column is not unit and column is not found.household and column.named_unit and 0 < twice < column.size / 10:
            yield f"{twice:,} of {column.size:,} values of {column.name!r} stand in several records: is a record there twice?"


def _heading(decision: Decision) -> str:
    if decision.role in (None, Role.IDENTIFIER):
        hidden = "" if decision.role is None else ", never shown"
        return f"{decision.kind[0].upper()}{decision.kind[1:]}{hidden}"
    return f"{'Codes' if decision.kind == 'categorical' else 'Numbers'}, {decision.role}"


def _question(found: Profile) -> Iterator[str]:
    proposed = found.named(Role.CONFIDENTIAL, "categorical")
    if proposed:
        yield f"Proposed as confidential: {_named(proposed)}. Make those 'key' that others may know of a person."
    keys = found.named(Role.KEY, "categorical")
    if keys and not proposed:
        yield "No codes are confidential, so none can be a model's response. Which should nobody learn of a person?"


def _named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def profile_page(found: Profile, *, name: str) -> str:
    """The page as HTML, for the custodian's eyes only: it has true counts."""
    rows = found.columns[0].rows
    page = ReportPage(
        title=f"Profile of {name}",
        sentences=(
            "What each column of the data looks like, what the draft made of it, and why. Mend dataset.toml where it is wrong.",
            *_question(found),
        ),
        grids=(("Columns", _overview(found)), *((d.column.name, distribution(d)) for d in _with_values(found))),
        facts={"Records": f"{rows:,}", "Columns": f"{len(found.columns):,}"},
    )
    return page.html()


def _with_values(found: Profile) -> list[Decision]:
    """The columns with a distribution to show; of what names records there is none."""
    return [
        d
        for d in found.decisions.values()
        if d.column.size and (d.role is not Role.IDENTIFIER or d.column.size <= COMMONEST)
    ]


def _overview(found: Profile) -> pa.Table:
    decisions = list(found.decisions.values())
    return pa.table(
        {
            "column": [d.column.name for d in decisions],
            "label": [d.column.label for d in decisions],
            "taken for": [d.kind for d in decisions],
            "role": ["" if d.role is None else str(d.role) for d in decisions],
            "because": ["; ".join([d.why, *d.notes]) for d in decisions],
            "different": [d.column.size for d in decisions],
            "missing": [lacking(d.column) for d in decisions],
        }
    )


def lacking(column: ProfiledColumn) -> int:
    """The records without a value, and those whose code means that."""
    marked = pc.is_in(column.values, pa.array(list(column.marks), pa.string())).to_numpy(zero_copy_only=False)
    return column.absent + int(column.counts[marked].sum())


def distribution(decision: Decision) -> pa.Table:
    """How the records are spread over the commonest values of a column, or over bins of a number: names, counts, shares, bars."""
    column = decision.column
    if column.categorical or column.numbers is None:
        return _codes(column)
    return _bins(column)


def _codes(column: ProfiledColumn) -> pa.Table:
    order = np.argsort(-column.counts, kind="stable")[:COMMONEST]
    counts = column.counts[order]
    names = [column.values[int(place)].as_py()[:80] for place in order]
    rest = int(column.counts.sum() - counts.sum())
    others = [(f"{column.size - COMMONEST:,} others", rest)] if column.size > COMMONEST else []
    pairs = [
        *zip(names, counts.tolist(), strict=True),
        *others,
        *([("no value", column.absent)] if column.absent else []),
    ]
    return _bars("value", pairs, column.rows)


def _bins(column: ProfiledColumn) -> pa.Table:
    """A number in bins of one width, the lowest and highest hundredth in bins of their own."""
    values = column.present
    low, high = np.quantile(values, [0.01, 0.99])
    edges = np.unique([values.min(), *np.linspace(low, high, BARS - 1), values.max()])
    counts = np.histogram(values, edges)[0] if len(edges) > 1 else np.array([len(values)])
    names = [f"{shown(float(a))} to {shown(float(b))}" for a, b in itertools.pairwise(edges)]
    pairs = [*zip(names or [shown(float(edges[0]))], counts.tolist(), strict=True)]
    absent = column.rows - len(values)
    return _bars("from, to", [*pairs, *([("no value", absent)] if absent else [])], column.rows)


def _bars(head: str, pairs: list[tuple[str, int]], rows: int) -> pa.Table:
    most = max(count for _, count in pairs)
    return pa.table(
        {
            head: [name for name, _ in pairs],
            "records": [count for _, count in pairs],
            "share": [f"{100 * count / rows:.1f} %" for _, count in pairs],
            "bar": ["█" * max(1 if count else 0, round(WIDTH * count / most)) for _, count in pairs],
        }
    )
