"""The questions that the processes of a site answer: the same question of the same asker is recorded once, whichever of them is asked.

No answer is kept here, only under which number it is recorded: the same question has the same answer, so whoever is asked next makes
it again. What is said here of a killed process is not believed until the ledger says it, too.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from confide.cancellation import current_cancellation
from confide.errors import Fault
from confide.site.access import asked_by
from confide.site.ledger import Entry, Ledger
from confide.site.state import State

__all__ = ["AnsweredOnce", "Claim"]

LOOK = 0.05
"""Seconds between two looks at whether another process has answered."""

WANTED = 2.0
"""Seconds for which a look says that somebody waits; after as many it is looked whether the other process still lives."""

SWEEP = 60.0
"""Seconds after which numbers that are too old are taken away."""

OPEN = -1
"""In place of the number of an entry: the question is being answered."""

_COLUMNS = (
    "asker TEXT, key TEXT, machine TEXT, worker INTEGER, entry BIGINT, receipt TEXT, until DOUBLE PRECISION, "
    "wanted DOUBLE PRECISION, PRIMARY KEY (asker, key)"
)
_TAKE = (
    "INSERT INTO answers VALUES (?1, ?2, ?3, ?4, -1, '', 0, 0) ON CONFLICT (asker, key) DO UPDATE "
    "SET machine = excluded.machine, worker = excluded.worker, entry = -1, receipt = '', wanted = 0 "
    "WHERE answers.entry >= 0 AND answers.until < ?5"
)
_SETTLE = (
    "UPDATE answers SET entry = ?5, receipt = ?6, until = ?7 "
    "WHERE asker = ?1 AND key = ?2 AND machine = ?3 AND worker = ?4 AND entry = -1"
)


@dataclass(frozen=True)
class _Found:
    """Who answers a question, or the number and the receipt under which it says that it recorded it."""

    machine: str
    worker: int
    entry: int
    receipt: str


@dataclass(eq=False)
class Claim:
    """A question that no other process answers meanwhile: the entry of who did before, if it is kept, or the right to answer it."""

    earlier: Entry | None = None
    settle: Callable[[int, str], None] = lambda number, receipt: None
    """Tells the others the number and the receipt under which it is about to be recorded."""
    recorded: bool = False
    """Whether it was, so that nothing is to be taken back, even if it was refused."""


class AnsweredOnce:
    """Which questions are being answered and which were, as the processes of a site know together. Safe to share among threads.

    Promise: of the same question of the same asker, one process at a time comes to answer it, and the others wait for its end; once
    it is recorded, all are given its entry for as long as it is `kept`. A process that is killed leaves the question to the next,
    with its entry if it had recorded it.
    """

    def __init__(self, ledger: Ledger, state: State) -> None:
        self._ledger, self._state, self._swept = ledger, state, state.now()
        state.table("answers", _COLUMNS)
        mine = (state.machine, state.worker)
        state.run(
            "DELETE FROM answers WHERE machine = ?1 AND worker = ?2 AND entry = -1", *mine
        )  # of one that was killed

    @contextmanager
    def answering(
        self, asker: str, key: str, *, kept: float, first: Callable[[], None] = lambda: None
    ) -> Iterator[Claim]:
        """Within this nobody else answers the same, which is then `kept` for so many seconds. `Stopped` if waiting for them is.

        What is written to the state `first` is one step with getting the right to answer.
        """
        claim = Claim(self._taken(asker, key, first), partial(self.settle, asker, key, kept=kept))
        try:
            yield claim
        except BaseException:
            if not claim.recorded:
                with suppress(Fault):  # of what went wrong before
                    self._free(asker, key, _Found(self._state.machine, self._state.worker, OPEN, ""))
            raise

    def settle(self, asker: str, key: str, number: int, receipt: str, *, kept: float) -> None:
        """Note under which number a question is about to be recorded; a Fault, so that it is not, if somebody else answers it now."""
        until = self._state.now() + kept
        if not self._state.changed(
            _SETTLE, asker, key, self._state.machine, self._state.worker, number, receipt, until
        ):
            what = "The question was given to another process while the state of the site was out of reach."
            raise Fault(what, suggestions=["Ask again."])

    def earlier(self, asker: str, key: str) -> Entry | None:
        """The entry of a question that was recorded, if it is kept."""
        found = self._found(asker, key, "AND entry >= 0 AND until >= ?3", self._state.now())
        return self._recorded(asker, found) if found else None

    def wanted(self, asker: str, key: str) -> bool:
        """Whether another process waits for the answer to a question."""
        return self._found(asker, key, "AND wanted >= ?3", self._state.now()) is not None

    def _taken(self, asker: str, key: str, first: Callable[[], None]) -> Entry | None:
        """The entry of a question, or the right to answer it, sooner or later."""
        looked = -WANTED
        while (found := self._take(asker, key, first)) is not None:
            if found.entry != OPEN:
                entry = self._recorded(asker, found)
                if entry is not None:
                    return entry
                self._free(asker, key, found)
            elif time.monotonic() - looked >= WANTED / 2:
                looked = time.monotonic()
                if self._state.gone(found.machine, found.worker):
                    self._free(asker, key, found)
                wanted = "UPDATE answers SET wanted = ?3 WHERE asker = ?1 AND key = ?2 AND entry = -1"
                self._state.run(wanted, asker, key, self._state.now() + WANTED)
            else:
                current_cancellation().pause()
                time.sleep(LOOK)
        return None

    def _take(self, asker: str, key: str, first: Callable[[], None]) -> _Found | None:
        """Who else has the question; None if this process has it now."""
        now = self._state.now()
        if now - self._swept > SWEEP:
            self._swept = now
            self._state.run("DELETE FROM answers WHERE entry >= 0 AND until < ?1", now)
        while True:
            with self._state.at_once():
                if self._state.changed(_TAKE, asker, key, self._state.machine, self._state.worker, now):
                    first()
                    return None
            if found := self._found(asker, key):
                return found

    def _found(self, asker: str, key: str, which: str = "", *values: Any) -> _Found | None:
        words = f"SELECT machine, worker, entry, receipt FROM answers WHERE asker = ?1 AND key = ?2 {which}"
        rows = self._state.run(words, asker, key, *values)
        return _Found(*rows[0]) if rows else None

    def _recorded(self, asker: str, found: _Found) -> Entry | None:
        """The entry that a process says to have recorded, or is about to: who is writing it is waited for."""
        if found.entry >= len(self._ledger):
            self._ledger.counted(lambda index: None)
        who = asked_by(asker)
        for entry in self._ledger.entries(found.entry, found.entry + 1):
            if (entry.who, entry.project, entry.receipt) == (who.name, who.project, found.receipt):
                return entry
        return None

    def _free(self, asker: str, key: str, found: _Found) -> None:
        """Let somebody else have a question that was not recorded."""
        words = "DELETE FROM answers WHERE asker = ?1 AND key = ?2 AND machine = ?3 AND worker = ?4 AND entry = ?5"
        self._state.changed(words, asker, key, found.machine, found.worker, found.entry)
