"""What is known of a file's columns before it is read: their roles, which of its numbers are codes, and orders of codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from confide.errors import Mistake, nearest
from confide.microdata.step import ReadFile
from confide.model.catalog.dataset import Role
from confide.model.catalog.toml import read_dataset
from confide.model.toml import parse_toml
from confide.sources.columns import distinct, texts

__all__ = ["KEYS", "FileDescription", "read_text"]

KEYS = ("dataset", "roles", "categorical", "ordered")
"""What a description may say."""


@dataclass(frozen=True)
class FileDescription:
    """Columns by role, the columns whose numbers are codes, and the codes of those that have an order, from the lowest."""

    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    categorical: tuple[str, ...] = ()
    ordered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "FileDescription":
        """From a `dataset.toml`, or from a file with [roles], categorical, or the name of a dataset."""
        text, beside = read_text(path), lambda name: read_text(path.parent / name)
        raw = parse_toml(text, what=path.name)
        if "variables" in raw:
            return cls.of({"dataset": path.name}, beside)
        if unknown := [key for key in raw if key not in KEYS]:
            raise Mistake(f"Unknown key {unknown[0]!r} in {path.name}.", suggestions=nearest(unknown[0], KEYS))
        return cls.of(raw, beside)

    @classmethod
    def beside(cls, data: Path) -> "FileDescription":
        """What the file NAME.roles.toml beside NAME.csv says; nothing, if there is none."""
        path = data.with_name(f"{data.name.split('.')[0]}.roles.toml")
        return cls.read(path) if path.is_file() else cls()

    @classmethod
    def of(cls, raw: Mapping[str, Any], read_file: ReadFile) -> "FileDescription":
        """What the keys of a plan, or of a file beside the data, say; or the catalog of the data set that they name."""
        if "dataset" in raw and ("roles" in raw or "categorical" in raw):
            raise Mistake("Give roles or a dataset, not both.")
        ordered = _lists(raw, "ordered", "Order of")
        if "dataset" in raw:
            return replace(_declared(raw["dataset"], read_file), ordered=ordered)
        codes = _names("'categorical'", raw.get("categorical", []), "columns")
        return cls(_lists(raw, "roles", "Role"), codes, ordered)

    def apply(self, table: pa.Table) -> pa.Table:
        """The table with numbers that are codes as categories, and categories in the order that they have."""
        for place, name in enumerate(table.column_names):
            if name in self.ordered:
                table = table.set_column(place, name, _ordered(name, table[name], self.ordered[name]))
            elif name in self.categorical and not pa.types.is_string(table[name].type):
                table = table.set_column(place, name, table[name].dictionary_encode())
        return table


def read_text(file: Path) -> str:
    """The text of a file that a plan names."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise Mistake(f"There is no file {str(file)!r}.") from None
    except (OSError, UnicodeDecodeError):
        raise Mistake(f"{str(file)!r} cannot be read as a text file.") from None


def _lists(raw: Mapping[str, Any], key: str, what: str) -> dict[str, tuple[str, ...]]:
    section = raw.get(key, {})
    if not isinstance(section, dict):
        raise Mistake(f"[{key}] must be a section.")
    kind = "columns" if key == "roles" else "codes"
    return {name: _names(f"{what} {name!r}", listed, kind) for name, listed in section.items()}


def _names(what: str, names: Any, kind: str) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Mistake(f"{what} must be a list of {kind}, as text, not {names!r}.")
    return tuple(names)


def _ordered(name: str, column: pa.ChunkedArray, order: Sequence[str]) -> pa.Array:
    """A column as a category with this order; a code that is not in it is a Mistake."""
    found = distinct(name, column)
    codes = texts(name, found.values).to_pylist()
    if lost := [code for code in codes if code is not None and code not in order]:
        raise Mistake(
            f"The order of {name!r} leaves out {lost[0]!r}.", suggestions=["Name all its codes, from the lowest."]
        )
    place = np.array([*(-1 if code is None else order.index(code) for code in codes), -1], np.int32)[found.places]
    return pa.DictionaryArray.from_arrays(pa.array(place, mask=place < 0), pa.array(order), ordered=True)


def _declared(name: Any, read_file: ReadFile) -> FileDescription:
    if not isinstance(name, str):
        raise Mistake(f"'dataset' must be the name of a file, not {name!r}.")
    beside = Path(name).parent
    dataset = read_dataset(read_file(name), name=name, read_file=lambda other: read_file(str(beside / other)))
    roles: dict[str, dict[str, None]] = {}
    for variable in dataset.variables.values():
        roles.setdefault(str(variable.role), {})[variable.column] = None
    for role, column in (("weight", dataset.weight), ("household", dataset.household)):
        if column is not None:
            roles[role] = {column: None}
    codes = [one for one in dataset.variables.values() if not one.numeric and one.role is not Role.IDENTIFIER]
    return FileDescription(
        {role: tuple(columns) for role, columns in roles.items()}, tuple(dict.fromkeys(one.column for one in codes))
    )
