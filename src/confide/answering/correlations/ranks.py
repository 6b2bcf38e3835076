"""Rank correlations (Spearman), read off the protected tables of each two variables by their classes.

Promise: each comes from the table of its two variables that anybody may ask for, with the rules of that table, so it tells nothing
that the table does not; nobody's rank is known. Numbers are ranked by their declared bins, and all in a class have its middle rank.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from confide.answering.analysis import Admitted
from confide.answering.regressions.fit import Unfit
from confide.answering.regressions.sums import Sums
from confide.answering.rules.table import JudgedTable
from confide.answering.tables.protect import gather, protect
from confide.answering.tables.quantiles import Distributions, QuantileBins
from confide.arrays import Bools, Floats
from confide.model.admission.cross import present_places
from confide.model.request import CorrelationRequest, Measure, TableRequest

__all__ = ["JudgedRanks", "RankCorrelations", "RankedVariable", "rank_correlation"]


@dataclass(frozen=True)
class RankedVariable:
    """The classes of a variable in a table: `varying` are those in which numbers carry noise, and `kept` what it leaves of ranks.

    That is the correlation of the ranks of these numbers with those that they had without noise.
    """

    varying: Bools
    kept: float = 1.0

    @classmethod
    def of(cls, bins: QuantileBins, counts: Floats, spread: float) -> "RankedVariable":
        """A number by its bins, whose noise has this spread in its logarithm. Zeros carry none, so positive numbers vary.

        With the share v of noise in the variance of logarithms, that of normal ones is 6/pi asin(sqrt(1 - v) / 2) (Pearson 1907).
        """
        unknown = np.full(counts.shape, np.nan)
        widening = Distributions(bins, counts, np.zeros(counts.shape), unknown, counts.sum(), spread).widening
        return cls(bins.high > 0, float(6 / np.pi * np.arcsin(np.sqrt(1 - widening) / 2)))

    def parts(self, shares: Floats) -> tuple[Floats, Floats]:
        """The middle rank of each class, as a share of all and from the middle of all, in two parts: what noise does not change,
        and how far ranks lie from the mean of those that vary."""
        ranks = np.cumsum(shares) - shares / 2 - 0.5
        among = np.where(self.varying, shares, 0.0)
        mean = among @ ranks / among.sum() if among.sum() > 0 else 0.0
        return np.where(self.varying, mean, ranks), np.where(self.varying, ranks - mean, 0.0)


def rank_correlation(table: Floats, variables: Sequence[RankedVariable]) -> float:
    """Spearman's correlation of two variables by their table: all in a class have the middle of its ranks.

    Noise moves the ranks of numbers towards their mean; what it leaves of them is known, and divided by. A table in
    which a variable does not vary raises `Unfit`.

    >>> plain = RankedVariable(np.zeros(2, bool))
    >>> rank_correlation(np.array([[2.0, 0.0], [0.0, 2.0]]), [plain, plain])
    1.0
    """
    whole = table.sum()
    if not whole > 0:
        raise Unfit
    shares = table / whole
    margins = [shares.sum(axis=axis) for axis in (1, 0)]
    if any((margin > 0).sum() < 2 for margin in margins):
        raise Unfit
    ranks, spreads = [], []
    for variable, margin in zip(variables, margins, strict=True):
        still, moved = variable.parts(margin)
        ranks.append(still + moved / variable.kept)
        spreads.append(float(margin @ (still + moved) ** 2))
    covariance = ranks[0] @ shares @ ranks[1]
    return float(np.clip(covariance / np.sqrt(spreads[0] * spreads[1]), -1.0, 1.0))


@dataclass(frozen=True)
class RankCorrelations:
    """The correlations of each two variables, and the protected numbers of units that have both."""

    values: Floats
    units: Floats


@dataclass(frozen=True)
class JudgedRanks:
    """What rules see of rank correlations, and what their release is made of."""

    question: Admitted[CorrelationRequest]
    sums: Sums

    implied = ""
    few_columns = "Some variable has no two classes with enough units."
    few_units = "There are too few units for so many variables."
    outcomes = None
    tells_withheld_totals = False
    rests_on_few = False
    """Ranks are bounded, and the tables are judged themselves."""

    @property
    def correlations(self) -> Floats:
        """What is released once rounded."""
        return self._fitted.values

    @property
    def published(self) -> Floats:
        """The protected numbers of units that have both variables."""
        return self._fitted.units

    @property
    def labels(self) -> list[str]:
        return list(self.question.request.variables)

    @property
    def implied_tables(self) -> Iterator[JudgedTable]:
        yield from (self.sums.table(pair) for pair in combinations(self._classes, 2))

    @property
    def varies(self) -> bool:
        least = max(self.sums.shield.policy.models.dummy, 1)
        return all((self.sums.table([name]).cells >= least).sum() > 1 for name in self._classes)

    @property
    def columns(self) -> int:
        return len(self._classes) + 1

    @property
    def units(self) -> int:
        return min(table.present for table in self.implied_tables)

    @cached_property
    def fitted(self) -> RankCorrelations | None:
        """None if something does not vary, as published."""
        size = len(self._classes)
        values, units = np.eye(size), np.zeros((size, size))
        for (a, one), (b, other) in combinations(enumerate(self._classes), 2):
            counts, weights = self._published(one, other)
            try:
                ranked = [self._ranked(one, weights.sum(axis=1)), self._ranked(other, weights.sum(axis=0))]
                values[a, b] = values[b, a] = rank_correlation(weights, ranked)
            except Unfit:
                return None
            units[a, b] = units[b, a] = counts.sum()
        return RankCorrelations(values, units)

    @property
    def _fitted(self) -> RankCorrelations:
        assert self.fitted is not None
        return self.fitted

    @property
    def _classes(self) -> tuple[str, ...]:
        return self.question.request.classes(self.question.dataset)

    def _published(self, one: str, other: str) -> tuple[Floats, Floats]:
        """The counts of a table of two variables as it is released, and its weighted counts; missing values left out."""
        request, dataset, selection = self.question.request, self.question.dataset, self.sums.selection
        weighted = (Measure.WEIGHTED_COUNT,) if dataset.weight else ()
        asked = TableRequest(
            request.dataset, rows=(one, other), where=request.where, measure=(Measure.COUNT, *weighted)
        )
        columns, _ = protect(asked, dataset, gather(asked, selection, self.sums.shield), self.sums.shield)
        present = np.ix_(*(present_places(dataset.variables[name]) for name in (one, other)))
        return columns["count"].values[present], columns[str(asked.measure[-1])].values[present]

    def _ranked(self, name: str, counts: Floats) -> RankedVariable:
        """A number by its bins, with what is known of its noise; other classes as they are."""
        dataset = self.question.dataset
        variable = dataset.variables[name]
        noise = self.sums.selection.facts.noise.get(f"log({variable.column})", 0.0)
        if not noise or not variable.binned:
            return RankedVariable(np.zeros(len(counts), bool))
        number = replace(dataset.variables[variable.column], cutpoints=variable.cutpoints)
        return RankedVariable.of(QuantileBins.of(number), counts, noise)
