"""What is known of a file's columns before it is read: their roles, and which of its numbers are codes."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confide.errors import Mistake, nearest
from confide.microdata.step import ReadFile
from confide.model.catalog.dataset import Role
from confide.model.catalog.toml import read_dataset

__all__ = ["KEYS", "FileDescription", "read_text"]

KEYS = ("dataset", "roles", "categorical")
"""What a description may say."""


@dataclass(frozen=True)
class FileDescription:
    """Columns by role, and the columns whose numbers are codes."""

    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    categorical: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> "FileDescription":
        """From a `dataset.toml`, or from a file with [roles], categorical, or the name of a dataset."""
        text, beside = read_text(path), lambda name: read_text(path.parent / name)
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise Mistake(f"{path.name} is not valid TOML: {error}.") from None
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
        if "dataset" in raw:
            return _declared(raw["dataset"], read_file)
        roles = raw.get("roles", {})
        if not isinstance(roles, dict):
            raise Mistake("[roles] must be a section.")
        listed = {role: _names(f"Role {role!r}", names) for role, names in roles.items()}
        return cls(listed, _names("'categorical'", raw.get("categorical", [])))


def read_text(file: Path) -> str:
    """The text of a file that a plan names."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise Mistake(f"{str(file)!r} cannot be read as a text file.") from None


def _names(what: str, names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Mistake(f"{what} must be a list of columns, not {names!r}.")
    return tuple(names)


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
