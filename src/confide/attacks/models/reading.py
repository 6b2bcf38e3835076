"""What a released model says: coefficients with the width of their rounding, and the level of a class."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import floor, log10

import numpy as np

from confide.arrays import Floats
from confide.model.model_release import ModelRelease
from confide.model.request import RegressionRequest

__all__ = ["Fit", "Released", "by_response", "fit_of", "quoted"]

Released = ModelRelease[RegressionRequest]


def quoted(name: str) -> str:
    """A name or a code as it stands in a formula, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Fit:
    """Coefficients by label: estimate, standard error and statistic as released; and the statistics of the whole."""

    estimates: dict[str, float]
    errors: dict[str, float]
    tests: dict[str, float]
    statistics: dict[str, float]

    def width(self, label: str) -> float:
        """The width of the rounding of an estimate: the second digit of its standard error."""
        return float(10.0 ** (floor(log10(self.errors[label]) + 1e-12) - 1))

    @cached_property
    def intercept(self) -> float:
        return self.estimates["(Intercept)"]

    def has(self, variable: str, code: str) -> bool:
        """Whether the class has a coefficient of its own; if not, it is in the reference or absorbed into it."""
        return f"{variable}={code}" in self.estimates

    def level(self, variable: str, code: str) -> float:
        """The intercept and the coefficient of a class together."""
        return self.intercept + self.estimates[f"{variable}={code}"]

    def variance(self, *labels: str) -> float:
        """Of the sum of some estimates, by their rounding alone."""
        return float(np.sum(self.widths(*labels) ** 2) / 12)

    def sharp_error(self, label: str) -> tuple[float, float]:
        """The middle and half the width of where a standard error must be: within its own rounding, and where the rounded
        estimate by the rounded statistic (3 digits) puts it.
        """
        error, estimate, statistic = self.errors[label], abs(self.estimates[label]), abs(self.tests[label])
        half = self.width(label) / 2
        low, high = error - half, error + half
        if statistic > 0:
            step = 10.0 ** (floor(log10(statistic) + 1e-12) - 2) / 2
            low = max(low, (estimate - half) / (statistic + step))
            high = min(high, (estimate + half) / (statistic - step))
        return (low + high) / 2, max((high - low) / 2, 1e-12)

    def widths(self, *labels: str) -> Floats:
        return np.array([self.width(label) for label in labels])


def fit_of(release: Released | None) -> Fit | None:
    """The numbers of a release, None where it was refused."""
    if release is None:
        return None
    rows = release.grids["coefficients"].rows
    statistics = {str(row[0]): _number(row[1]) for row in release.grids["statistics"].rows}
    estimates, errors, tests = ({str(row[0]): _number(row[place]) for row in rows} for place in (1, 2, 3))
    return Fit(estimates, errors, tests, statistics)


def by_response(release: Released) -> dict[str, Released]:
    """A model of several classes as one model for each class of the response."""
    grid = release.grids["coefficients"]
    found = {}
    for code in dict.fromkeys(str(row[0]) for row in grid.rows):
        rows = tuple(row[1:] for row in grid.rows if row[0] == code)
        own = replace(grid, columns=grid.columns[1:], rows=rows)
        found[code] = replace(release, grids={**release.grids, "coefficients": own})
    return found


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)
