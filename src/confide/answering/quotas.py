"""How much may be asked in a day, and in whose words it is said."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from threading import Lock

from confide.errors import Reason, Refused

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


Place = tuple[str, str | None, date]


class DayPlaces:
    """The places that are taken among the questions of a day. `asked` tells how many of somebody's are recorded already.

    Counted here and not in the ledger, where a question just recorded would for a moment count twice.
    """

    def __init__(self, asked: Callable[[str, str | None, date], int]) -> None:
        self._asked, self._lock, self._taken, self._day = asked, Lock(), Counter[Place](), date.min

    def take(self, quotas: Sequence[DayQuota], *, policy: str) -> list[Place]:
        """A place in each quota; Refused, and none taken, if one is full."""
        today = datetime.now(UTC).date()
        places = [(quota.who, quota.dataset, today) for quota in quotas]
        with self._lock:
            if today > self._day:  # the days before are over
                self._taken.clear()
                self._day = today
            for quota, place in zip(quotas, places, strict=True):
                taken = self._taken.setdefault(place, self._asked(*place))
                if quota.limit and taken >= quota.limit:
                    raise Refused([quota.reason], policy=policy, suggestions=["Ask again tomorrow (UTC)."])
            self._taken.update(places)
        return places

    def give_back(self, places: Sequence[Place]) -> None:
        """Take places back of a question that was not recorded."""
        with self._lock:
            self._taken.subtract(places)
