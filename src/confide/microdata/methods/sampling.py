"""Sampling: some of the records are released instead of all."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.microdata.method import Method
from confide.microdata.records import Masked, Records
from confide.model.parameter import parameter

__all__ = ["Sampling"]


@dataclass(frozen=True)
class Sampling(Method):
    """Sampling (Domingo-Ferrer 2007): a simple random sample of the records, so that nobody knows who is in the file.

    Promise: of n records in a stratum (households, with `household`) the nearest whole number to share x n are drawn,
    one at least, each with the same chance; values do not change. Weights are multiplied by n / m, so that weighted
    counts stay. Values that identify by themselves, such as exact amounts, need another method besides. Missing values
    stay missing.

    >>> import pyarrow as pa
    >>> Sampling(share=0.5).protect(pa.table({"age": [20, 30, 40, 50]}), teaching_seed=1).frame["age"].to_pylist()
    [40, 50]
    """

    best_attack: ClassVar = "own-list"
    takes: ClassVar = frozenset()
    keeps: ClassVar = frozenset({"types", "missing"})
    draws: ClassVar = True
    weighs: ClassVar = True

    share: float = parameter(0.5, "Share of the records that are released.", above=0, high=1)

    def _mask(self, records: Records) -> Masked:
        n = len(records)
        m = max(1, round(self.share * n))
        rows = np.sort(records.rng().choice(n, m, replace=False))
        return Masked({}, {"drawn": m}, rows=rows, factor=np.full(n, n / m))
