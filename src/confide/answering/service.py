"""An open site: the road of one answer, from the question to the record and the release."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

from confide.answering.desk import Desk, open_desks
from confide.answering.diagnostics.diagnose import Diagnosed
from confide.answering.rules.described import Checked, explain
from confide.errors import Mistake, Reason, Refused, nearest
from confide.model.catalog.dataset import Dataset
from confide.model.model_release import ModelRelease
from confide.model.policy import Policy
from confide.model.release import Release
from confide.model.request import Regression, Request
from confide.site import ledger
from confide.site.access import VISITOR, Access, AccessFile, Person, Role
from confide.site.audit import Tally
from confide.site.folder import Folder
from confide.site.ledger import Entry, Ledger
from confide.site.policies import keep
from confide.spelling.json import read_request, write_request

__all__ = ["Replayed", "Service", "replay", "trial"]

REMEMBERED = 10_000
"""So many outcomes of different questions a replay remembers: the same question has the same outcome for ever."""

SUGGESTIONS = 3
"""So many ways forward are offered with a refusal."""


@dataclass(frozen=True)
class Replayed:
    """A recorded question under another policy: its outcome then, and now."""

    number: int
    request: dict[str, object]
    before: str
    after: str

    @property
    def changed(self) -> bool:
        return self.before != self.after


class Service:
    """An open site. Safe to share among threads."""

    def __init__(self, folder: Folder, policy: Policy, *, allow_open: bool) -> None:
        self.folder, self.policy, self.tally = folder, policy, Tally()
        self._people, self._secret = AccessFile(folder.access), folder.secret()
        self._lock, self._taken = Lock(), dict[tuple[str, str, date], int]()
        with ExitStack() as opened:
            self._desks: Mapping[str, Desk] = opened.enter_context(open_desks(folder, policy, allow_open=allow_open))
            self._ledger = opened.enter_context(Ledger(folder.ledger, watch=self.tally.add))
            keep(folder, policy)
            self._opened = opened.pop_all()

    @classmethod
    def open(cls, path: str | Path, *, allow_open: bool = False) -> Self:
        """Open a site; anything missing or out of step stops the start."""
        folder = Folder(Path(path))
        return cls(folder, folder.policy(), allow_open=allow_open)

    @property
    def datasets(self) -> dict[str, Dataset]:
        """What may be asked about."""
        return {name: desk.dataset for name, desk in self._desks.items()}

    @property
    def access(self) -> Access:
        """Who may ask, as `access.toml` says now."""
        return self._people.now()

    def visitor(self, machine: str) -> Person:
        """Somebody without a token on a public site. A machine has a name of its own for a day, for the quota and the
        ledger, which cannot be told back to the machine.
        """
        today = f"{datetime.now(UTC).date()} {machine}"
        return Person(VISITOR + self._secret.digest("visitor", today.encode()).hex()[:10], Role.ANALYST)

    def answer(self, request: Request, *, who: str = "local") -> Release | ModelRelease:
        """A protected answer, recorded before it is given; or Mistake, Refused, Fault."""
        desk = self.desk(request.dataset)
        request = desk.admit(request)
        with self._turn(request.dataset, who):
            answer = desk.consider(request)
            if answer.reasons:
                suggestions = list(islice(desk.suggest(request), SUGGESTIONS))
                self._record(desk, request, who, answer.reasons, None)
                raise Refused(answer.reasons, policy=self.policy.title, suggestions=suggestions)
            release = desk.release(request, answer)
            self._record(desk, request, who, [], release)
        return release

    def diagnose(self, request: Regression, *, who: str = "local") -> ModelRelease:
        """A model with its synthetic diagnostics: charts and the data behind them. It counts as one question."""
        release = self.answer(request, who=who)
        found = self.desk(request.dataset).diagnose(request)
        assert isinstance(release, ModelRelease) and isinstance(found, Diagnosed)
        plots = {grid.name: grid for grid in found.grids.values()}
        return replace(release, grids={**release.grids, **plots}, charts=found.charts)

    def explain(self, request: Request, policy: Policy | None = None) -> list[Checked]:
        """How every rule comes out on a request, under the policy in force or another. Nothing is recorded or released."""
        desk = self.desk(request.dataset)
        desk = desk if policy is None else desk.under(policy)
        request = desk.admit(request)
        return explain(request, desk.policy, desk.consider(request).reasons)

    def replay(self, policy: Policy) -> Iterator[Replayed]:
        """Every recorded question under another policy, beside a running site. Nothing is recorded or released."""
        desks = {name: desk.under(policy) for name, desk in self._desks.items()}
        return _replayed(desks, ledger.read(self.folder.ledger))

    def desk(self, name: str) -> Desk:
        """Where questions about a data set are considered."""
        if name not in self._desks:
            hint = nearest(name, self._desks) or ["There are " + ", ".join(self._desks) + "."]
            raise Mistake(f"There is no data set called {name[:60]!r}.", suggestions=hint)
        return self._desks[name]

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _turn(self, dataset: str, who: str) -> Iterator[None]:
        """A place among the day's questions, given back if the question is not recorded."""
        today = datetime.now(UTC).date()
        limit, place = self.policy.quota.per_day, (who, dataset, today)
        with self._lock:
            # Counted here and not in the ledger, where a question just recorded would for a moment count twice.
            taken = self._taken.setdefault(place, self._ledger.asked(who, dataset, today))
            if limit and taken >= limit:
                words = f"You have asked {limit} questions of {dataset!r} today, the most allowed."
                reason = Reason("quota.per_day", words)
                raise Refused([reason], policy=self.policy.title, suggestions=["Ask again tomorrow (UTC)."])
            self._taken[place] += 1
        try:
            yield
        except Refused:
            raise
        except BaseException:
            with self._lock:
                self._taken[place] -= 1
            raise

    def _record(
        self, desk: Desk, request: Request, who: str, reasons: Sequence[Reason], release: Release | ModelRelease | None
    ) -> None:
        self._ledger.append(
            who=who,
            dataset=request.dataset,
            request=write_request(request),
            outcome="released" if release else "refused",
            rules=tuple(reason.rule for reason in reasons),
            receipt=desk.receipt(request),
            answer=_digest(release) if release else "",
            policy=f"{self.policy.title} ({self.policy.mark})",
            data=desk.data,
        )


def _digest(release: Release | ModelRelease) -> str:
    """A fingerprint of the numbers released."""
    if isinstance(release, ModelRelease):
        return hashlib.sha256(repr(sorted(release.grids.items())).encode()).hexdigest()
    digest = hashlib.sha256()
    for name, column in sorted(release.columns.items()):
        digest.update(name.encode() + column.values.tobytes() + column.marks.tobytes() + column.noise.tobytes())
    return digest.hexdigest()


def replay(path: str | Path, policy: Policy, *, allow_open: bool = False) -> Iterator[Replayed]:
    """Every recorded question of a site under a draft policy. Nothing is recorded or released."""
    folder = Folder(Path(path))
    with open_desks(folder, policy, allow_open=allow_open) as desks:
        yield from _replayed(desks, ledger.read(folder.ledger))


def _replayed(desks: Mapping[str, Desk], entries: Iterable[Entry]) -> Iterator[Replayed]:
    @lru_cache(maxsize=REMEMBERED)
    def outcome(dataset: str, request: str) -> str:
        try:
            reasons = desks[dataset].consider(read_request(json.loads(request))).reasons
            return ", ".join(reason.rule for reason in reasons) or "released"
        except (Mistake, KeyError):
            return "no longer well formed"

    for entry in entries:
        after = outcome(entry.dataset, json.dumps(entry.request, sort_keys=True))
        yield Replayed(entry.number, entry.request, ", ".join(entry.rules) or entry.outcome, after)


def trial(draft: Policy, force: Policy) -> Policy:
    """A draft's limits on numbers as they are protected today: what may be tried on a page.

    Promise: whether a rule of the trial passes tells of protected numbers only, whatever the draft says. Without it,
    a draft without noise whose limit is moved step by step would read off a true count.
    """
    if force.universe.decide_on == "true":
        raise Mistake(
            "The policy in force looks at true counts, so trying limits one after the other would tell them.",
            suggestions=["Try the draft on the command line: confide ledger replay SITE --policy draft.toml"],
        )
    noise = {name: getattr(force.universe, name) for name in ("decide_on", "noise_distance", "noise_variance")}
    return replace(
        draft, universe=replace(draft.universe, **noise), drop=force.drop, counts=force.counts, totals=force.totals
    )
