"""Results that wait for a custodian's yes or no: one small file each, beside the ledger that records asking and deciding.

No numbers are kept: the same question has the same answer, so it is made again for the custodian who looks and for the asker who
was told yes. A new version of the data or the policy has other receipts, and is reviewed anew.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from confide.data.private import only_mine
from confide.data.replacing import replacing
from confide.errors import Fault, Mistake
from confide.site.locking import in_turn

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

    Promise: a decision is on the disk before anybody acts on it, and is made once.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, who: str, project: str, receipt: str) -> Review | None:
        """How somebody's result stands; None if it was not looked at and does not wait."""
        return self._read(self._file(_id(who, project, receipt)))

    def numbered(self, id: str) -> Review:
        """The review of this id."""
        found = self._read(self._file(id)) if id.isalnum() and id.isascii() else None
        if found is None:
            missing = Mistake(
                "Nothing waits under this number.", suggestions=["List what does: confide review list SITE"]
            )
            missing.http_status = 404
            raise missing
        return found

    def all(self) -> list[Review]:
        """Every review, the latest question first."""
        found = [self._read(file) for file in self._folder.glob("*.json")]
        return sorted((each for each in found if each), key=lambda review: (review.asked, review.id), reverse=True)

    def ask(self, *, who: str, project: str, dataset: str, request: dict[str, Any], receipt: str) -> Review:
        """Let a result wait."""
        review = Review(
            id=_id(who, project, receipt), who=who, project=project, dataset=dataset, request=request, receipt=receipt,
            asked=_now(),
        )  # fmt: skip
        with self._alone():
            return self._read(self._file(review.id)) or self._write(review)

    def decide(self, id: str, state: ReviewState, *, by: str, reason: str, record: Callable[[Review], None]) -> Review:
        """Say yes or no to a result, with a reason; a second decision is a Mistake. It is recorded before it is so."""
        reason = reason.strip()
        if not 1 <= len(reason) <= 500 or not reason.isprintable():
            raise Mistake("Give a reason: one line of 1 to 500 printable characters, which the asker will read.")
        with self._alone():
            review = self.numbered(id)
            if review.state is not ReviewState.WAITING:
                raise Mistake(f"{review.by!r} has said {review.state} already: {review.reason}")
            decided = replace(review, state=state, by=by, reason=reason, decided=_now())
            record(decided)
            return self._write(decided)

    def _file(self, id: str) -> Path:
        return self._folder / f"{id}.json"

    def _read(self, file: Path) -> Review | None:
        try:
            raw = json.loads(file.read_text(encoding="utf-8"))
            return Review(**{**raw, "state": ReviewState(raw["state"])})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError):
            raise Fault(f"{file} cannot be read, so its result is withheld.", suggestions=["Restore it."]) from None

    def _write(self, review: Review) -> Review:
        with only_mine(), replacing(self._file(review.id)) as partial:
            partial.write_text(json.dumps(asdict(review)), encoding="utf-8")
        return review

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One writer at a time, in this process and others."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with in_turn(self._folder):
                yield
        except OSError as error:
            raise Fault(f"{self._folder} could not be written ({error.strerror}).") from None


def told(review: Review) -> dict[str, Any]:
    """A review as programs read it."""
    return asdict(review)


def _id(who: str, project: str, receipt: str) -> str:
    return hashlib.sha256(f"{who}\n{project}\n{receipt}".encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
