"""The risk of each record of a sample survey, from its weight: how many people in the population share its keys?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.arrays import Floats, Ints
from confide.errors import Mistake
from confide.measures.records import FileRecords, weights_of
from confide.measures.risk.classes import Blank, class_of, frequencies, keyed

__all__ = ["HouseholdRisk", "IndividualRisk", "household_risk", "individual_risk"]

FEW = 40
"""From so many records on, the series converges in a few terms whatever the weights."""

TERMS = 120
"""Terms of the series. The slowest, one record at p = 1/2, falls as 2^-j / (j + 1) and reaches the last bit after 50."""


@dataclass(frozen=True)
class IndividualRisk:
    """The probability that each record is re-identified by an intruder who knows its keys."""

    risk: Floats

    @property
    def expected(self) -> float:
        """How many records an intruder is expected to re-identify."""
        return float(self.risk.sum())

    @property
    def percent(self) -> float:
        """The same, as a percentage of the records."""
        return 100 * float(self.risk.mean())

    def above(self, risk: float) -> float:
        """The percentage of records with more than this risk.

        >>> IndividualRisk(np.array([0.1, 0.3])).above(0.2)
        50.0
        """
        return 100 * float(np.mean(self.risk > risk))


def individual_risk(
    frame: Any, *, keys: str | Sequence[str], weight: str | None = None, blank: Blank = "category"
) -> IndividualRisk:
    """Individual risk (Benedetti and Franconi 1998): for each record, the expectation of one over the people with its keys.

    With f records in the sample whose weights sum to F, that number is f plus a negative binomial variable with success
    probability p = f / F, and the risk is the integral of x^(f-1) / (1 + a x) from 0 to 1 with a = (1 - p) / p, found
    without cancellation for any f and p. Without weights the file is the population, and the risk is 1 / f.
    Reference: Franconi and Polettini (2004).

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": ["f", "m", "m"], "w": [215.0, 180.0, 180.0]})
    >>> individual_risk(people, keys="sex", weight="w").risk.round(4).tolist()
    [0.0251, 0.0054, 0.0054]
    """
    codes, weights = keyed(frame, keys), weights_of(frame, weight)
    count = frequencies(codes, blank=blank)
    if weights is None:
        return IndividualRisk(1 / count)
    return IndividualRisk(posterior_risk(count, frequencies(codes, weights, blank=blank)))


def posterior_risk(count: Floats, people: Floats) -> Floats:
    """The expectation of 1 / F for f records that stand for so many people; fewer people than records count as as many.

    >>> posterior_risk(np.array([1.0, 3.0]), np.array([1.0, 3.0])).round(4).tolist()
    [1.0, 0.3333]
    """
    p = np.minimum(1.0, count / people)
    pairs, place = np.unique(np.stack([count, p]), axis=1, return_inverse=True)
    f, p = pairs
    recur = (f < FEW) & (p < 0.5)
    risk = np.empty(len(f))
    risk[~recur] = _series(f[~recur], p[~recur])
    risk[recur] = _recurrence(f[recur].astype(np.int64), p[recur])
    return np.asarray(risk[place.ravel()])


def _series(f: Floats, p: Floats) -> Floats:
    """p / f times the sum of j! / ((f+1)...(f+j)) (1-p)^j: all terms are positive, and fall fast if f is large or p is."""
    term, total = np.ones(len(f)), np.ones(len(f))
    for j in range(1, TERMS):
        term = term * j * (1 - p) / (f + j)
        total += term
    return np.asarray(p / f * total)


def _recurrence(f: Ints, p: Floats) -> Floats:
    """r(1) = log(1 + a) / a and r(f + 1) = (1 / f - r(f)) / a, where a > 1 so that errors shrink from step to step."""
    a = (1 - p) / p
    risk = np.log1p(a) / a
    for step in range(1, int(f.max(initial=1))):
        risk = np.where(f > step, (1 / step - risk) / a, risk)
    return np.asarray(risk)


@dataclass(frozen=True)
class HouseholdRisk(IndividualRisk):
    """For each record the probability that anyone of its household is re-identified; `number` is its household's."""

    number: Ints

    @property
    def households(self) -> float:
        """How many households are expected to have someone re-identified."""
        _, first = np.unique(self.number, return_index=True)
        return float(self.risk[first].sum())


def household_risk(
    frame: Any, *, keys: str | Sequence[str], household: str, weight: str | None = None
) -> HouseholdRisk:
    """Household risk (Hundepool et al. 2012): the probability that a record or another of its household is re-identified.

    Whoever knows one member knows them all: 1 minus the product of 1 - risk over the members, whose individual risks
    are taken to be independent. Reference: the handbook, section 3.6.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [1, 2, 3, 3], "home": ["x", "x", "y", "z"]})
    >>> household_risk(people, keys="age", household="home").risk.tolist()
    [1.0, 1.0, 0.5, 0.5]
    """
    alone = individual_risk(frame, keys=keys, weight=weight).risk
    homes = FileRecords.of(frame, [household]).columns[household].coded[0]
    if (homes < 0).any():
        raise Mistake(f"{household!r} is missing in some records, so their household is not known.")
    number = class_of(homes[:, None])
    with np.errstate(divide="ignore"):  # a certain re-identification: minus infinity, whose exponential is 0
        safe = np.bincount(number, np.log1p(-alone))
    return HouseholdRisk(-np.expm1(safe)[number], number)
