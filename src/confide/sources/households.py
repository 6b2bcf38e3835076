"""A file of people and one of the households that they live in, as one file of people; or jobs and visits with their people."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.errors import Mistake
from confide.sources.columns import each_text
from confide.sources.source import Source

__all__ = ["find_key", "join_households", "names_people"]


@dataclass(frozen=True)
class _Words:
    """What records and those above them are called."""

    records: str
    above: str
    one: str
    theirs: str


_HOMES = _Words("people", "households", "household", "who lives in them")
_PEOPLE = _Words("records", "people", "person", "their records")
_PERSON = re.compile(
    r"(?!.*(house|hh))(.*[_. ])?(person|pers|pid|individual|patient|employee|worker|respondent|client|customer|user|rb030)",
    re.IGNORECASE,
)


def names_people(column: str) -> bool:
    """Whether a column by its name names people, whose jobs or visits the records may be.

    >>> names_people("patient_id"), names_people("visit_id"), names_people("respondent_household")
    (True, False, False)
    """
    return bool(_PERSON.match(column))


def join_households(people: Source, households: Source, *, key: str, named: str) -> Source:
    """The people, each with the columns of their household: `key` names it in the file of people, `named` in that of households.

    Where `key` names people, records are jobs or visits, each to have the columns of its person.

    Promise: everybody's household is there once, and somebody lives in each; anything else is a Mistake. People without jobs or
    visits are left out, and a note says how many.
    """
    words, notes = _PEOPLE if names_people(key) else _HOMES, [*people.notes, *households.notes]
    theirs, own = _keys(people, key, words.records, words), _keys(households, named, words.above, words)
    twice = len(own) - len(pc.unique(own))
    if twice:
        raise Mistake(
            f"{named!r} names {twice} {words.above} of their file more than once.",
            suggestions=[f"Keep one record of each {words.one}."],
        )
    places = pc.index_in(theirs, value_set=own)
    if places.null_count:
        raise Mistake(
            f"The {words.one} of {places.null_count} {words.records} is not in the file of {words.above}, by {key!r} and {named!r}.",
            suggestions=[f"Add these {words.above}, or leave out {words.theirs}."],
        )
    empty = len(own) - len(pc.unique(places))
    if empty and words is _HOMES:
        raise Mistake(
            f"Nobody lives in {empty} households of their file, by {key!r} and {named!r}.",
            suggestions=["Add their people, or leave these households out."],
        )
    notes += [f"{empty:,} people of their file have no record, by {named!r}, and are left out."] if empty else []
    more = [name for name in households.table.column_names if name != named]
    _check_apart(people, more, words)
    table = people.table
    for name in more:
        table = table.append_column(name, households.table[name].take(places))
    return replace(
        people,
        table=table,
        labels={**households.labels, **people.labels},
        value_labels={**households.value_labels, **people.value_labels},
        missing={**households.missing, **people.missing},
        universes={**households.universes, **people.universes},
        notes=notes,
    )


def _keys(source: Source, name: str, whose: str, words: _Words) -> pa.Array:
    if name not in source.table.column_names:
        raise Mistake(f"The file of {whose} has no column {name!r}, which names {words.above}.")
    keys = each_text(name, source.table[name])
    if keys.null_count:
        raise Mistake(
            f"{name!r} is missing in {keys.null_count} records of the file of {whose}. Each needs a {words.one}."
        )
    return keys


def _check_apart(people: Source, more: list[str], words: _Words) -> None:
    both = [name for name in more if name in people.table.column_names]
    if both:
        raise Mistake(
            f"Column {both[0]!r} is in the file of {words.records} and in that of {words.above}.",
            suggestions=[
                f"Rename it in one of them, or leave it out of the file of {words.records} if it says the same."
            ],
        )


def find_key(people: Source, households: Source) -> tuple[str, str]:
    """The columns that name households in either file: of the same name, and different in each record of households; or, where
    none is, with the same values; or the only one of the same name, so that households that stand twice are told as such."""
    unique = [name for name in households.table.column_names if _unique(households, name)]
    both = [name for name in households.table.column_names if name in people.table.column_names]
    pairs = [(name, name) for name in unique if name in both] or [
        (name, own) for own in unique for name in people.table.column_names if _alike(people, name, households, own)
    ]
    if not pairs and len(both) == 1:
        pairs = [(both[0], both[0])]
    if len(pairs) != 1:
        what = " or ".join(dict.fromkeys(name for name, _ in pairs))
        raise Mistake(
            "Which column names the households cannot be told: "
            + (f"it may be {what}." if pairs else "no column that is different for each household is in both files."),
            suggestions=["Give it one name in both files, and leave other columns out of one of them."],
        )
    return pairs[0]


def _unique(source: Source, name: str) -> bool:
    column = source.table[name]
    if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        return False
    return column.null_count == 0 and len(pc.unique(each_text(name, column))) == len(column)


def _alike(people: Source, name: str, households: Source, own: str) -> bool:
    """Whether a column of people has the values of one of households, each at least once."""
    column = people.table[name]
    if column.null_count or pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        return False
    found = pc.unique(each_text(name, column))
    wanted = each_text(own, households.table[own])
    return len(found) == len(wanted) and bool(np.all(pc.is_in(found, value_set=wanted).to_numpy(zero_copy_only=False)))
