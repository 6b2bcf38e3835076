"""How far answers are from the truth, in units of the error that the sample has anyway.

A cell's own sampling error is that of a simple random sample of the records of the universe, which is what an analyst would
assume: counts and shares are binomial; a total is a sum over all records of the universe, of which those outside the cell
contribute 0; a mean has its standard deviation over the root of the effective number of records, (Σw)²/Σw²; a quantile q has
half the distance between those that lie the error of a share, √(q(1 - q)) over the same root, below and above. Records of one
unit are taken as independent. A coefficient has its released (robust) standard error, a correlation r has (1 - r²)/√n.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.truth.truth import Truth
from confide.model.admission.derived import with_definitions
from confide.model.catalog.dataset import Variable
from confide.model.catalog.derivation import table_of
from confide.model.model_release import Grid, ModelRelease
from confide.model.release import Release
from confide.model.request import Measure, TableRequest

__all__ = ["CellSums", "Deviations", "binomial", "coefficients", "deviations"]


@dataclass(frozen=True, eq=False)
class Deviations:
    """Errors of the numbers of one answer: in units of the sampling error, and as shares of the truth."""

    ratio: Floats
    relative: Floats

    @classmethod
    def of(cls, released: Floats, true: Floats, error: Floats) -> "Deviations":
        """Of the numbers that are released and have a sampling error."""
        kept = np.isfinite(released) & np.isfinite(true) & (np.nan_to_num(error) > 0)
        off = np.abs(released[kept] - true[kept])
        size = np.abs(true[kept])
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(off / error[kept], np.where(size > 0, off / size, np.nan))


def deviations(release: Any, true: Any, truth: Truth) -> Iterator[tuple[str, Deviations]]:
    """The errors of an answer to a question of a usual kind by what its numbers are; the true answer is to the same question."""
    measure: Mapping[str, Callable[..., Iterator[tuple[str, Deviations]]]] = {
        "table": _table,
        "regression": coefficients,
        "correlation": _correlations,
    }
    return measure[release.request.ask](release, true, truth)


def _table(release: Release, true: Release, truth: Truth) -> Iterator[tuple[str, Deviations]]:
    sums = CellSums.of(true.request, truth)
    for name, column in release.columns.items():
        exact = true.columns[name].values
        if name == "count":
            yield "counts", Deviations.of(column.values, exact, binomial(exact))
            yield "shares", _shares(column.values, exact)
        elif name == "weighted_count":
            yield "weighted counts", Deviations.of(column.values, exact, sums.error_of_sum(sums.weights))
        elif name == "total":
            yield "totals", Deviations.of(column.values, exact, sums.error_of_sum(sums.amounts))
        elif name == "sd":
            yield "deviations", Deviations.of(column.values, exact, sums.error_of_deviation())
        elif name == "mean":
            yield "means", Deviations.of(column.values, exact, sums.error_of_mean())
        elif name in tuple(Measure) and (share := Measure(name).quantile):
            yield "quantiles", Deviations.of(column.values, *sums.quantiles(share))


def binomial(counts: Floats) -> Floats:
    """Standard errors of counts among all units of the universe, of whom the last cell tells; none where nothing varies."""
    whole = counts[(-1,) * counts.ndim]
    return np.asarray(np.sqrt(np.maximum(counts * (1 - counts / max(whole, 1.0)), 0.0)))


def _shares(released: Floats, true: Floats) -> Deviations:
    """Of the share that each class of the last variable has among all its classes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares, exact = (counts[..., :-1] / counts[..., -1:] for counts in (released, true))
        return Deviations.of(shares, exact, np.sqrt(exact * (1 - exact) / true[..., -1:]))


def _places(variable: Variable, truth: Truth) -> Ints:
    """The place of each record's class, also of an asker's own."""
    if variable.made is None:
        return truth.places(variable.name)
    return np.asarray(table_of(variable.made)[tuple(truth.places(source) for source in variable.made.sources)])


@dataclass(frozen=True, eq=False)
class CellSums:
    """The true records of a table's universe: the cell of each, its weight, and its number if one is asked for."""

    cell: tuple[Any, ...]
    shape: tuple[int, ...]
    weights: Floats
    values: Floats

    @classmethod
    def of(cls, request: TableRequest, truth: Truth) -> "CellSums":
        inside: Bools = truth.within(request.where)
        dataset = with_definitions(truth.dataset, request.define)
        cell = tuple(_places(dataset.variable(name), truth)[inside] for name in request.by)
        shape = tuple(len(dataset.variable(name).codes or ()) for name in request.by)
        values = truth.numbers(request.of)[inside] if request.of else np.ones(int(inside.sum()))
        return cls(cell, shape, truth.weights[inside], values)

    @property
    def amounts(self) -> Floats:
        return np.nan_to_num(self.values) * self.weights

    def add(self, contributions: Floats) -> Floats:
        """Sums by cell, with all margins."""
        if not len(contributions):
            return np.zeros(tuple(size + 1 for size in self.shape))
        flat = np.ravel_multi_index(self.cell, self.shape)
        sums = np.bincount(flat, contributions, minlength=int(np.prod(self.shape))).reshape(self.shape)
        for axis in range(sums.ndim):
            sums = np.concatenate([sums, sums.sum(axis=axis, keepdims=True)], axis=axis)
        return np.asarray(sums)

    def error_of_sum(self, amounts: Floats) -> Floats:
        return np.sqrt(np.maximum(self.add(amounts**2) - self.add(amounts) ** 2 / max(len(amounts), 1), 0.0))

    def error_of_ratio(self, to: Floats, ratios: Floats) -> Floats:
        """Of a total over that of another number `to`: as of the sum of what is left of the one after the ratio times the other."""
        amounts, others = self.amounts, np.nan_to_num(to) * self.weights
        squares = self.add(amounts**2) - 2 * ratios * self.add(amounts * others) + ratios**2 * self.add(others**2)
        bottom = np.abs(self.add(others))
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)) / np.where(bottom > 0, bottom, np.inf))

    def error_of_deviation(self) -> Floats:
        """Of a standard deviation: half the spread of squared distances to the mean, over it (delta method)."""
        there = np.isfinite(self.values)
        weights, values = np.where(there, self.weights, 0.0), np.nan_to_num(self.values)
        values = values - (weights @ values) / max(weights.sum(), 1e-300)
        total = self.add(weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second, third, fourth = (self.add(weights * values**power) / total for power in (1, 2, 3, 4))
            variance = second - first**2
            central = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
            effective = total**2 / self.add(weights**2)
            error = np.sqrt(np.maximum(central - variance**2, 0.0) / effective) / (2 * np.sqrt(variance))
        return np.asarray(np.where(np.isfinite(error), error, 0.0))

    def error_of_mean(self) -> Floats:
        there = np.isfinite(self.values)
        weights, values = np.where(there, self.weights, 0.0), np.nan_to_num(self.values)
        # About the overall mean, so that squares of large numbers do not lose their last digits.
        values = values - (weights @ values) / max(weights.sum(), 1e-300)
        total, number = self.add(weights), self.add(there.astype(np.float64))
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = self.add(weights * values) / total
            spread = self.add(weights * values**2) / total - mean**2
            effective = total**2 / self.add(weights**2)
            error = np.sqrt(np.maximum(spread, 0.0) * number / (number - 1) / effective)
        # What is left of a spread of nothing after subtraction is rounding, and no sampling error.
        return np.where((number > 1) & (spread > 1e-12 * np.nan_to_num(spread[(-1,) * spread.ndim])), error, 0.0)

    def quantiles(self, share: float) -> tuple[Floats, Floats]:
        """The true quantiles of the number and their sampling errors, with all margins."""
        there = np.isfinite(self.values)
        found = np.full((2, *(size + 1 for size in self.shape)), np.nan)
        for kept in itertools.product((True, False), repeat=len(self.shape)):
            sizes = [size if keep else 1 for size, keep in zip(self.shape, kept, strict=True)]
            cell = [at[there] if keep else np.zeros(there.sum(), int) for at, keep in zip(self.cell, kept, strict=True)]
            flat = np.ravel_multi_index(cell, sizes)
            place = tuple(slice(None, -1) if keep else slice(-1, None) for keep in kept)
            groups = _RankedNumbers.of(flat, self.values[there], self.weights[there], int(np.prod(sizes)))
            found[(slice(None), *place)] = np.reshape(groups.quantile_and_error(share), (2, *sizes))
        return found[0], found[1]


@dataclass(frozen=True, eq=False)
class _RankedNumbers:
    """Numbers in order within each of several groups, the weights of all before the end of each, and where groups end."""

    values: Floats
    below: Floats
    ends: Ints
    effective: Floats

    @classmethod
    def of(cls, group: Ints, values: Floats, weights: Floats, size: int) -> "_RankedNumbers":
        order = np.lexsort((values, group))
        whole, square = (np.bincount(group, w, minlength=size) for w in (weights, weights**2))
        effective = whole**2 / np.where(square > 0, square, 1.0)
        return cls(values[order], np.cumsum(weights[order]), np.cumsum(np.bincount(group, minlength=size)), effective)

    def quantile_and_error(self, share: float) -> tuple[Floats, Floats]:
        spread = np.sqrt(share * (1 - share) / np.maximum(self.effective, 1.0))
        low, here, high = (self._at(np.clip(share + sign * spread, 0.0, 1.0)) for sign in (-1, 0, 1))
        return here, (high - low) / 2

    def _at(self, shares: Floats) -> Floats:
        """The number that this share of its group lies below; NaN for an empty group."""
        starts = np.concatenate([[0], self.ends[:-1]])
        padded = np.concatenate([[0.0], self.below])
        wanted = padded[starts] + shares * (padded[self.ends] - padded[starts])
        place = np.clip(np.searchsorted(self.below, wanted), starts, np.maximum(self.ends - 1, starts))
        filled = self.ends > starts
        return np.where(filled, np.append(self.values, np.nan)[np.where(filled, place, -1)], np.nan)


def coefficients(release: ModelRelease[Any], true: ModelRelease[Any], truth: Truth) -> Iterator[tuple[str, Deviations]]:
    """Of all terms but the intercept whose variables have the same classes in both, and so the same reference; of a response of
    several classes each that is in both."""
    found, exact = (_by_response(one.grids["coefficients"]) for one in (release, true))
    both = [triple for level in found if level in exact for triple in _compared(found[level], exact[level])]
    values = np.array(both, np.float64).reshape(-1, 3)
    yield "coefficients", Deviations.of(values[:, 0], values[:, 1], values[:, 2])


Terms = dict[str, tuple[float, float]]


def _compared(found: Terms, exact: Terms) -> Iterator[tuple[float, float, float]]:
    classes, others = (_classes(terms) for terms in (found, exact))
    for term in found:
        if term in exact and term != "(Intercept)" and all(classes[v] == others[v] for v in _variables(term)):
            yield found[term][0], *exact[term]


def _by_response(grid: Grid) -> dict[str, Terms]:
    """Estimate and standard error of each term (NaN where there is none), for each class of a response of several."""
    places = [grid.columns.index(name) for name in ("term", "estimate", "standard_error")]
    found: dict[str, Terms] = {}
    for row in grid.rows:
        term, estimate, error = (row[place] for place in places)
        level = str(row[0]) if places[0] else ""
        found.setdefault(level, {})[str(term)] = _number(estimate), _number(error)
    return found


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)


def _classes(terms: Mapping[str, Any]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for term in terms:
        for factor, variable in zip(term.split(":"), _variables(term), strict=True):
            found.setdefault(variable, set()).add(factor)
    return found


def _variables(term: str) -> list[str]:
    return [factor.partition("=")[0] for factor in term.split(":")]


def _correlations(
    release: ModelRelease[Any], true: ModelRelease[Any], truth: Truth
) -> Iterator[tuple[str, Deviations]]:
    """Of each pair once; classes of one variable have nothing to do with each other that a sample would tell."""
    found, exact = (_pairs(one.grids["correlations"]) for one in (release, true))
    number = max(int(truth.within(release.request.where).sum()), 2)
    values = np.array([(found[pair], exact[pair]) for pair in found if pair in exact], np.float64).reshape(-1, 2)
    error = (1 - values[:, 1] ** 2) / np.sqrt(number)
    yield "correlations", Deviations.of(values[:, 0], values[:, 1], error)


def _pairs(grid: Grid) -> dict[tuple[str, str], float]:
    names = [str(row[0]) for row in grid.rows]
    return {
        (one, other): _number(row[grid.columns.index(other)])
        for one, row in zip(names, grid.rows, strict=True)
        for other in names
        if one < other and one.partition("=")[0] != other.partition("=")[0]
    }
