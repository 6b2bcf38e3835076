"""What each column is to an intruder, and two files with those columns, ready to be measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypedDict

import pyarrow as pa

from confide.data.frame import Frame
from confide.errors import Mistake, nearest
from confide.measures.records import FileColumn, FileRecords, listed
from confide.microdata import Method
from confide.microdata.released import frame_of

__all__ = ["Files", "Named", "Roles"]


class Named(TypedDict, total=False):
    """Columns by what they are for; a single one may stand alone."""

    keys: str | Sequence[str]
    confidential: str | Sequence[str]
    other: str | Sequence[str]
    categorical: str | Sequence[str]
    identifier: str | None
    weight: str | None
    household: str | None


WORDS = {"key": "keys", "confidential": "confidential", "other": "other"}
ALONE = ("identifier", "weight", "household")


@dataclass(frozen=True)
class Roles:
    """The survey's roles: identifier, keys, confidential and other columns; and which is the weight, which the household.

    `categorical` are numbers that are codes.
    """

    keys: tuple[str, ...] = ()
    confidential: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    identifier: str | None = None
    weight: str | None = None
    household: str | None = None

    def __post_init__(self) -> None:
        if not self.measured:
            raise Mistake(
                "Say which columns are keys, and which confidential.", suggestions=["As in keys=['age', 'sex']."]
            )
        singles = [name for name in (self.identifier, self.weight, self.household) if name is not None]
        twice = [name for name in (*self.measured, *singles) if [*self.measured, *singles].count(name) > 1]
        if twice:
            raise Mistake(f"Column {twice[0]!r} has two roles. Give it one.")
        lost = [name for name in self.categorical if name not in self.measured]
        if lost:
            hint = nearest(lost[0], self.measured) or ["Name it as a key, confidential or other column too."]
            raise Mistake(f"{lost[0]!r} is said to be categorical and has no role.", suggestions=hint)

    @classmethod
    def of(cls, roles: Mapping[str, str] | None, named: Named) -> "Roles":
        """Roles by name, as in a dataset.toml ({"age": "key"}), or names by role (keys=["age"])."""
        if roles is None:
            unknown = [name for name in named if name not in {field.name for field in fields(cls)}]
            if unknown:
                raise Mistake(f"There is no role {unknown[0]!r}.", suggestions=nearest(unknown[0], WORDS.values()))
            lists = {name: _tuple(value) for name, value in named.items() if name not in ALONE}
            return cls(**{**named, **lists})  # type: ignore[arg-type]  # the names were checked
        if set(named) - {"categorical", "weight", "household"}:
            raise Mistake("Give either roles= or the columns by name, not both.")
        return cls._read(roles, named)

    @classmethod
    def _read(cls, roles: Mapping[str, str], named: Named) -> "Roles":
        lists: dict[str, list[str]] = {place: [] for place in WORDS.values()}
        singles: dict[str, Any] = {
            "weight": named.get("weight"),
            "household": named.get("household"),
            "identifier": None,
        }
        for name, role in roles.items():
            if role in WORDS:
                lists[WORDS[role]].append(name)
            elif role in ALONE:
                if singles[role] not in (None, name):
                    raise Mistake(f"{singles[role]!r} and {name!r} cannot both be the {role}. Name one.")
                singles[role] = name
            else:
                hint = nearest(str(role), [*WORDS, *ALONE]) or [f"Roles: {', '.join([*WORDS, *ALONE])}."]
                raise Mistake(f"Column {name!r} has no role {role!r}.", suggestions=hint)
        codes = _tuple(named.get("categorical", ()))
        kept = {place: tuple(names) for place, names in lists.items()}
        return cls(kept["keys"], kept["confidential"], kept["other"], codes, **singles)

    @property
    def measured(self) -> tuple[str, ...]:
        """Every column whose risk or utility is measured."""
        return (*self.keys, *self.confidential, *self.other)


def _tuple(names: Any) -> tuple[str, ...]:
    return listed(names, "columns of a role") if names else ()


@dataclass(frozen=True)
class Files:
    """Both files as Arrow tables of the columns that have a role, those that are codes as text.

    `identifier` is named if both files have it. `paired` says that records belong together: by it, or row by row.
    `method` is that by which the file was masked, with the columns that strata were made `by`, where it is known.
    """

    original: pa.Table
    released: pa.Table
    roles: Roles
    identifier: str | None
    paired: bool
    method: Method | None = None
    by: tuple[str, ...] = ()

    @classmethod
    def of(cls, original: Any, released: Any, roles: Roles, *, paired: bool = True) -> "Files":
        tables = []
        for which, frame in (("original", original), ("released", released)):
            read = frame_of(frame)
            if not len(read):
                raise Mistake(f"The {which} file has no records.")
            names = [*roles.measured, *(n for n in (roles.weight, roles.household) if n is not None)]
            try:
                tables.append(_table(read, [*names, *_optional(read, roles.identifier)], roles.categorical))
            except Mistake as mistake:
                raise Mistake(f"In the {which} file: {mistake.message}", suggestions=mistake.suggestions) from None
        shared = roles.identifier if all(roles.identifier in table.column_names for table in tables) else None
        if paired and shared is None and tables[0].num_rows != tables[1].num_rows:
            raise Mistake(
                f"The original file has {tables[0].num_rows:,} records, the released one {tables[1].num_rows:,}.",
                suggestions=[
                    "Name an identifier that both have; or, if records do not belong together, say paired=False."
                ],
            )
        return cls(tables[0], tables[1], roles, shared if paired else None, paired)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """What each measured column holds in both files: numbers, categories, or other categories than before."""
        found = {}
        for name in self.roles.measured:
            kinds = {FileColumn.of(name, _whole(table[name])).kind for table in (self.original, self.released)} - {
                "nothing"
            }
            found[name] = "numbers" if kinds == {"numbers"} else "recoded" if len(kinds) > 1 else "categories"
        return found

    @property
    def numeric(self) -> tuple[str, ...]:
        return tuple(name for name, kind in self.kinds.items() if kind == "numbers")

    @property
    def categorical(self) -> tuple[str, ...]:
        return tuple(name for name, kind in self.kinds.items() if kind == "categories")


def _optional(frame: Frame, name: str | None) -> list[str]:
    return [] if name is None or name not in frame.names else [name]


def _table(frame: Frame, names: Sequence[str], codes: Sequence[str]) -> pa.Table:
    table = frame.table(tuple(dict.fromkeys(names)))
    for name in codes:
        if name in table.column_names:
            column = FileRecords.of(table, [name]).columns[name]
            labels = pa.array([*column.labels, None], pa.string())
            table = table.set_column(
                table.column_names.index(name), name, labels.take(pa.array(column.coded[0] % len(labels)))
            )
    return table


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)
