"""Standard errors of coefficients by the design of the sample: scores by sampling unit, about the mean of their stratum.

Promise: an error tells no more than a table's does. Its variance carries noise of the size that errors of tables have, drawn for the
units of the classes that the coefficient is of: another name, further terms, or others in the universe draw nothing new.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import inf

import numpy as np
from scipy.special import ndtri

from confide.answering.regressions.class_counts import placed
from confide.answering.regressions.fit import Fitted
from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.answering.tables.errors import SENSITIVE
from confide.answering.tables.sampling import SampleVariances, variances_of
from confide.answering.universe.census import UnitSets
from confide.arrays import Floats
from confide.errors import Mistake
from confide.model.design import Block, Design, Number
from confide.model.evidence import Moments, Spread

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

    def spread(self, model: Design, fitted: Fitted, spread: Spread) -> Spread:
        """The same with the meat of the design (Binder 1983), such that errors have their noise."""
        assert spread.scores is not None
        meat = self.variances.covariance(spread.scores)
        factors = self._factors(model, fitted, spread.scores, meat)
        noisy = fitted.moments.gram @ (factors[:, None] * fitted.inverse)
        return replace(spread, meat=noisy @ meat @ noisy.T)

    def _factors(self, model: Design, fitted: Fitted, scores: Floats, meat: Floats) -> Floats:
        """What noise multiplies each error by: `SENSITIVE` times that of counts, times what a unit more makes of its variance.

        A unit of the column's classes is meant, with what those usually add to the coefficient, in the sampling unit that adds most.
        """
        added, sets = scores @ fitted.inverse, self._sets(model, fitted.moments)
        variance = np.diag(fitted.inverse @ meat @ fitted.inverse)
        usual = np.sqrt((added**2).sum(axis=0) / np.maximum(sets.units, 1))
        sensitivity = np.maximum(2 * np.abs(added).max(axis=0, initial=0.0) - usual, usual) * usual
        moved = np.abs(variance + SENSITIVE * self.shield.counts.spread * sensitivity * self._drawn(sets))
        return np.sqrt(np.where(variance > 0, moved / np.where(variance > 0, variance, 1.0), 1.0))

    def _drawn(self, sets: UnitSets) -> Floats:
        """Standard normal numbers, the same for the same units."""
        uniform = self.shield.draws.totals("\x1fdesign model", sets.records, sets.units, sets.key, draws=1)[:, 0]
        return np.asarray(ndtri(np.clip(uniform, 1e-9, 1 - 1e-9)))

    def _sets(self, model: Design, moments: Moments) -> UnitSets:
        """The units that each column is of: those of its classes, whoever else is in the model.

        Were noise drawn for all units of the model, the error of one class could be had without it: as the mean over universes that
        differ in other classes. The intercept is of the reference of the first classes; numbers are of everybody.
        """
        whole = UnitSets(*(np.array([size], np.int64) for size in (moments.records, moments.units, moments.key)))
        first = next((block for block in model.blocks if block.alone), None)
        sets = [self._units(model, block) if block.classes else _times(whole, block.width) for block in model.blocks]
        sets[0] = sets[0] if first is None else self._reference(model, first)
        return UnitSets(*(np.concatenate([getattr(each, name) for each in sets]) for name in vars(whole)))

    def _units(self, model: Design, block: Block) -> UnitSets:
        """The units of each column of classes."""
        cells = list(product(*(placed(levels) for _, levels in block.classes)))
        return self._cells(model, block, cells)

    def _reference(self, model: Design, block: Block) -> UnitSets:
        """The units of the classes of a variable that have no column, together."""
        [(_, levels)] = block.classes
        found = self._cells(model, block, [(place,) for place, level in enumerate(levels) if level < 0])
        key = np.bitwise_xor.reduce(found.key, keepdims=True)
        return UnitSets(found.records.sum(keepdims=True), found.units.sum(keepdims=True), key)

    def _cells(self, model: Design, block: Block, cells: Sequence[tuple[int, ...]]) -> UnitSets:
        complete = (*model.numbers, *([model.response] if isinstance(model.response, Number) else []))
        sets = self.selection.cube([model.classes[at] for at, _ in block.classes], complete=complete).sets
        at = tuple(np.array(cells, np.int64).reshape(-1, len(block.classes)).T)
        return UnitSets(*(getattr(sets, name)[at] for name in vars(sets)))


def _times(sets: UnitSets, number: int) -> UnitSets:
    return UnitSets(*(np.repeat(getattr(sets, name), number) for name in vars(sets)))
