"""How much may be asked in a day, and in whose words it is said."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import count
from typing import Any

from confide.errors import Fault, Reason, Refused
from confide.site.ledger import Ledger, LedgerIndex
from confide.site.state import State

__all__ = ["DayPlaces", "DayQuota", "Place"]

_UNDER_WAY = "SELECT count(*) FROM places WHERE who = ?1 AND (CAST(?2 AS TEXT) IS NULL OR dataset = ?2)"

_SINCE = f"SELECT entries, ({_UNDER_WAY}) FROM reached"

_REACHED = "INSERT INTO reached VALUES (1, ?1) ON CONFLICT (one) DO UPDATE SET entries = excluded.entries"
"""So many entries there are when what is written together with this is recorded; what custodians do beside a server is no question."""


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


@dataclass(eq=False)
class Place:
    """A place that a question under way has, and whether it was recorded, so that the place is no more."""

    number: int
    recorded: bool = False


class DayPlaces:
    """The places that questions under way have among those of a day, until they are recorded.

    Promise: of a quota, never more are recorded, in however many processes of however many machines, and never fewer for want of a
    place that nobody has any more. What is taken is what the ledger holds and what is under way, counted while nobody records; a
    question goes from one to the other in a single step. Where there is room also if all were of this quota that others recorded
    since, nobody need be kept from recording.
    """

    def __init__(self, ledger: Ledger, state: State) -> None:
        self._ledger, self._state, self._numbers = ledger, state, count()
        state.claim()
        state.table("places", "machine TEXT, worker INTEGER, number INTEGER, who TEXT, dataset TEXT")
        state.table("reached", "one INTEGER PRIMARY KEY, entries BIGINT NOT NULL")
        self._changed("DELETE FROM places WHERE machine = ?1 AND worker = ?2")  # of one that was killed

    def take(self, quotas: Sequence[DayQuota], *, dataset: str, policy: str) -> Place:
        """A place in each quota, for a question about a data set; Refused, and none taken, if one is full."""
        today, place = datetime.now(UTC).date(), Place(next(self._numbers))

        def taken(index: LedgerIndex) -> DayQuota | None:
            """Which quota is full; a place is taken if none is."""
            full = self._full(quotas, index, today)
            if full:
                self._state.bury()
                full = self._full(quotas, index, today)
            if not full:
                self._insert(place, quotas, dataset)
            return full

        if full := self._ledger.counted(taken):
            raise Refused([full.reason], policy=policy, suggestions=["Ask again tomorrow (UTC)."])
        return place

    def take_if_sure(self, quotas: Sequence[DayQuota], *, dataset: str) -> Place | None:
        """A place, if there is one in each quota whatever others have recorded; within `at_once` of the state, so that nobody else
        takes one.
        """
        today, known = datetime.now(UTC).date(), len(self._ledger)
        if not all(self._is_sure(quota, today, known) for quota in quotas):
            return None
        place = Place(next(self._numbers))
        self._insert(place, quotas, dataset)
        return place

    def use(self, place: Place, number: int) -> None:
        """Take a place back whose question is about to be recorded under this number; a Fault, so that it is not, if the place is
        gone: while the state was out of reach, somebody else may have had it.
        """
        self._state.changed(_REACHED, number + 1)
        if not self._changed("DELETE FROM places WHERE machine = ?1 AND worker = ?2 AND number = ?3", place.number):
            what = "The question lost its place among those of the day while the state of the site was out of reach."
            raise Fault(what, suggestions=["Ask again."])

    def give_back(self, place: Place) -> None:
        """Take a place back whose question will not be recorded; once is enough, and twice no harm."""
        if not place.recorded:
            self._changed("DELETE FROM places WHERE machine = ?1 AND worker = ?2 AND number = ?3", place.number)

    def _insert(self, place: Place, quotas: Sequence[DayQuota], dataset: str) -> None:
        for who in {quota.who for quota in quotas}:
            self._changed("INSERT INTO places VALUES (?1, ?2, ?3, ?4, ?5)", place.number, who, dataset)

    def _is_sure(self, quota: DayQuota, today: date, known: int) -> bool:
        """Whether a quota has room, of which this process knows at least the entries below `known`."""
        if not quota.limit:
            return True
        for entries, under_way in self._state.run(_SINCE, quota.who, quota.dataset):
            recorded = self._ledger.known_to_be_asked(quota.who, quota.dataset, today)
            return bool(recorded + max(0, entries - known) + under_way < quota.limit)
        return False  # nobody has recorded anything yet

    def _full(self, quotas: Sequence[DayQuota], index: LedgerIndex, today: date) -> DayQuota | None:
        for quota in quotas:
            taken = index.asked_on(today, quota.who, quota.dataset) + self._under_way(quota)
            if quota.limit and taken >= quota.limit:
                return quota
        return None

    def _under_way(self, quota: DayQuota) -> int:
        """Also of yesterday: they will be recorded today."""
        if not quota.limit:
            return 0
        [(found,)] = self._state.run(_UNDER_WAY, quota.who, quota.dataset)
        return int(found)

    def _changed(self, statement: str, *values: Any) -> int:
        """How many rows a statement changes whose first two values say which process this is."""
        return self._state.changed(statement, self._state.machine, self._state.worker, *values)
