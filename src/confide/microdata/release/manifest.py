"""The manifest of a file: what was done, and a hash by which everybody sees that it is the file; never the key."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

from confide.errors import Mistake
from confide.microdata.released import StepDone

__all__ = ["Manifest", "hash_of", "manifest_path"]


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What is told of a file beside it: its hash, its columns, the methods and parameters, what the gate did.

    `key` is a public name of the key, which two releases from the same key share. Columns that were taken out are not
    named, nor are codes. `for_release` is false, and `notes` say why, of a file that must not go out.
    """

    file: str
    sha256: str
    records: int
    columns: tuple[str, ...]
    steps: tuple[StepDone, ...]
    gate: tuple[str, ...]
    key: str
    for_release: bool
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, file: str | Path) -> "Manifest":
        """The manifest beside a file; a Mistake if there is none, or if it cannot be read."""
        path = manifest_path(file)
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            lists = {name: tuple(raw[name]) for name in ("columns", "gate", "notes")}
            return cls(**{**raw, **lists, "steps": tuple(_step(step) for step in raw["steps"])})
        except FileNotFoundError:
            if not Path(file).exists():
                raise Mistake(f"There is no file {str(file)!r}.") from None
            raise Mistake(f"{str(file)!r} has no manifest: there is no {path.name} beside it.") from None
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise Mistake(
                f"The manifest {str(path)!r} cannot be read.",
                suggestions=[
                    "Restore it; or, if nobody has the file that it describes, remove both and release again."
                ],
            ) from None

    def text(self) -> str:
        """The manifest as JSON."""
        steps = [_told(step, self.columns) for step in self.steps]
        return json.dumps(asdict(self) | {"steps": steps}, ensure_ascii=False, indent=2) + "\n"

    def check(self, file: str | Path) -> None:
        """A Mistake if this is not the file that the manifest describes, or one that must not go out."""
        path = Path(file)
        if not path.is_file():
            raise Mistake(f"There is no file {str(file)!r}, which its manifest describes.")
        if hash_of(path) != self.sha256:
            raise Mistake(
                f"{str(file)!r} is not the file that its manifest describes: one of them was changed or exchanged.",
                suggestions=["Release it again, with the same key."],
            )
        if not self.for_release:
            raise Mistake(f"{str(file)!r} is not for release.", suggestions=self.notes)


def manifest_path(file: str | Path) -> Path:
    """Where the manifest of a file is: beside it."""
    return Path(file).with_name(f"{Path(file).name}.manifest.json")


def hash_of(file: Path) -> str:
    """The SHA-256 of the bytes of a file, in hexadecimal."""
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def _told(step: StepDone, columns: Iterable[str]) -> dict[str, Any]:
    """A step without the columns that are no longer in the file, and what a sound one does not have."""
    kept = [name for name in step.columns if name in set(columns)]
    marks = {name: value for name, value in (("unmasked", step.unmasked), ("taught", step.taught)) if value}
    return {"method": step.method, "columns": kept, "parameters": dict(step.parameters), **marks}


def _step(raw: Mapping[str, Any]) -> StepDone:
    return StepDone(**{**raw, "columns": tuple(raw["columns"])})
