"""The limits of a policy on what answers tell together: they decide by what was answered before, and are kept up to date."""

from collections.abc import Iterable
from functools import partial
from threading import Lock
from typing import Any

from confide.answering.analysis import Admitted
from confide.answering.auditing.limit import QuestionLimit
from confide.answering.frontier.growing import GrowingSpace
from confide.answering.frontier.mapping import explained
from confide.answering.road import Road
from confide.errors import Reason, Refused
from confide.model.policy import Policy
from confide.model.request import Request
from confide.site.ledger import Entry

__all__ = ["AnswerLimits", "are_set"]


class AnswerLimits:
    """What was answered about one data set so far, beside the limits of its policy. Safe to share among threads."""

    def __init__(self, road: Road, entries: Iterable[Entry]) -> None:
        """The questions of `entries` were answered before; those of other data sets must not be among them."""
        self._road, self._lock = road, Lock()
        policy, entries = road.policy, list(entries)
        self._isolating = (
            QuestionLimit(road.store, limit=policy.audit.limit, entries=entries, admit=road.admit)
            if policy.audit.limit
            else None
        )
        self._space: GrowingSpace | None = None
        if _grows(policy):
            sensitive = policy.models.sensitive
            self._space = GrowingSpace(
                partial(explained, road, sensitive), sensitive=sensitive, limit=policy.audit.explained
            )
            self._space.take_in(entries, admit=road.admit)
        self.reached = 0
        """The number of the first entry that was not looked at."""

    def take_in(self, entries: Iterable[Entry]) -> None:
        """Take in what was answered by other processes."""
        entries = list(entries)
        if self._isolating is not None:
            self._isolating.take_in(entries, admit=self._road.admit)
        if self._space is not None:
            self._space.take_in(entries, admit=self._road.admit)

    def refusal(self, question: Admitted[Request[Any]], who: str) -> Refused | None:
        """Why the question may not be answered after what was; None if it may, and then it counts as answered."""
        with self._lock:
            if self._space is not None and not self._space.allows(question):
                sensitive = self._road.policy.models.sensitive
                words = f"With what was related to {sensitive!r} in answers before, these variables would explain too much of it."
                open_still = ", ".join(map(repr, self._space.related))
                suggestions = [f"Relate it to what it was related to before: {open_still}."] if open_still else []
                return self._refused(Reason("audit.explained", words), [*suggestions, "Talk to the custodian."])
            if self._isolating is not None and not self._isolating.allows(question, who):
                words = "With what was asked before, this answer would single out too many small groups."
                suggestions = ["Ask for larger groups, or for what was answered before.", "Talk to the custodian."]
                return self._refused(Reason("audit.limit", words), suggestions)
        return None

    def _refused(self, reason: Reason, suggestions: list[str]) -> Refused:
        return Refused([reason], policy=self._road.policy.title, suggestions=suggestions)


def _grows(policy: Policy) -> bool:
    """Whether the answer space of a policy grows with what is asked."""
    return bool(policy.models.sensitive and policy.audit.explained)


def are_set(policy: Policy) -> bool:
    """Whether a policy has limits on what answers tell together."""
    return bool(policy.audit.limit) or _grows(policy)
