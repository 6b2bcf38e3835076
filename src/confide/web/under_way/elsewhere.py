"""The jobs whose pages people look at, for the processes of a site that do not work on them: a page may be asked of any of them."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from confide.errors import Fault
from confide.site.state import State
from confide.web.under_way.job import Job, JobState

__all__ = ["JobElsewhere", "JobPages"]

_COLUMNS = (
    "id TEXT PRIMARY KEY, owner TEXT, machine TEXT, worker INTEGER, address TEXT, asked TEXT, since TEXT, state TEXT, "
    "wanted DOUBLE PRECISION"
)
_SHOW = (
    "INSERT INTO jobs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) "
    "ON CONFLICT (id) DO UPDATE SET address = excluded.address, since = excluded.since, state = excluded.state"
)
_LOOK = (
    "UPDATE jobs SET wanted = ?3 WHERE id = ?1 AND owner = ?2 RETURNING machine, worker, address, asked, since, state"
)


@dataclass(frozen=True)
class JobElsewhere:
    """A job of another process, as its page shows it."""

    id: str
    address: str
    asked: datetime
    running_since: datetime | None
    state: JobState

    @property
    def done(self) -> bool:
        """Whether its address has the answer, or asks anew."""
        return self.state not in (JobState.WAITING, JobState.RUNNING)


class JobPages:
    """The jobs whose pages were shown, in the state of the site. Safe to share among threads.

    Promise: the page of a job is there at every process, for its owner alone, as the one that works on it last said; if that one is no
    more, the page goes to the question, which is asked anew unless it was recorded. Looking at it anywhere keeps the job wanted.
    """

    def __init__(self, state: State, *, wanted: float, kept: float) -> None:
        """A look is good for `wanted` seconds; a page is there for so many more."""
        self._state, self._wanted, self._kept = state, wanted, kept
        state.table("jobs", _COLUMNS)

    def show(self, job: Job[Any]) -> None:
        """Tell the other processes of a job, and how far it is. Without the state of the site its page is here alone."""
        times = [each and each.isoformat() for each in (job.asked, job.running_since)]
        mine, now = (self._state.machine, self._state.worker), self._state.now()
        with suppress(Fault):
            self._state.run("DELETE FROM jobs WHERE wanted < ?1", now - self._kept)
            self._state.run(_SHOW, job.id, job.owner, *mine, job.address, *times, str(job.state), now)

    def find(self, number: str, *, owner: str) -> JobElsewhere | None:
        """The job of that number, if it is this owner's, who looks at its page."""
        found = self._state.run(_LOOK, number, owner, self._state.now() + self._wanted)
        if not found:
            return None
        machine, worker, address, asked, since, state = found[0]
        mine = (machine, worker) == (self._state.machine, self._state.worker)  # from before it was started again
        lost = mine or self._state.gone(machine, worker)
        times = datetime.fromisoformat(asked), datetime.fromisoformat(since) if since else None
        return JobElsewhere(number, address, *times, JobState.FAILED if lost else JobState(state))

    def is_wanted(self, job: Job[Any]) -> bool:
        """Whether somebody looks at the page of a job at another process."""
        return bool(self._state.run("SELECT id FROM jobs WHERE id = ?1 AND wanted >= ?2", job.id, self._state.now()))
