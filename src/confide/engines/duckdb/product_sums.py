"""Adding up, while a file is taken in, the products of its numbers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.engines import StoreFacts
from confide.engines.duckdb.products import Basis, Products
from confide.engines.sums.batches import entering
from confide.model.design import Number
from confide.model.formula import Transform

__all__ = ["sum_products"]

Columns = Mapping[str, NDArray[Any]]


def sum_products(
    batches: Iterable[Columns], facts: StoreFacts, *, sizes: Mapping[str, int], variables: Sequence[str]
) -> Products:
    """The sums over all records, in their order. What is not defined in some record is left out of the basis."""
    basis, pairs = Basis(()), np.zeros((1, 1))
    names = list(facts.shown)
    starts = np.cumsum([0, *(sizes[name] for name in names)], dtype=np.int64)
    rows = np.zeros((int(starts[-1]), 1))
    for number, columns in enumerate(batches):
        if number == 0:
            basis = _basis(columns, facts, variables)
            width = len(basis.numbers) + 1
            pairs, rows = np.zeros((width, width)), np.zeros((len(rows), width))
        weight = columns["weight"] / 10.0**facts.weight_decimals if facts.weighted else np.ones(len(columns["unit"]))
        places = np.column_stack([columns[facts.classes[n]] + s for n, s in zip(names, starts, strict=False)])
        _add(_values(basis, columns, facts), weight, places, pairs, rows)
    pairs = pairs + np.tril(pairs, -1).T
    kept = np.flatnonzero(np.isfinite(np.diag(pairs)))
    by_class = {name: rows[starts[at] : starts[at + 1]][:, kept] for at, name in enumerate(names)}
    left = Basis(tuple(basis.numbers[at - 1] for at in kept[1:]))
    return Products(left, pairs[np.ix_(kept, kept)], by_class)


def _basis(first: Columns, facts: StoreFacts, variables: Sequence[str]) -> Basis:
    """Every transformation of some variables, about three digits of their means in a first batch of records."""
    found = []
    with np.errstate(all="ignore"):
        for variable in variables:
            for transform in Transform:
                mean = float(np.mean(entering(Number(variable, transform), first, facts)))
                if np.isfinite(mean):
                    found.append((variable, transform.value, float(f"{mean:.3g}")))
    return Basis(tuple(found))


def _values(basis: Basis, columns: Columns, facts: StoreFacts) -> Floats:
    """The basis, one column each, for records as stored; not finite where a number is not defined."""
    found = np.ones((len(columns["unit"]), len(basis.numbers) + 1))
    with np.errstate(all="ignore"):
        for at, (variable, transform, centre) in enumerate(basis.numbers, 1):
            found[:, at] = entering(Number(variable, Transform(transform)), columns, facts) - centre
    return found


@compiled
def _add(values: Floats, weights: Floats, places: Ints, pairs: Floats, rows: Floats) -> None:
    """Add records one after the other; the pairs get their lower triangle only."""
    width = values.shape[1]
    times = np.empty(width)
    for i in range(len(weights)):
        for m in range(width):
            times[m] = weights[i] * values[i, m]
        for m in range(width):
            value = values[i, m]
            for n in range(m + 1):
                pairs[m, n] += value * times[n]
        for c in range(places.shape[1]):
            own = rows[places[i, c]]
            for m in range(width):
                own[m] += times[m]
