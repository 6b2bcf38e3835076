"""Asking as an honest analyst does: take the answer, or follow what a refusal suggests; wait when told to."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from confide.attacks.intruder import TRIES, Spent
from confide.client import Site
from confide.errors import Denied, Fault, Mistake, Refused, Suggestion
from confide.model.request import Request
from confide.spelling.url import read_url

__all__ = ["Questioner", "Reply"]

R = TypeVar("R")

PATIENCE = 7
"""So often a question is put again when a site asks to slow down: with twice the wait each time, about two minutes."""


@dataclass(frozen=True)
class Reply(Generic[R]):
    """What came of a question: an answer, or the rules that refused it, or that it was no proper question."""

    release: R | None = None
    rules: tuple[str, ...] = ()
    suggestions: tuple[Request[Any], ...] = ()
    mistake: str = ""


@dataclass(frozen=True)
class Questioner:
    """Asks a site through the public client; patient with a network that drops and with a quota by the minute."""

    site: Site
    wait: float = 1.0

    def ask(self, request: Request[R]) -> Reply[R]:
        """What comes of a question. Raises Spent when nothing more can be asked."""
        try:
            return Reply(self._patiently(lambda: self.site.ask(request)))
        except Refused as refused:
            rules = tuple(reason.rule for reason in refused.reasons)
            if any(rule.startswith("quota.") for rule in rules):
                raise Spent(f"The quota ran out ({rules[0]}).") from None
            return Reply(rules=rules, suggestions=tuple(_requests(refused)))
        except Mistake as mistake:
            return Reply(mistake=mistake.message)

    def _patiently(self, question: Callable[[], R]) -> R:
        faults = hurried = 0
        while True:
            try:
                return question()
            except Denied as denied:
                raise Spent(f"The site lets nobody ask any more: {denied.message}") from None
            except Fault as fault:
                faults += 1
                if faults == TRIES:
                    raise Spent(f"The site failed to answer {TRIES} times: {fault.message}") from None
            except Refused as refused:
                hurried += 1
                if hurried == PATIENCE or refused.reasons[0].rule not in ("quota.per_minute", "quota.waiting"):
                    raise
            time.sleep(self.wait * 2 ** (faults + hurried - 1))


def _requests(refused: Refused) -> list[Request[Any]]:
    """The requests behind the suggestions that have an address."""
    return [read_url(offer.address) for offer in refused.suggestions if isinstance(offer, Suggestion)]
