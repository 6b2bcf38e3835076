"""An answer space that grows with what is asked: the dynamic server of Gomatam et al. (2004), section 3.

The sensitive variable may be related to anything, first come, first served, as long as everything that was ever related to it
explains at most so much of it. Since the regressions among the others are open, that is what an intruder can put together from
all answers, whoever got them: each answer makes others unanswerable.
"""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from confide.answering.analysis import Admitted
from confide.answering.auditing.asked import Admit, admitted_of
from confide.model.admission.related import related_to
from confide.model.request import Request
from confide.site.ledger import Entry

__all__ = ["GrowingSpace"]


class GrowingSpace:
    """The variables that answers have related to the sensitive one.

    Promise: what was answered may be answered again; together the variables never explain more than the limit, except where they did
    before there was one. Safe to share among threads.

    `explained` gives the share of the variance of the sensitive variable that the named ones explain together.
    """

    def __init__(self, explained: Callable[[Iterable[str]], float], *, sensitive: str, limit: float) -> None:
        self._explained, self._sensitive, self._limit = explained, sensitive, limit
        self._related: frozenset[str] = frozenset()
        self._lock = Lock()

    @property
    def related(self) -> tuple[str, ...]:
        """What has been related to the sensitive variable, by name."""
        return tuple(sorted(self._related))

    def take_in(self, entries: Iterable[Entry], *, admit: Admit) -> None:
        """Take in what was answered, also by other processes; what was taken in before changes nothing."""
        for _, question in admitted_of(entries, admit):
            if question is not None:
                self._related |= self._of(question)

    def allows(self, question: Admitted[Request[Any]]) -> bool:
        """Whether the question may be answered; if so it counts as answered."""
        with self._lock:
            wider = self._related | self._of(question)
            if wider != self._related and self._explained(sorted(wider)) > self._limit:
                return False
            self._related = wider
        return True

    def _of(self, question: Admitted[Request[Any]]) -> frozenset[str]:
        return related_to(self._sensitive, question.request.related, question.request.where, question.dataset)
