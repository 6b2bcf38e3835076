"""What commands on files are told of their columns: by options, by a description, or by a file beside the data."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from confide.microdata.description import FileDescription
from confide.sources.columns import few_whole_numbers

__all__ = ["Described", "Encoding", "Missing", "described", "measured_roles", "remark_codes"]

Missing = Annotated[
    list[str] | None, typer.Option(help="A word that means missing in a CSV, such as NA; may be repeated.")
]
Encoding = Annotated[str | None, typer.Option(help="How a CSV that is not UTF-8 is written: latin-1, cp1252, utf-16.")]
Described = Annotated[
    Path | None, typer.Option("--dataset", help="A dataset.toml, or a file of [roles], that says what columns are.")
]

LISTS = {"key": "keys", "confidential": "confidential", "other": "other"}
ALONE = ("identifier", "weight", "household")


def measured_roles(
    found: FileDescription, shared: Sequence[str], named: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Columns that both files have by what they are for, as a description has it; what was `named` besides goes before."""
    said = dict(named or {})
    alone = {role: _there(found.roles.get(role, ()), shared) for role in ALONE}
    told = {role: names[0] for role, names in alone.items() if len(names) == 1} | said
    taken = {told.get(role) for role in ALONE}
    lists = {LISTS[role]: _there(names, shared) for role, names in found.roles.items() if role in LISTS}
    lists = {role: [name for name in names if name not in taken] for role, names in lists.items()}
    measured = [name for names in lists.values() for name in names]
    codes = dict.fromkeys([*said.get("categorical", ()), *_there(found.categorical, measured)])
    return told | lists | {"categorical": tuple(codes)}


def _there(names: Iterable[str], shared: Sequence[str]) -> list[str]:
    return [name for name in names if name in shared]


def described(data: Path, dataset: Path | None) -> FileDescription:
    """What is said of a file's columns in a description, or in the file beside it."""
    return FileDescription.beside(data) if dataset is None else FileDescription.read(dataset)


def remark_codes(name: str, column: pa.ChunkedArray) -> None:
    """Say that a column of few whole numbers is read as a number, and how to read it as codes."""
    if values := few_whole_numbers(column):
        say = f"{name!r} has {values} different whole numbers and is read as a number. If they are codes:"
        typer.echo(f"{say} --categorical {name}", err=True)
