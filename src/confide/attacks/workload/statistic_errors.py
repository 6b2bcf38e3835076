"""How far percentages, ratios, index numbers and standard errors are from the truth, and models of classes and by the design.

In units of the sampling error, as in `errors`: a percentage p of n units has √(p (1 - p) / n), of n effective ones where these are
weighted; a ratio of totals is linearised; an index number has the errors of both numbers, as if they were independent. A standard
error has none of its own that could be known: it is measured in units of itself.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from confide.arrays import Floats
from confide.attacks.truth.truth import Truth
from confide.attacks.workload import errors
from confide.attacks.workload.errors import CellSums, Deviations, binomial, coefficients
from confide.attacks.workload.generator import kind_of
from confide.formats.views import as_asked
from confide.model.release import Release, wholes
from confide.model.request import Measure

__all__ = ["deviations"]

Named = Iterator[tuple[str, Deviations]]


def deviations(release: Any, true: Any, truth: Truth) -> Named:
    """The errors of an answer by what its numbers are; the true answer is to the same question."""
    measure: Mapping[str, Callable[[Any, Any, Truth], Named]] = {
        "percentages": _percentages,
        "ratios": _ratios,
        "index numbers": _index_numbers,
        "standard errors": _standard_errors,
        "models of classes": _coefficients,
        "models by design": _coefficients,
    }
    found = measure.get(kind_of(release.request), errors.deviations)
    return found(release, true, truth)


def _percentages(release: Release, true: Release, truth: Truth) -> Named:
    request, shown = release.request, as_asked(true, release.request)
    assert request.percent is not None
    sums = CellSums.of(request, truth)
    for name, column in release.columns.items():
        weights = sums.weights if name.startswith(Measure.WEIGHTED_COUNT) else np.ones(len(sums.weights))
        square, whole = (wholes(sums.add(weights**power), request, request.percent) for power in (2, 1))
        exact = shown.columns[name].values / 100
        spread = np.maximum(exact * (1 - exact), 0.0) * square / np.where(whole > 0, whole, np.inf) ** 2
        yield "percentages", Deviations.of(column.values / 100, exact, np.sqrt(spread))


def _ratios(release: Release, true: Release, truth: Truth) -> Named:
    sums, exact = CellSums.of(true.request, truth), true.columns["ratio"].values
    over = truth.numbers(true.request.over or "")[truth.within(true.request.where)]
    error = sums.error_of_ratio(over, np.nan_to_num(exact))
    yield "ratios", Deviations.of(release.columns["ratio"].values, exact, error)


def _index_numbers(release: Release, true: Release, truth: Truth) -> Named:
    request, shown = release.request, as_asked(true, release.request)
    variable, code = request.index_class
    axis = request.by.index(variable)
    place, sums = release.dimensions[axis].codes.index(code), CellSums.of(request, truth)
    for name, column in true.columns.items():
        index = f"{name}_index"
        wanted, size = shown.columns[index].values, np.abs(column.values)
        relative = _error_of(name, column.values, sums) / np.where(size > 0, size, np.inf)
        both = np.abs(wanted) * np.hypot(relative, np.take(relative, [place], axis))
        # the class that is 100 is so in either answer
        own = np.arange(size.shape[axis]).reshape([-1 if at == axis else 1 for at in range(size.ndim)]) == place
        yield "index numbers", Deviations.of(release.columns[index].values, wanted, np.where(own, 0.0, both))


def _error_of(name: str, exact: Floats, sums: CellSums) -> Floats:
    if name == Measure.COUNT:
        return binomial(exact)
    return sums.error_of_sum(sums.amounts) if name == Measure.TOTAL else sums.error_of_mean()


def _standard_errors(release: Release, true: Release, truth: Truth) -> Named:
    for name, column in release.columns.items():
        if name.endswith("_se"):
            exact = true.columns[name].values
            yield "standard errors", Deviations.of(column.values, exact, exact)


def _coefficients(release: Any, true: Any, truth: Truth) -> Named:
    several = release.request.family.several
    for _, found in coefficients(release, true, truth):
        yield "coefficients of classes" if several else "coefficients by design", found
