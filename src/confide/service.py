"""The road of one answer: admit, gather, protect, decide, record, release. The only place where engines meet protection."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from confide.access import Access
from confide.engines import Engine
from confide.engines.duckdb import DuckDBEngine
from confide.errors import Mistake, Reason, Refused, Suggestion, nearest
from confide.ledger import Ledger
from confide.ledger import read as read_ledger
from confide.model.catalog import Dataset
from confide.model.evidence import Box
from confide.model.policy import Policy
from confide.model.release import Release
from confide.model.request import Table
from confide.queries.analyses.table import Answer, Scales, dimensions, gather, prepare, protect
from confide.queries.census import Census
from confide.queries.draws import Draws
from confide.queries.mechanisms.drop import drop, strata
from confide.queries.notes import notes, scope
from confide.queries.rules.admission import admit, check_shape
from confide.queries.rules.universe import Judge, judge_universe
from confide.queries.suggest import neighbours
from confide.queries.universe import Resolved, resolve
from confide.secret import Secret
from confide.site.encode import catalog_mark
from confide.site.folder import Folder
from confide.spelling.json import write_request
from confide.spelling.url import write_url

__all__ = ["Desk", "Replayed", "Service"]

SUGGESTIONS = 3
TRIED = 12
"""At most so many nearby requests are tried before a refusal, so many of which are offered."""


class Desk:
    """Answers questions about one data set under one policy, without recording them. Only the service uses it."""

    def __init__(self, dataset: Dataset, engine: Engine, policy: Policy, secret: Secret) -> None:
        self.dataset, self.policy, self._engine, self._secret = dataset, policy, engine, secret
        prepare(policy, Draws(secret))
        self._cached = lru_cache(maxsize=64)(engine.tally)
        self._drops = lru_cache(maxsize=4096)(self._draw_drops)

    def consider(self, request: Table) -> Answer:
        """What the policy makes of a request: protected columns, or the reasons to refuse."""
        admit(request, self.dataset)
        reasons = check_shape(request, self.dataset, self.policy)
        if reasons:
            return Answer({}, reasons)
        universe = resolve(request.where, self.dataset)
        reasons = judge_universe(
            universe, self._census(universe), self.dataset, Judge(self.policy.universe, self._draws)
        )
        if reasons:
            return Answer({}, reasons)
        return self._answer(request, universe)

    def release(self, request: Table, answer: Answer) -> Release:
        """The answer as it leaves."""
        return Release(
            request=request,
            title=self.dataset.title,
            scope=scope(request.where, self.dataset),
            dimensions=dimensions(request, self.dataset),
            columns=answer.columns,
            notes=notes(request, self.policy),
            totals_add=not self.policy.protects,
            policy=self.policy.title,
            receipt=self.receipt(request),
            source=self.dataset.source,
        )

    def suggest(self, request: Table) -> Iterator[Suggestion]:
        """Nearby requests that pass. Each could have been asked by the analyst, so naming them tells nothing more."""
        for words, near in islice(neighbours(request, self.dataset), TRIED):
            try:
                passes = not self.consider(near).reasons
            except Mistake:
                continue
            if passes:
                yield Suggestion(words, write_url(near))

    def receipt(self, request: Table) -> str:
        """The content address of the answer: the request bound to the versions of data, policy and keys."""
        facts = self._engine.facts
        bound = [write_request(request), facts.data, facts.keys, self.policy.mark]
        return "cfd-" + hashlib.sha256(json.dumps(bound, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def data(self) -> str:
        return self._engine.facts.data

    def close(self) -> None:
        self._engine.close()

    @property
    def _draws(self) -> Draws:
        return Draws(self._secret)

    def _census(self, universe: Resolved) -> Census:
        return Census(self._cached, universe.variables, self._engine.facts.several)

    def _draw_drops(self, universe: Resolved) -> tuple[int, ...]:
        def units(within: Sequence[Box], low: int, high: int) -> NDArray[np.int64]:
            return self._engine.units(within, low=low, high=high)

        census = self._census(universe)
        boxes = strata(universe, census, self.dataset)
        return drop(boxes, census, units, k=self.policy.drop.k, secret=self._secret)

    def _answer(self, request: Table, universe: Resolved) -> Answer:
        facts = self._engine.facts
        evidence = gather(
            request,
            self.dataset,
            self.policy,
            self._engine.tally,
            within=universe.boxes,
            without=self._drops(universe) if self.policy.drop.k >= 2 else (),
            several=facts.several,
        )
        scales = Scales(facts.weight_decimals, facts.decimals.get(request.of or "", 0))
        return protect(request, self.dataset, self.policy, evidence, draws=self._draws, scales=scales)


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

    def __init__(
        self, folder: Folder, desks: Mapping[str, Desk], policy: Policy, ledger: Ledger, access: Access
    ) -> None:
        self.folder, self.policy, self.access = folder, policy, access
        self._desks, self._ledger = desks, ledger

    @classmethod
    def open(cls, path: str | Path, *, allow_open: bool = False) -> Self:
        """Open a site; anything missing or out of step stops the start."""
        folder = Folder(Path(path))
        names = folder.names()
        if not names:
            raise Mistake(
                f"The site {str(path)!r} has no data sets.", suggestions=["Add one: confide init FILE -o PATH."]
            )
        policy = folder.policy()
        if not policy.protects and not allow_open:
            raise Mistake(
                f"The policy {policy.name!r} protects nothing.", suggestions=["For teaching only: add --allow-open."]
            )
        access = Access.load(folder.access)
        desks: dict[str, Desk] = {}
        ledger = Ledger(folder.ledger)
        try:
            for name in names:
                desks[name] = open_desk(folder, name, policy)
        except BaseException:
            ledger.close()
            for desk in desks.values():
                desk.close()
            raise
        return cls(folder, desks, policy, ledger, access)

    @property
    def datasets(self) -> dict[str, Dataset]:
        """What may be asked about."""
        return {name: desk.dataset for name, desk in self._desks.items()}

    def answer(self, request: Table, *, who: str = "local") -> Release:
        """A protected answer, recorded before it is given; or Mistake, Refused, Fault."""
        desk = self.desk(request.dataset)
        admit(request, desk.dataset)
        self._check_quota(request.dataset, who)
        answer = desk.consider(request)
        if answer.reasons:
            suggestions = list(islice(desk.suggest(request), SUGGESTIONS))
            self._record(desk, request, who, answer.reasons, None)
            raise Refused(answer.reasons, policy=self.policy.title, suggestions=suggestions)
        release = desk.release(request, answer)
        self._record(desk, request, who, [], release)
        return release

    def desk(self, name: str) -> Desk:
        """Where questions about a data set are considered."""
        if name not in self._desks:
            hint = nearest(name, self._desks) or ["There are " + ", ".join(self._desks) + "."]
            raise Mistake(f"There is no data set called {name[:60]!r}.", suggestions=hint)
        return self._desks[name]

    def replay(self, policy: Policy) -> Iterator[Replayed]:
        """Every recorded question under a draft policy. Nothing is recorded or released."""
        from confide.spelling.json import read_request

        drafts = {name: open_desk(self.folder, name, policy) for name in self._desks}
        try:
            for entry in read_ledger(self.folder.ledger):
                before = ", ".join(entry.rules) or entry.outcome
                try:
                    reasons = drafts[entry.dataset].consider(read_request(entry.request)).reasons
                    after = ", ".join(reason.rule for reason in reasons) or "released"
                except (Mistake, KeyError):
                    after = "no longer well formed"
                yield Replayed(entry.number, entry.request, before, after)
        finally:
            for desk in drafts.values():
                desk.close()

    def close(self) -> None:
        self._ledger.close()
        for desk in self._desks.values():
            desk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_quota(self, dataset: str, who: str) -> None:
        limit = self.policy.quota.per_day
        if limit and self._ledger.asked(who, dataset, datetime.now(UTC).date()) >= limit:
            reason = Reason(
                "quota.per_day", f"You have asked {limit} questions of {dataset!r} today, the most allowed."
            )
            raise Refused([reason], policy=self.policy.title, suggestions=["Ask again tomorrow (UTC)."])

    def _record(self, desk: Desk, request: Table, who: str, reasons: Sequence[Reason], release: Release | None) -> None:
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


def open_desk(folder: Folder, name: str, policy: Policy) -> Desk:
    """A data set with its store, checked to be of the present catalog and secret."""
    dataset, secret = folder.dataset(name), folder.secret()
    if not folder.store(name).exists():
        raise Mistake(f"The data of {name!r} are not ingested.", suggestions=[f"Run: confide ingest FILE SITE {name}"])
    engine = DuckDBEngine(folder.store(name))
    if engine.facts.catalog != catalog_mark(dataset):
        engine.close()
        raise Mistake(
            f"dataset.toml of {name!r} changed how records are coded since the data were ingested.",
            suggestions=[f"Run: confide ingest FILE SITE {name}"],
        )
    if engine.facts.keys != secret.version:
        engine.close()
        raise Mistake(f"The data of {name!r} were ingested under another secret. Restore that secret, or ingest again.")
    return Desk(dataset, engine, policy, secret)


def _digest(release: Release) -> str:
    """A fingerprint of the numbers released."""
    digest = hashlib.sha256()
    for name, column in sorted(release.columns.items()):
        digest.update(name.encode() + column.values.tobytes() + column.marks.tobytes() + column.noise.tobytes())
    return digest.hexdigest()
