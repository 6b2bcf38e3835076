"""Standard errors of quantiles, by Woodruff's intervals.

Promise: they are read off the same protected counts and means as the quantiles, with the effect of the design on the share below,
which carries noise as that on any share does (`confide.answering.tables.errors`): of a simple sample they tell nothing else.

The share of a cell below a quantile has the variance p (1 - p) / n of a simple sample times the effect of the design, found at
the cutpoints on either side. The quantiles at the ends of its interval are those of the interval of the quantile (Woodruff 1952).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from confide.answering.tables.errors import TableErrors
from confide.answering.tables.quantiles import Distributions
from confide.arrays import Floats, Ints
from confide.model.release import Column
from confide.model.request import Measure

__all__ = ["QuantileErrors"]


@dataclass(frozen=True, eq=False)
class QuantileErrors:
    """How the number is distributed in each cell, the errors of the cells, and what sampling units add to each bin of them.

    Rows of `binned` are cells by bins; `there` are the places of bins that hold numbers, among `width` of them.
    """

    found: Distributions
    errors: TableErrors
    binned: csr_array
    there: Sequence[int]
    width: int

    def of(self, measure: Measure, column: Column) -> list[Column]:
        """The error of a quantile, and its reliability."""
        share = measure.quantile or 0.0
        return self.errors.of_quantile(column, self.found.standard_error(share, self._effect(share)))

    def _effect(self, share: float) -> Floats:
        """That on the shares below the cutpoints on either side, or below the one of them that is a share; of few, that of weights."""
        effects = np.array(
            [
                self.errors.effect_below(self._up_to(place), f" below {share} {side}")
                for side, place in enumerate(self.found.around(share))
            ]
        )
        told = ~np.isnan(effects)
        mean = np.where(told, effects, 0.0).sum(axis=0) / np.maximum(told.sum(axis=0), 1)
        return np.where(told.any(axis=0), mean, self.errors.variances.kish)

    def _up_to(self, last: Ints) -> csr_array:
        """What sampling units add to the bins of each cell up to one."""
        cell, at = np.nonzero(np.arange(len(self.there)) <= last.reshape(-1, 1))
        places = (cell, cell * self.width + np.array(self.there)[at])
        chosen = csr_array((np.ones(len(cell)), places), shape=(last.size, last.size * self.width))
        return csr_array(chosen @ self.binned)
