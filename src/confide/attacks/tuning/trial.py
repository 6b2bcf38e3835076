"""What was measured of one variant of a policy: what intruders learn under it, and what honest analysts get."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isnan, nan
from typing import Any

from confide.attacks.result import Result
from confide.attacks.tuning.variants import words

__all__ = ["PolicyTrial"]


@dataclass(frozen=True, kw_only=True)
class PolicyTrial:
    """A policy with some fields changed, attacked and put to use.

    `ceiling` is how much oftener than by a good guess somebody would be right who had all protected records, of the variable
    for which that is most; None where records are not protected. `error` is the median error of all numbers that were
    released, in sampling errors, and `errors` the same for each sort of number.
    """

    changes: Mapping[str, Any]
    mark: str
    results: tuple[Result, ...]
    asked: int
    answered: int
    error: float
    errors: Mapping[str, float]
    kinds: Mapping[str, float]
    """The share answered of each kind of question."""
    ceiling: float | None = None

    @property
    def words(self) -> str:
        return words(self.changes)

    @cached_property
    def worst(self) -> Result | None:
        """The attack with the largest lift; None if none could be tried."""
        tried = [result for result in self.results if result.applies and result.targets]
        return max(tried, key=lambda result: result.lift, default=None)

    @property
    def broken(self) -> tuple[str, ...]:
        """Attacks that could not be carried to their end."""
        return tuple(result.attack for result in self.results if result.stopped and result.applies)

    @property
    def risk(self) -> float:
        """The lift of the worst attack, at least 0; not a number if an attack broke down.

        Where the policy leaves nothing that any of the attacks could be tried on, it is 0.
        """
        if self.broken:
            return nan
        # Lifts are differences of shares: equal ones may differ in the last digit.
        return max(round(self.worst.lift, 9), 0.0) if self.worst else 0.0

    @property
    def standard_error(self) -> float:
        """Of the risk, as a share of so many targets."""
        return self.worst.standard_error if self.worst else 0.0

    @property
    def share(self) -> float:
        """The share of honest questions that are answered."""
        return self.answered / self.asked if self.asked else 0.0

    def within(self, limit: float) -> bool:
        return self.risk <= limit

    def rank(self, limit: float) -> tuple[float, ...]:
        """The smaller the better: within the limit by most answered, then by least error; above it by least risk."""
        last = (self.ceiling if self.ceiling is not None else 1.0, self.risk)
        if self.within(limit):
            return (0.0, -self.share, self.error, *last)
        return (2.0,) if isnan(self.risk) else (1.0, self.risk, -self.share, self.error, *last)

    def to_json(self) -> dict[str, Any]:
        told = {**asdict(self), "results": [result.as_dict() for result in self.results]}
        return {**told, "risk": None if isnan(self.risk) else self.risk, "share": self.share}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "PolicyTrial":
        kept = {name: value for name, value in raw.items() if name not in ("risk", "share")}
        return cls(**{**kept, "results": tuple(Result.from_dict(result) for result in raw["results"])})
