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
from confide.model.evidence import Spread

__all__ = ["ColumnUnits", "DesignErrors", "joined"]


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

    def spread(self, fitted: Fitted, spread: Spread, of: UnitSets) -> Spread:
        """The same with the meat of the design (Binder 1983), such that errors have their noise, drawn for the units that each
        coefficient is `of`."""
        assert spread.scores is not None
        meat = self.variances.covariance(spread.scores)
        factors = self._factors(fitted, spread.scores, meat, of)
        noisy = fitted.moments.gram @ (factors[:, None] * fitted.inverse)
        return replace(spread, meat=noisy @ meat @ noisy.T)

    def _factors(self, fitted: Fitted, scores: Floats, meat: Floats, of: UnitSets) -> Floats:
        """What noise multiplies each error by: `SENSITIVE` times that of counts, times what a unit more makes of its variance.

        A unit of the coefficient's classes is meant, with what those usually add to it, in the sampling unit that adds most.
        """
        added = scores @ fitted.inverse
        variance = np.diag(fitted.inverse @ meat @ fitted.inverse)
        usual = np.sqrt((added**2).sum(axis=0) / np.maximum(of.units, 1))
        sensitivity = np.maximum(2 * np.abs(added).max(axis=0, initial=0.0) - usual, usual) * usual
        moved = np.abs(variance + SENSITIVE * self.shield.counts.spread * sensitivity * self._drawn(of))
        return np.sqrt(np.where(variance > 0, moved / np.where(variance > 0, variance, 1.0), 1.0))

    def _drawn(self, sets: UnitSets) -> Floats:
        """Standard normal numbers, the same for the same units."""
        uniform = self.shield.draws.totals("\x1fdesign model", sets.records, sets.units, sets.key, draws=1)[:, 0]
        return np.asarray(ndtri(np.clip(uniform, 1e-9, 1 - 1e-9)))


@dataclass(frozen=True)
class ColumnUnits:
    """The units that each column of a design is of: those of its classes, whoever else is in the model.

    Were noise drawn for all units of the model, the error of one class could be had without it: as the mean over universes that
    differ in other classes. The intercept is of the reference of the first classes; numbers are of everybody.
    """

    design: Design
    selection: Selection
    response: tuple[str, ...] = ()
    """The variables of the response, where only units with some outcomes are meant."""

    def having(self, outcomes: Sequence[tuple[int, ...]] = ((),)) -> UnitSets:
        """Of each column those with one of some outcomes: cells of the table by the variables of the response."""
        first = next((block for block in self.design.blocks if block.alone), None)
        sets = [self._units(block, outcomes) for block in self.design.blocks]
        sets[0] = sets[0] if first is None else self._reference(first, outcomes)
        return joined(sets)

    def _units(self, block: Block, outcomes: Sequence[tuple[int, ...]]) -> UnitSets:
        cells = product(*(placed(levels) for _, levels in block.classes))
        return joined([self._together(block, [cell], outcomes) for cell in cells])

    def _reference(self, block: Block, outcomes: Sequence[tuple[int, ...]]) -> UnitSets:
        """The units of the classes of a variable that have no column."""
        [(_, levels)] = block.classes
        return self._together(block, [(place,) for place, level in enumerate(levels) if level < 0], outcomes)

    def _together(
        self, block: Block, cells: Sequence[tuple[int, ...]], outcomes: Sequence[tuple[int, ...]]
    ) -> UnitSets:
        """The units of all these cells as one set."""
        sets = self._table(tuple(self.design.classes[at] for at, _ in block.classes))
        wanted = [(*cell, *outcome) for cell in cells for outcome in outcomes]
        records, units, key = (
            np.array([each[at] for at in wanted], np.int64) for each in (sets.records, sets.units, sets.key)
        )
        return UnitSets(*(np.array([found]) for found in (records.sum(), units.sum(), np.bitwise_xor.reduce(key))))

    def _table(self, names: tuple[str, ...]) -> UnitSets:
        if names not in self._tables:
            explained = self.design.response
            complete = (*self.design.numbers, *([explained] if isinstance(explained, Number) else []))
            self._tables[names] = self.selection.cube([*names, *self.response], complete=complete).sets
        return self._tables[names]

    @cached_property
    def _tables(self) -> dict[tuple[str, ...], UnitSets]:
        """Counts by the names of classes, each asked for once."""
        return {}


def joined(sets: Sequence[UnitSets]) -> UnitSets:
    """One after the other."""
    return UnitSets(*(np.concatenate([getattr(each, name) for each in sets]) for name in ("records", "units", "key")))
