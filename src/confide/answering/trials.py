"""Trying another policy on the questions that were asked. Nothing is recorded or released."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from confide.answering.opening import named
from confide.answering.road import Road
from confide.errors import Mistake
from confide.model.policy import Policy
from confide.site import ledger
from confide.site.folder import Papers
from confide.site.ledger import Entry
from confide.spelling.json import read_request

__all__ = ["Replayed", "drafted_policies", "not_tried", "replay_roads", "same_numbers", "trial", "whole_trial"]

_KEPT = ("records", "drop", "counts", "totals")
"""Sections of a draft that a trial leaves as they are in force: the numbers stay protected as they are today."""

REMEMBERED = 10_000
"""So many outcomes of different questions a replay remembers: the same question has the same outcome for ever."""


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


def drafted_policies(
    papers: Papers, roads: Mapping[str, Road], draft: Policy, dataset: str | None
) -> dict[str, Policy]:
    """What the policies of data sets would be under a draft: of one, or of all that the site's policy says something of."""
    if dataset is not None:
        return {named(roads, dataset).dataset.name: draft}
    would = {name: papers.policy(name, site=draft) for name in roads}
    return {name: policy for name, policy in would.items() if papers.follows(name) or policy != roads[name].policy}


def replay_roads(
    papers: Papers,
    roads: Mapping[str, Road],
    draft: Policy,
    *,
    dataset: str | None,
    trying: Callable[[Policy, Policy], Policy],
) -> Iterator[Replayed]:
    """The recorded questions about the data sets that a draft is for, each under `trying(draft, policy in force)`."""
    drafted = drafted_policies(papers, roads, draft, dataset)
    tried = {name: roads[name].under(trying(policy, roads[name].policy)) for name, policy in drafted.items()}
    aside = set(roads) - set(tried)
    wanted = (
        e
        for e in ledger.read_questions(papers.ledger)
        if (e.dataset not in aside if dataset is None else e.dataset == dataset) and _was_decided(e)
    )
    return _replayed(tried, wanted)


def _was_decided(entry: Entry) -> bool:
    """Whether the policy decided a question: not if it was stopped before."""
    return entry.outcome != "cancelled" and not any(rule.startswith("quota.") for rule in entry.rules)


def _replayed(tried: Mapping[str, Road], entries: Iterable[Entry]) -> Iterator[Replayed]:
    @lru_cache(maxsize=REMEMBERED)
    def outcome(dataset: str, request: str) -> str:
        try:
            road = tried[dataset]
            reasons = road.consider(road.admit(read_request(json.loads(request)))).reasons
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
    # The records are those that were protected at ingest, whatever the draft says of them.
    noise = {name: getattr(force.universe, name) for name in ("decide_on", "noise_distance", "noise_variance")}
    kept = {name: getattr(force, name) for name in _KEPT}
    return replace(draft, universe=replace(draft.universe, **noise), **kept)


def same_numbers(one: Policy, two: Policy) -> bool:
    """Whether two policies protect numbers alike, and differ in limits at most."""
    noise = ("decide_on", "noise_distance", "noise_variance")
    return (
        all(getattr(one, name) == getattr(two, name) for name in _KEPT)
        and all(getattr(one.universe, name) == getattr(two.universe, name) for name in noise)
        and (one.tables.additive, one.output) == (two.tables.additive, two.output)
    )


def not_tried(draft: Policy, force: Policy) -> list[str]:
    """The sections that a draft would change and a replay does not; that of the records never, since they are as ingested."""
    kept = ("records",) if force.universe.decide_on == "true" else _KEPT
    return [name for name in kept if getattr(draft, name) != getattr(force, name)]


def whole_trial(draft: Policy, force: Policy) -> Policy:
    """As `trial`, for who sits at the machine of the site: there is nothing more to tell where rules see true counts."""
    return draft if force.universe.decide_on == "true" else trial(draft, force)
