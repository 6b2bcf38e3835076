"""One number for a way of masking: the mean of information loss and disclosure risk (Domingo-Ferrer and Torra)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from confide.measures.aware import advantage
from confide.measures.risk.intervals import interval_disclosure
from confide.measures.risk.linkage import distance_linkage
from confide.measures.risk.probabilistic import probabilistic_linkage
from confide.measures.utility.information_loss import discrepancies
from confide.microdata import Method

__all__ = ["Score", "score"]


@dataclass(frozen=True)
class Score:
    """Information loss, and the percentages linked by distance, linked by evidence, and disclosed by intervals.

    `aware` is what an intruder gets who knows the method (their advantage), where it is known; it counts if it is worse.

    >>> Score(loss=20.0, distance=10.0, probabilistic=20.0, interval=45.0).value
    25.0
    >>> Score(loss=20.0, distance=10.0, probabilistic=20.0, interval=45.0, aware=85.0).value
    42.5
    """

    loss: float
    distance: float
    probabilistic: float
    interval: float
    aware: float | None = None

    @property
    def linkage(self) -> float:
        """The mean of both linkages, or what an intruder links who knows the method, if that is more."""
        return max((self.distance + self.probabilistic) / 2, self.aware or 0.0)

    @property
    def risk(self) -> float:
        """Disclosure risk: the mean of linkage and intervals."""
        return (self.linkage + self.interval) / 2

    @property
    def value(self) -> float:
        """The score: the mean of loss and risk. Low is good."""
        return (self.loss + self.risk) / 2


def score(
    original: Any,
    released: Any,
    *,
    columns: str | Sequence[str],
    known: str | Sequence[str] | None = None,
    identifier: str | None = None,
    method: Method | None = None,
    by: str | Sequence[str] = (),
) -> Score:
    """Score of a masked file of numbers (Domingo-Ferrer and Torra 2001): (IL + ((DLD + PLD) / 2 + ID) / 2) / 2.

    `known` are the columns by which an intruder links, all if they are not named. If the `method` is named by which the
    file was masked, the best known attack on it takes the place of both linkages where it links more. No one weighting does
    justice to every method, so look at the parts too. Reference: the survey's example of a score.

    >>> import pyarrow as pa
    >>> firms = pa.table({"sales": [1.0, 5.0, 9.0, 30.0], "staff": [2.0, 3.0, 9.0, 20.0]})
    >>> found = score(firms, firms, columns=["sales", "staff"])
    >>> found.loss, found.risk, found.value
    (0.0, 100.0, 50.0)
    """
    links = columns if known is None else known
    return Score(
        discrepancies(original, released, columns=columns, identifier=identifier).loss,
        distance_linkage(original, released, columns=links, identifier=identifier).percent,
        probabilistic_linkage(original, released, columns=links, identifier=identifier).percent,
        interval_disclosure(original, released, columns=columns, identifier=identifier).percent,
        advantage(original, released, method=method, columns=links, by=by, identifier=identifier),
    )
