"""Standard errors of coefficients by the design of the sample: scores by sampling unit, about the mean of their stratum.

Promise: an error tells no more than a table's does. Its variance carries noise of the size that errors of tables have, drawn for the
units of the model and the number of them in the classes of the coefficient: another name, or further terms, draw nothing new.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np
from scipy.special import ndtri

from confide.answering.regressions.fit import Fitted
from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.answering.tables.errors import SENSITIVE
from confide.answering.tables.sampling import SampleVariances, variances_of
from confide.arrays import Floats
from confide.errors import Mistake
from confide.model.evidence import Spread

__all__ = ["DesignErrors"]


@dataclass(frozen=True)
class DesignErrors:
    """What errors by the design of a selection of units are made of."""

    selection: Selection
    shield: Shield

    @cached_property
    def variances(self) -> SampleVariances:
        facts = self.selection.facts
        if not facts.sampling:
            raise Mistake(
                f"The records of {facts.dataset!r} were loaded without their sampling units.",
                suggestions=["The custodian may ingest the data again."],
            )
        return variances_of(facts.sampling)

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the whole sample; infinite where they would tell its number of units, each drawn by itself."""
        design, everyone = self.selection.dataset.sampling, np.ones(self.variances.clusters, bool)
        assert design is not None
        return self.variances.freedom(everyone) if design.psu or design.replicates else inf

    def found(self, spread: Spread) -> int:
        """The degrees of freedom of the sampling units that have a unit in the model."""
        assert spread.scores is not None
        return self.variances.freedom(np.abs(spread.scores).max(axis=1) > 0)

    def spread(self, fitted: Fitted, spread: Spread) -> Spread:
        """The same with the meat of the design (Binder 1983), such that errors have their noise."""
        assert spread.scores is not None
        meat = self.variances.covariance(spread.scores)
        noisy = fitted.moments.gram @ (self._factors(fitted, spread.scores, meat)[:, None] * fitted.inverse)
        return replace(spread, meat=noisy @ meat @ noisy.T)

    def _factors(self, fitted: Fitted, scores: Floats, meat: Floats) -> Floats:
        """What noise multiplies each error by: `SENSITIVE` times that of counts, times what a unit more makes of its variance.

        A unit of the column's classes is meant, with what those usually add to the coefficient, in the sampling unit that adds most.
        """
        added, moments = scores @ fitted.inverse, fitted.moments
        variance = np.diag(fitted.inverse @ meat @ fitted.inverse)
        usual = np.sqrt((added**2).sum(axis=0) / np.maximum(moments.support, 1))
        sensitivity = np.maximum(2 * np.abs(added).max(axis=0, initial=0.0) - usual, usual) * usual
        drawn = np.array([self._drawn(fitted, int(units)) for units in moments.support])
        moved = np.abs(variance + SENSITIVE * self.shield.counts.spread * sensitivity * drawn)
        return np.sqrt(np.where(variance > 0, moved / np.where(variance > 0, variance, 1.0), 1.0))

    def _drawn(self, fitted: Fitted, support: int) -> float:
        """A standard normal number, the same for the same units of the model and as many of them in the column's classes."""
        sizes = (fitted.moments.records, fitted.moments.units, fitted.moments.key)
        cell = [np.array([size], np.int64) for size in sizes]
        [[uniform]] = self.shield.draws.totals(f"\x1fdesign {support}", *cell, draws=1)
        return float(ndtri(np.clip(uniform, 1e-9, 1 - 1e-9)))
