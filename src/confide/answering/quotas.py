"""How much may be asked in a day, and in whose words it is said."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from confide.errors import Reason, Refused
from confide.site.ledger import Ledger
from confide.site.state import State

__all__ = ["DayPlaces", "DayQuota"]


@dataclass(frozen=True)
class DayQuota:
    """At most `limit` questions a day (UTC) of somebody, of a data set or of all together; 0 means no limit.

    >>> print(DayQuota("ana", None, 20).reason)
    You have asked 20 questions today, the most that your token allows.
    """

    who: str
    dataset: str | None
    limit: int
    project: str = ""
    """Whose people are counted together."""

    @property
    def reason(self) -> Reason:
        """Why nothing more is answered today."""
        if self.project:
            words = f"The project {self.project!r} has asked {self.limit} questions today, the most it may."
            return Reason("quota.project", words)
        if self.dataset is None:
            words = f"You have asked {self.limit} questions today, the most that your token allows."
            return Reason("quota.token", words)
        return Reason(
            "quota.per_day", f"You have asked {self.limit} questions of {self.dataset!r} today, the most allowed."
        )


class DayPlaces:
    """The places that questions under way have among those of a day, until they are recorded.

    Promise: of a quota, never more are recorded, in however many processes, and never fewer for want of a place that nobody
    has any more. What is taken is what the ledger holds and what is under way, counted while nobody records; a question goes from
    one to the other in a single step.
    """

    def __init__(self, ledger: Ledger, state: State) -> None:
        self._ledger, self._state, self._numbers = ledger, state, count()
        state.run("CREATE TABLE IF NOT EXISTS places (worker INTEGER, number INTEGER, who TEXT, dataset TEXT)")
        state.run("DELETE FROM places WHERE worker = ?", state.worker)  # of one that was killed

    def take(self, quotas: Sequence[DayQuota], *, dataset: str, policy: str) -> int:
        """The number of a place in each quota, for a question about a data set; Refused, and none taken, if one is full."""
        today, number = datetime.now(UTC).date(), next(self._numbers)
        with self._ledger.counting() as index:
            for quota in quotas:
                taken = index.asked_on(today, quota.who, quota.dataset) + self._under_way(quota)
                if quota.limit and taken >= quota.limit:
                    raise Refused([quota.reason], policy=policy, suggestions=["Ask again tomorrow (UTC)."])
            for who in {quota.who for quota in quotas}:
                self._state.run("INSERT INTO places VALUES (?, ?, ?, ?)", self._state.worker, number, who, dataset)
        return number

    def give_back(self, number: int) -> None:
        """Take a place back whose question is recorded, or will not be; once is enough, and twice no harm."""
        self._state.run("DELETE FROM places WHERE worker = ? AND number = ?", self._state.worker, number)

    def _under_way(self, quota: DayQuota) -> int:
        """Also of yesterday: they will be recorded today."""
        if not quota.limit:
            return 0
        [(found,)] = self._state.run(
            "SELECT count(*) FROM places WHERE who = ?1 AND (?2 IS NULL OR dataset = ?2)", quota.who, quota.dataset
        )
        return int(found)
