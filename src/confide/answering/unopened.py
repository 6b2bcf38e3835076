"""What a custodian makes of a site without opening it as a service: replays, findings, audits and maps. Nothing is recorded."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from confide.answering.auditing.audit import QuestionAudit, audit_questions, joined
from confide.answering.check import Finding, check_roads
from confide.answering.frontier.mapping import FrontierQuestion, Mapped, map_road
from confide.answering.opening import named, open_roads
from confide.answering.road import Road
from confide.answering.trials import Replayed, replay_roads, whole_trial
from confide.errors import Mistake, nearest
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.records.keeping import read_truth
from confide.site import ledger
from confide.site.access import load_access
from confide.site.folder import Folder
from confide.site.ledger import Entry
from confide.site.profiling.stored import suspicions_of_records
from confide.site.profiling.suspicions import Suspicion

__all__ = ["audit", "audit_roads", "check", "frontier", "replay"]


def replay(
    path: str | Path, policy: Policy, *, dataset: str | None = None, allow_open: bool = False
) -> Iterator[Replayed]:
    """Every recorded question of a site under a draft policy, as `Service.replay` gives it; the site need not be stopped."""
    folder = Folder(Path(path))
    with open_roads(folder, allow_open=allow_open) as roads:
        yield from replay_roads(folder, roads, policy, dataset=dataset, trying=whole_trial)


def check(path: str | Path, *, allow_open: bool = False) -> list[Finding]:
    """The findings for a site that is not open, as `Service.check` gives them, and what the true records look like besides.
    Nothing is recorded."""
    folder = Folder(Path(path))
    with open_roads(folder, allow_open=allow_open) as roads:
        looks = {name: _looks(folder, road.dataset) for name, road in roads.items() if road.dataset.level is None}
        return check_roads(roads, load_access(folder.access), looks)


def _looks(folder: Folder, dataset: Dataset) -> list[Suspicion]:
    """What the true records of a data set look like; they may be kept elsewhere."""
    try:
        return list(suspicions_of_records(dataset, read_truth(folder, dataset.name)))
    except Mistake:
        return [Suspicion("note", "the true records are not here, so nobody looked at their columns", ())]


def audit(
    path: str | Path, dataset: str = "", *, who: str | None = None, since: str = "", allow_open: bool = False
) -> QuestionAudit:
    """The audit of a site's questions as `Service.audit_questions` gives it; the site need not be stopped."""
    folder = Folder(Path(path))
    with open_roads(folder, allow_open=allow_open) as roads:
        entries = list(ledger.read_questions(folder.ledger))
        return audit_roads(roads, entries, dataset=dataset, who=who, since=since)


def frontier(
    path: str | Path,
    dataset: str,
    wanted: FrontierQuestion,
    *,
    threshold: float | None = None,
    slope: float | None = None,
    allow_open: bool = False,
) -> Mapped:
    """The map of models of a sensitive variable of a site that is not open, with a release chosen by a threshold of risk or
    a slope, if one is given. True figures: for the custodian alone.
    """
    folder = Folder(Path(path))
    with open_roads(folder, allow_open=allow_open) as roads:
        road = named(roads, dataset)
        found = map_road(road, wanted)
    return found.choose(threshold=threshold, slope=slope)


def audit_roads(
    roads: Mapping[str, Road], entries: Sequence[Entry], *, dataset: str, who: str | None, since: str
) -> QuestionAudit:
    """What recorded questions isolate, of one data set or of all; a Mistake if nobody of that name asked, or the date is none."""
    chosen = [named(roads, dataset)] if dataset else list(roads.values())
    askers = {entry.who for entry in entries}
    if who is not None and who not in askers:
        raise Mistake(f"Nobody called {who[:60]!r} has asked anything.", suggestions=nearest(who, askers))
    if since and not _is_date(since):
        raise Mistake(f"{since[:60]!r} is no date.", suggestions=["Write it as in 2026-01-31."])
    return joined(
        audit_questions(
            [entry for entry in entries if entry.dataset == road.dataset.name and entry.time >= since],
            road.store,
            road.admit,
            policy=road.policy,
            who=who,
        )
        for road in chosen
    )


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
