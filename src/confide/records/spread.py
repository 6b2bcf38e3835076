"""How far sums over protected records are off, beside what the noise of each record alone would make of it.

Balance takes noise out of large groups, and exchanges move whole contributions: so the spread of a total is measured on the
site's own tables by one, two and three variables, and stated as a multiple of the root of the sum of squared noise.
"""

import itertools

import numpy as np

from confide.engines import Coded
from confide.model.catalog.dataset import Dataset, Role
from confide.records.exposure import UnitCells, confidential_numbers

__all__ = ["measure_spread"]

MOST_TABLES = 30
"""So many tables of each size are looked at, spread over all there are."""

FEWEST = 5
"""Cells with fewer units play no part: a single one would tell of its own draw."""


def measure_spread(true: Coded, protected: Coded, dataset: Dataset, noise: dict[str, float]) -> dict[str, list[float]]:
    """For each number that carries noise: the multiples for totals by one, two and three variables, then those for means."""
    shown = [v for v in dataset.variables.values() if v.classifies and v.role is not Role.CONFIDENTIAL]
    coarse = list(dict.fromkeys(dataset.levels(v.name)[0].name for v in shown))
    before, after = UnitCells(true, dataset), UnitCells(protected, dataset)
    found: dict[str, list[float]] = {v.name: [] for v in confidential_numbers(dataset) if noise.get(v.name)}
    amounts = {name: tuple(np.nan_to_num(c.numbers(name)) * c.weights for c in (true, protected)) for name in found}
    for size in (1, 2, 3):
        tables = list(itertools.combinations(coarse, size))
        sums = {name: np.zeros(3) for name in found}
        for by in tables[:: max(1, len(tables) // MOST_TABLES)]:
            old, new = before.of(by), after.of(by)
            cells = int(max(old.max(initial=0), new.max(initial=0))) + 1
            enough = np.bincount(new, minlength=cells) >= FEWEST
            weights = [np.bincount(cell, c.weights, cells) for cell, c in ((old, true), (new, protected))]
            for name, (was, now) in amounts.items():
                totals = [np.bincount(cell, part, cells) for cell, part in ((old, was), (new, now))]
                alone = noise[name] ** 2 * np.bincount(new, now**2, cells)
                use = enough & (alone > 0) & (weights[0] > 0)
                total = totals[1][use] - totals[0][use]
                mean = totals[1][use] - totals[0][use] * weights[1][use] / weights[0][use]
                sums[name] += (total**2 / alone[use]).sum(), (mean**2 / alone[use]).sum(), use.sum()
        for name, (of_totals, of_means, number) in sums.items():
            found[name] += [float(f"{np.sqrt(part / max(number, 1)):.2g}") for part in (of_totals, of_means)]
    return {name: [*parts[::2], *parts[1::2]] for name, parts in found.items()}
