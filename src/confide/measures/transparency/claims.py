"""What an intruder claims to have learnt from a file. Whether it is true, `scoring` says."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from confide.arrays import Bools, Floats, Ints

__all__ = [
    "FileClaims",
    "IntervalClaims",
    "Links",
    "LookUps",
    "MemberClaims",
    "NameClaims",
    "PlaceClaims",
    "Rebuilt",
    "UntouchedClaims",
    "ValueClaims",
    "WeighedLinks",
]


@dataclass(frozen=True, eq=False)
class Links:
    """Of each target the released record that is theirs, by its row; -1 where nothing is claimed."""

    record: Ints
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ValueClaims:
    """Of each target the value of a confidential column; null where nothing is claimed."""

    column: str
    value: pa.Array
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class WeighedLinks:
    """Links by weight of evidence over these columns, made and scored in one by `measures.risk.probabilistic_linkage`."""

    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class LookUps:
    """The values of a confidential column that stand beside the nearest keys, as `measures.risk.attribute_disclosure` has it."""

    targets: pa.Table
    confidential: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class IntervalClaims:
    """True values lie within so many percent of the ranks about the released ones: `measures.risk.interval_disclosure`."""

    columns: tuple[str, ...]
    percent: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class MemberClaims:
    """Whether each candidate is among those whose records the file was made from, and how much speaks for it."""

    member: Bools
    evidence: Floats
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """The masked columns as they were before, record by record; without columns where nothing is claimed."""

    columns: Mapping[str, pa.Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class NameClaims:
    """Names that the confidential file has and the released one no longer: pairs of a column and a category of it.

    A column that was left out is the pair of nothing and its name.
    """

    names: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class PlaceClaims:
    """Where each released record stood in the confidential file; -1 where nothing is claimed."""

    place: Ints
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class UntouchedClaims:
    """Which released values of these columns are the true ones, in a file in which values were changed."""

    untouched: Mapping[str, Bools]
    notes: tuple[str, ...] = ()


FileClaims = (
    Links
    | ValueClaims
    | WeighedLinks
    | LookUps
    | IntervalClaims
    | MemberClaims
    | Rebuilt
    | NameClaims
    | PlaceClaims
    | UntouchedClaims
)
