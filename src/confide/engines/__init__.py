"""Where microdata live. An engine answers tallies and nothing else; it knows no protection.

Everything that is summed is a fixed-point integer and keys are made before the data arrive, so every engine
gives the same integers for the same `Coded` records.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints, Narrow
from confide.model.design import Number
from confide.model.evidence import Box, Cells, Moments, Rows, Spread, Step, Tally

__all__ = ["ALL", "CLUSTER", "Coded", "Engine", "StoreFacts"]

ALL = slice(None)
"""All records."""

CLUSTER = "\x1fcluster"
"""The class of sampling units, where a design is declared. No variable has such a name: theirs can be printed."""


@dataclass(frozen=True)
class StoreFacts:
    """What a store says of itself. `classes`, `numbers` and `values` map variables to columns; scales are decimal places.

    `numbers` are weighted contributions (for totals), with `decimals`; `values` the plain values (for models), with
    `value_decimals`; `shifts` say by how many bits contributions are cut before they are squared (none where it names none).
    `forms` has columns of their own for transformed numbers that carry noise, so that their means are right; their decimals
    stand with the others'. Of protected records, `records` and `roles` mark how they were protected, `noise` has the relative noise of
    each number (root mean square over its squares; of its logarithm, root and square, as `log(x)`, over what these square),
    `spread` what totals by one, two, three variables are off by, as a multiple of what that makes of independent noise (see
    `confide.records.spreads.totals`), `deviations` the same of standard deviations, as a multiple of their standard error (see
    `confide.records.spreads.deviations`), and `ceiling` what a perfect reconstruction would tell (see `confide.records.ceilings`).
    `sampling` says of sampling units, the class `CLUSTER`, how they were drawn (see `confide.site.coding.clusters`), and
    `households_sampling` the same of those of households, where these are a level of their own.
    """

    dataset: str
    catalog: str
    data: str
    keys: str
    several: bool
    weighted: bool
    weight_decimals: int
    classes: dict[str, str]
    numbers: dict[str, str]
    decimals: dict[str, int] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    value_decimals: dict[str, int] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)
    shifts: dict[str, int] = field(default_factory=dict)
    records: str = ""
    roles: str = ""
    noise: dict[str, float] = field(default_factory=dict)
    spread: dict[str, list[float]] = field(default_factory=dict)
    deviations: dict[str, list[float]] = field(default_factory=dict)
    ceiling: list[dict[str, Any]] = field(default_factory=list)
    sampling: dict[str, Any] = field(default_factory=dict)
    households_sampling: dict[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> dict[str, str]:
        """The classes that there are variables for: all but sampling units."""
        return {name: column for name, column in self.classes.items() if name != CLUSTER}

    def value(self, number: Number) -> str:
        """The column whose transformed values enter models."""
        return self.forms.get(f"{number.transform}({number.variable})", self.values[number.variable])

    def scale(self, number: Number) -> int:
        """The decimal places of that column."""
        label = f"{number.transform}({number.variable})"
        return self.value_decimals[label if label in self.forms else number.variable]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Coded:
    """Microdata ready for any engine: small integers for classes, fixed-point contributions, keys.

    Columns of `records`: `unit` (signed 64-bit key of the unit), `key` (signed 32-bit key of the record), `weight`
    (fixed point, if declared), and those named in `facts`: a place for each class, a contribution for each number.
    `homes`, where households are declared, has the key of each record's (`household`); where they are a level of their own also
    whether the record is the head's (`head`), the household's weight (`weight`, fixed point) and the place of its sampling unit
    (`sampled`), if these are declared. `cohort`, where units came in
    updates, is the number of the update (0 for the first data). No store has them.
    """

    facts: StoreFacts
    records: pa.Table
    homes: pa.Table | None = None
    cohort: pa.Array | None = None

    @property
    def households(self) -> Ints | None:
        """The key of each record's household, where one is declared."""
        return None if self.homes is None else np.asarray(self.homes["household"].to_numpy())

    def only(self, chosen: Bools) -> "Coded":
        """Some of the records."""
        mask = pa.array(chosen)
        homes, cohort = (None if of is None else of.filter(mask) for of in (self.homes, self.cohort))
        return Coded(self.facts, self.records.filter(mask), homes, cohort)

    def places(self, name: str) -> Ints:
        """The place of each record's code."""
        return np.asarray(self.records[self.facts.classes[name]].to_numpy(), np.int64)

    def classes(self, name: str) -> Narrow:
        """The same as narrow as they are stored, and not copied."""
        return np.asarray(self.records[self.facts.classes[name]].to_numpy())

    def numbers(self, name: str, rows: slice | Narrow = ALL) -> Floats:
        """A numeric variable, NaN where it is missing, of all records or of some."""
        column = self._some(self.facts.values[name], rows).astype(np.float64)
        column /= 10.0 ** self.facts.value_decimals[name]
        return column

    def _some(self, column: str, rows: slice | Narrow) -> NDArray[Any]:
        stored = self.records[column]
        return np.asarray((stored[rows] if isinstance(rows, slice) else stored.take(pa.array(rows))).to_numpy())

    @property
    def sizes(self) -> dict[str, int]:
        """One more than the largest place of each class that is there."""
        return {name: int(pc.max(self.records[c]).as_py() or 0) + 1 for name, c in self.facts.classes.items()}

    @property
    def units(self) -> Ints:
        """The key of each record's unit."""
        return np.asarray(self.records["unit"].to_numpy())

    @property
    def weights(self) -> Floats:
        """The weight of each record."""
        return self.weights_of(ALL)

    def weights_of(self, rows: slice | Narrow) -> Floats:
        """The weights of some records."""
        if not self.facts.weighted:
            return np.ones(len(np.broadcast_to(0, self.records.num_rows)[rows]))
        return np.asarray(self._some("weight", rows) / 10.0**self.facts.weight_decimals)


class Engine(Protocol):
    """The whole protocol. Both answers are pure functions of the data."""

    @property
    def facts(self) -> StoreFacts: ...

    def tally(self, tally: Tally) -> Cells:
        """Aggregates by class."""

    def units(self, within: Sequence[Box], *, low: int, high: int) -> Ints:
        """The keys of the distinct units in any of the boxes, from `low` to `high` (both included), ascending."""

    def moments(self, step: Step) -> Moments:
        """One step of fitting a model."""

    def spread(self, step: Step, inverse: Floats) -> Spread:
        """How the records lie about the model at `step.beta`."""

    def rows(self, step: Step, inverse: Floats, *, low: int, high: int) -> Rows:
        """The complete records of units with keys from `low` to `high`, at `step.beta`."""

    def close(self) -> None: ...
