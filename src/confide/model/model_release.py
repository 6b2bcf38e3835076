"""What leaves of a model or a correlation: small tables of numbers rounded to what the number of units supports."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Generic, Self, TypeVar

from confide.errors import Fault
from confide.model.request import Request

__all__ = ["INTERVAL_ERRORS", "NORMAL", "PLOT", "Grid", "ModelRelease"]

PLOT = "plot: "
"""How the names of grids begin that hold the points of a plot."""

NORMAL = 1.96
"""Standard errors on either side of an estimate that make a 95 percent interval."""

INTERVAL_ERRORS = "interval_errors"
"""The statistic of a model that says how many they are, where they are others."""

Value = str | float | int | None
Q = TypeVar("Q", bound=Request[Any])


@dataclass(frozen=True)
class Grid:
    """A table with named columns; `None` where a number does not apply."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        numbers = (value for row in self.rows for value in row if isinstance(value, float))
        if not all(isfinite(number) for number in numbers) or any(len(row) != len(self.columns) for row in self.rows):
            raise Fault(f"The table {self.name!r} is not well formed, so it is not released.")


@dataclass(frozen=True)
class ModelRelease(Generic[Q]):
    """Protected results of a model: `grids` by name (coefficients, anova, statistics; or correlations), `charts` by name."""

    request: Q
    title: str
    scope: str
    grids: Mapping[str, Grid]
    notes: tuple[str, ...]
    policy: str
    receipt: str
    source: str = ""
    charts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """A fingerprint of the numbers released; plots are drawn from these and the secret, and are left out."""
        grids = sorted((name, grid) for name, grid in self.grids.items() if not name.startswith(PLOT))
        return hashlib.sha256(repr(grids).encode()).hexdigest()

    @property
    def interval_errors(self) -> float:
        """Standard errors on either side of an estimate in a 95 percent interval: more where these rest on few sampling units."""
        rows = self.grids["statistics"].rows if "statistics" in self.grids else ()
        return next((float(row[1]) for row in rows if row[0] == INTERVAL_ERRORS and row[1]), NORMAL)

    @property
    def size(self) -> int:
        """About so many bytes the numbers take: 200 for each in the tables, as measured."""
        return 200 * sum(len(grid.columns) * len(grid.rows) for grid in self.grids.values())

    def without_plots(self) -> Self:
        """The same without charts and the points behind them."""
        grids = {name: grid for name, grid in self.grids.items() if not name.startswith(PLOT)}
        return replace(self, grids=grids, charts={}) if self.charts else self
