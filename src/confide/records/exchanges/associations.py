"""How closely classes go with each other, and with numbers."""

import numpy as np

from confide.arrays import Floats, Ints
from confide.engines import Coded
from confide.model.catalog.dataset import Dataset
from confide.records.cells import parts_of
from confide.records.exposure import confidential_numbers
from confide.records.sums import add_counts, add_values

__all__ = ["cramers_v", "explained_shares"]


def cramers_v(counts: Ints) -> float:
    """Cramér's V of two classifications, by the table of both.

    >>> cramers_v(np.array([[5, 0, 0], [0, 5, 0]]))
    1.0
    """
    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(np.float64)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    chi = float(((table - expected) ** 2 / expected).sum() / table.sum())
    return float(np.sqrt(chi / max(1, min(table.shape) - 1)))


def explained_shares(coded: Coded, dataset: Dataset, names: list[str]) -> list[float]:
    """How much confidential numbers depend on each of some classifications: the largest share of the spread of a logarithm that
    lies between its classes."""
    numbers = [v.name for v in confidential_numbers(dataset)]
    found = np.zeros((len(numbers) + 1, len(names)))
    for place, number in enumerate(numbers):
        found[place] = _explained(coded, number, names)
    return [float(share) for share in found.max(axis=0)]


def _explained(coded: Coded, number: str, names: list[str]) -> Floats:
    """The share of the variance of the logarithm of what is above 0 that lies between classes, for each classification."""
    classes = [coded.classes(name) for name in names]
    sizes = [np.zeros(int(places.max(initial=0)) + 1, np.int64) for places in classes]
    sums, (count, total, squares) = [np.zeros(len(size)) for size in sizes], (0, 0.0, 0.0)
    for part in parts_of(coded.records.num_rows):
        values = coded.numbers(number, part)
        there = np.nan_to_num(values) > 0
        logs = np.log(values[there])
        count, total, squares = count + len(logs), total + float(logs.sum()), squares + float(np.square(logs).sum())
        for places, size, added in zip(classes, sizes, sums, strict=True):
            cell = places[part][there].astype(np.int64)
            add_counts(size, cell)
            add_values(added, cell, logs)
    mean = total / max(count, 1)
    variance = squares - count * mean**2
    between = [
        float((size * (added / np.maximum(size, 1) - mean) ** 2).sum()) for size, added in zip(sizes, sums, strict=True)
    ]
    return np.array(between) / variance if variance > 1e-12 * squares else np.zeros(len(names))
