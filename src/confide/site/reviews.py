"""Results that wait for a custodian's yes or no: one small document each, beside the ledger that records asking and deciding.

No numbers are kept: the same question has the same answer, so it is made again for the custodian who looks and for the asker who
was told yes. A new version of the data or the policy has other receipts, and is reviewed anew.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from confide.errors import Fault, Mistake
from confide.site.documents import Documents

__all__ = ["Review", "ReviewState", "Reviews", "told"]


class ReviewState(StrEnum):
    """What a custodian said."""

    WAITING = "waiting"
    YES = "yes"
    NO = "no"


@dataclass(frozen=True, kw_only=True)
class Review:
    """A result that waits, or on which a custodian has decided with a reason."""

    id: str
    who: str
    project: str
    dataset: str
    request: dict[str, Any]
    receipt: str
    asked: str
    state: ReviewState = ReviewState.WAITING
    by: str = ""
    reason: str = ""
    decided: str = ""

    @property
    def words(self) -> str:
        """How it stands, in a sentence."""
        if self.state is ReviewState.WAITING:
            return "It waits for a custodian's yes or no."
        return f"A custodian said {self.state}: {self.reason}"


class Reviews:
    """The results of a site under review. Other processes may decide meanwhile.

    Promise: a decision lasts before anybody acts on it, and is made once.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def find(self, who: str, project: str, receipt: str) -> Review | None:
        """How somebody's result stands; None if it was not looked at and does not wait."""
        return self._read(_id(who, project, receipt))

    def numbered(self, id: str) -> Review:
        """The review of this id."""
        found = self._read(id) if id.isalnum() and id.isascii() else None
        if found is None:
            missing = Mistake(
                "Nothing waits under this number.", suggestions=["List what does: confide review list SITE"]
            )
            missing.http_status = 404
            raise missing
        return found

    def all(self) -> list[Review]:
        """Every review, the latest question first."""
        found = [self._read(id) for id in self._documents.names()]
        return sorted((each for each in found if each), key=lambda review: (review.asked, review.id), reverse=True)

    def ask(self, *, who: str, project: str, dataset: str, request: dict[str, Any], receipt: str) -> Review:
        """Let a result wait."""
        review = Review(
            id=_id(who, project, receipt), who=who, project=project, dataset=dataset, request=request, receipt=receipt,
            asked=_now(),
        )  # fmt: skip
        with self._documents.alone():
            return self._read(review.id) or self._write(review, old=None)

    def decide(self, id: str, state: ReviewState, *, by: str, reason: str, record: Callable[[Review], None]) -> Review:
        """Say yes or no to a result, with a reason; a second decision is a Mistake. It is recorded before it is so."""
        reason = reason.strip()
        if not 1 <= len(reason) <= 500 or not reason.isprintable():
            raise Mistake("Give a reason: one line of 1 to 500 printable characters, which the asker will read.")
        with self._documents.alone():
            review = self.numbered(id)
            if review.state is not ReviewState.WAITING:
                raise Mistake(f"{review.by!r} has said {review.state} already: {review.reason}")
            decided = replace(review, state=state, by=by, reason=reason, decided=_now())
            record(decided)
            return self._write(decided, old=self._documents.read(id))

    def _read(self, id: str) -> Review | None:
        found = self._documents.read(id)
        try:
            return None if found is None else _parse(found)
        except (ValueError, TypeError, KeyError):
            raise Fault(
                f"The review {id} cannot be read, so its result is withheld.", suggestions=["Restore it."]
            ) from None

    def _write(self, review: Review, *, old: bytes | None) -> Review:
        self._documents.write(review.id, json.dumps(asdict(review)).encode(), old=old)
        return review


def _parse(text: bytes) -> Review:
    raw = json.loads(text)
    return Review(**{**raw, "state": ReviewState(raw["state"])})


def told(review: Review) -> dict[str, Any]:
    """A review as programs read it."""
    return asdict(review)


def _id(who: str, project: str, receipt: str) -> str:
    return hashlib.sha256(f"{who}\n{project}\n{receipt}".encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
