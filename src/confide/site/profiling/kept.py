"""What is kept of a profile beside its page, for who mends the description in a browser. It has true values."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from confide.errors import Mistake
from confide.model.catalog.dataset import Role
from confide.site.profiling.column import MANY
from confide.site.profiling.profile import Decision, Profile
from confide.site.profiling.report import COMMONEST, distribution, lacking

__all__ = ["KeptColumn", "KeptProfile", "kept_profile", "read_kept_profile"]


@dataclass(frozen=True)
class KeptColumn:
    """What a column was taken for and why, and how many records have each value, or lie in each bin of a number."""

    kind: str
    role: str
    why: str
    different: int
    missing: int
    counts: Mapping[str, int]


@dataclass(frozen=True)
class KeptProfile:
    """The columns of a file as they were when the description was drafted."""

    records: int = 0
    columns: Mapping[str, KeptColumn] = field(default_factory=dict)


def kept_profile(found: Profile) -> str:
    """The text that is kept of a profile."""
    columns = {name: asdict(_column(decision)) for name, decision in found.decisions.items()}
    return json.dumps({"records": found.columns[0].rows, "columns": columns}, ensure_ascii=False, indent=1) + "\n"


def _column(decision: Decision) -> KeptColumn:
    column, role = decision.column, decision.role
    return KeptColumn(
        kind=decision.kind,
        role="" if role is None else str(role),
        why="; ".join([decision.why, *decision.notes]),
        different=column.size,
        missing=lacking(column),
        counts=_counts(decision),
    )


def _counts(decision: Decision) -> dict[str, int]:
    """Of what names records there are none, as on the page of the profile."""
    column = decision.column
    if not column.size or (decision.role is Role.IDENTIFIER and column.size > COMMONEST):
        return {}
    if column.categorical and column.size <= MANY:
        return dict(zip(column.codes, column.counts.tolist(), strict=True))
    names, counts, *_ = distribution(decision).columns
    return dict(zip(names.to_pylist(), counts.to_pylist(), strict=True))


def read_kept_profile(file: Path) -> KeptProfile:
    """What a file keeps of a profile; nothing if there is none. A Mistake if it is something else."""
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        columns = {str(name): _read(column) for name, column in said["columns"].items()}
        return KeptProfile(int(said["records"]), columns)
    except FileNotFoundError:
        return KeptProfile()
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Mistake(
            f"{file} is not what 'confide init' wrote.", suggestions=["Take it away: then there are no distributions."]
        ) from None


def _read(said: Mapping[str, Any]) -> KeptColumn:
    counts = {str(value): int(count) for value, count in said["counts"].items()}
    texts = {key: str(said[key]) for key in ("kind", "role", "why")}
    return KeptColumn(**texts, different=int(said["different"]), missing=int(said["missing"]), counts=counts)
