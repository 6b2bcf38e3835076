"""True sums over the units of a question, and the counts that rules see of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide.answering.rules.table import JudgedTable
from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.answering.universe.census import UnitSets
from confide.arrays import Floats, Ints
from confide.model.design import Number
from confide.model.evidence import Moments
from confide.site.draws import fingerprint

__all__ = ["Sums"]


@dataclass(frozen=True)
class Sums:
    """True sums over the units of a question, and the counts and limits that rules see of them."""

    selection: Selection
    shield: Shield

    def counts(self, names: Sequence[str], *, complete: tuple[Number, ...] = ()) -> Ints:
        """The numbers of units by classes of some variables, margins included, as rules see them.

        With numbers that are to be `complete`, over the records that have them all, as a model of them does.
        """
        return self.shield.decision.units(self.selection.cube(names, complete=complete).sets)

    def table(self, names: Sequence[str], *, complete: tuple[Number, ...] = ()) -> JudgedTable:
        return JudgedTable(self.selection.dataset, tuple(names), self.counts(names, complete=complete))

    def published(self, moments: Moments) -> int:
        """The protected number of units."""
        sets = _sets(moments)
        publish, _ = self.shield.draws.counts(sets.records, sets.units, sets.key)
        return int(self.shield.counts.units(sets.units, publish)[0])

    def published_counts(self, *names: str, complete: tuple[Number, ...] = ()) -> Floats:
        """The protected counts by the classes of variables, as a table of them publishes them, without totals."""
        sets = self.selection.cube(names, complete=complete).sets
        publish, _ = self.shield.draws.counts(sets.records, sets.units, sets.key)
        return np.asarray(self.shield.counts.units(sets.units, publish)[(slice(-1),) * len(names)], np.float64)

    def judged(self, moments: Moments) -> int:
        """The number of units as rules see it."""
        return int(self.shield.decision.units(_sets(moments))[0])

    def leeway(self, model: str, moments: Moments) -> list[float]:
        """Factors about 1, at most a tenth off, the same for the same records and model."""
        [mark] = fingerprint(*(np.array([n]) for n in (moments.records, moments.units, moments.key)))
        [numbers] = self.shield.secret.digests(f"model {model}", [mark])
        return [float(0.9 + 0.2 * (n / 2.0**64)) for n in numbers]


def _sets(moments: Moments) -> UnitSets:
    return UnitSets(*(np.array([n], dtype=np.int64) for n in (moments.records, moments.units, moments.key)))
