"""Resampling: values are replaced by averages of equally ranked values of samples drawn from the column."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.microdata.method import Method
from confide.microdata.records import Masked, Records
from confide.model.parameter import parameter

__all__ = ["Resampling"]


@dataclass(frozen=True)
class Resampling(Method):
    """Resampling (Heer 1993): values are replaced by an average over samples of the column, so that none stays exact.

    Promise: the j-th smallest known value of a column becomes the mean of the j-th smallest values of `samples` samples,
    each as large as the column and drawn from it with replacement. So the order of records stays, means stay on average,
    and no value lies outside the column's range. Equal values are ranked at random. Missing values stay missing. Each
    column is masked by itself. Reference: Domingo-Ferrer and Mateo-Sanz (1999).

    >>> import pyarrow as pa
    >>> Resampling(samples=2).protect(pa.table({"x": [1.0, 2.0, 4.0, 9.0]}), columns="x", teaching_seed=1).frame["x"].to_pylist()
    [2.0, 3.0, 5.5, 6.5]
    """

    best_attack: ClassVar = "kept-order"
    draws: ClassVar = True
    mixes: ClassVar = True

    samples: int = parameter(3, "How many samples are averaged; the more, the less changes.", low=1)

    def _mask(self, records: Records) -> Masked:
        before = records.numbers()
        after, changed = {}, 0
        for j, name in enumerate(records.columns):
            after[name] = self._resampled(before[:, j], records.rng(name))
            changed += int(np.sum((after[name] != before[:, j]) & ~np.isnan(before[:, j])))
            records.progress((j + 1) / len(records.columns))
        return Masked(after, {"changed": changed})

    def _resampled(self, values: Floats, rng: np.random.Generator) -> Floats:
        known = rng.permutation(np.flatnonzero(~np.isnan(values)))
        order = known[np.argsort(values[known], kind="stable")]
        total, size = np.zeros(len(order)), len(order)
        for _ in range(self.samples if size else 0):
            # how often each value is drawn says what the sorted sample is
            total += np.repeat(values[order], np.bincount(rng.integers(0, size, size), minlength=size))
        masked = values.copy()
        masked[order] = total / self.samples
        return masked
