"""The vintages of a data set: versions of its records, each in a folder of its own, listed in one file that says which is the newest.

people/vintages.json
people/vintages/1/dataset.toml  records.duckdb  records.columns  truth.parquet  records.json  safe.parquet  cohorts.parquet
                  stand_ins.parquet  source.json

Promise: a vintage is there, whole, from the moment the list names it; who is killed before that changed nothing.
"""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from confide.data.private import only_mine
from confide.data.replacing import replacing
from confide.errors import Fault, Mistake

__all__ = [
    "LIST",
    "Vintage",
    "above",
    "check_vintage",
    "next_name",
    "parse",
    "place",
    "read_vintages",
    "remove_unlisted",
    "split_level",
    "unlisted",
    "write_vintages",
    "writing",
]

LIST = "vintages.json"
_FOLDERS = "vintages"
_PARTIAL = ".partial"


@dataclass(frozen=True)
class Vintage:
    """A version of a data set: what it is called, the number of its folder, when it was loaded and the mark of its data."""

    name: str
    folder: int
    loaded: str
    data: str


def parse(name: str) -> tuple[str, str]:
    """The data set and the vintage that a name stands for; without a vintage it is the newest.

    >>> parse("people@2025"), parse("people")
    (('people', '2025'), ('people', ''))
    """
    dataset, _, vintage = name.partition("@")
    return dataset, vintage


def split_level(name: str) -> tuple[str, str]:
    """The data set of people, of the same vintage, and the level above it that a name stands for; none if it is of people.

    >>> split_level("people.households@2025"), split_level("people")
    (('people@2025', 'households'), ('people', ''))
    """
    dataset, at, vintage = name.partition("@")
    people, _, level = dataset.partition(".")
    return people + at + vintage, level


def above(name: str, level: str) -> str:
    """What a level above a data set is called.

    >>> above("people@2025", "households")
    'people.households@2025'
    """
    dataset, at, vintage = name.partition("@")
    return f"{dataset}.{level}" + at + vintage


def check_vintage(name: str, known: Sequence[Vintage]) -> str:
    """The name for a new vintage; a Mistake if it cannot stand in an address, or is taken."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}", name):
        hint = ["Use letters, digits, _, . and -, as in 2026-03."]
        raise Mistake(f"{name[:60]!r} cannot name a vintage.", suggestions=hint)
    if name in {vintage.name for vintage in known}:
        raise Mistake(f"There is a vintage {name!r} already.", suggestions=["Give another name with --vintage."])
    return name


def next_name(known: Sequence[Vintage]) -> str:
    """What a vintage is called that nobody names: the next number."""
    return str(1 + max((int(vintage.name) for vintage in known if vintage.name.isdecimal()), default=0))


def read_vintages(home: Path) -> list[Vintage]:
    """The vintages of a data set, the oldest first; none if there is no list."""
    try:
        return [Vintage(**each) for each in json.loads((home / LIST).read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError):
        raise Mistake(
            f"{home / LIST} cannot be read as a list of vintages.", suggestions=["Restore it from a backup."]
        ) from None


def write_vintages(home: Path, vintages: Sequence[Vintage]) -> None:
    """Put a list in the place of the one before, whole or not at all: from now on its last one is the newest."""
    try:
        with only_mine(), replacing(home / LIST) as partial:
            partial.write_text(json.dumps([asdict(each) for each in vintages], indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise Fault(
            f"{home / LIST} could not be written ({error.strerror}); the former vintage stays the newest.",
            suggestions=["Check that the disk has room."],
        ) from None


def place(home: Path, vintage: Vintage) -> Path:
    """The folder of a vintage's files."""
    return home / _FOLDERS / str(vintage.folder)


@contextmanager
def writing(home: Path) -> Iterator[tuple[int, Path]]:
    """A new folder for the files of a vintage, and its number; on an error it is gone."""
    number = 1 + max((int(each.name) for each in (home / _FOLDERS).glob("*") if each.name.isdecimal()), default=0)
    made, partial = home / _FOLDERS / str(number), home / _FOLDERS / f"{number}{_PARTIAL}"
    try:
        with only_mine():
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            yield number, partial
            partial.rename(made)
    except OSError as error:
        raise Fault(
            f"The records could not be written ({error.strerror}); the former ones, if any, are untouched.",
            suggestions=["Check that the disk has room."],
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):
            (home / _FOLDERS).rmdir()  # if nothing is in it


def unlisted(home: Path) -> list[Path]:
    """The folders that the list does not name: vintages that are not kept, and what a killed process left."""
    listed = {str(vintage.folder) for vintage in read_vintages(home)}
    return [folder for folder in (home / _FOLDERS).glob("*") if folder.name not in listed]


def remove_unlisted(home: Path) -> None:
    """Take these folders away."""
    for folder in unlisted(home):
        shutil.rmtree(folder, ignore_errors=True)
