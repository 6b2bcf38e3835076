"""What a custodian should know before opening a site: what is missing, what is risky, what cannot be answered."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from confide.model.catalog import Dataset, Role
from confide.model.policy import Policy
from confide.model.request import Table
from confide.queries.dropq import apparent_probability, disclosure_bounds, disclosure_probability
from confide.service import Desk, Service

__all__ = ["Finding", "check_site"]


@dataclass(frozen=True)
class Finding:
    """One sentence, and whether something is missing, risky, unanswerable, or just good to know."""

    kind: str
    text: str


def check_site(site: str | Path, *, allow_open: bool = False) -> list[Finding]:
    """The findings for a site's policy and each of its data sets. Nothing is recorded."""
    with Service.open(site, allow_open=allow_open) as service:
        findings = list(_policy(service.policy))
        for name, dataset in service.datasets.items():
            findings += [*_catalog(dataset), *_answers(service.desk(name))]
        if not service.access.tokens:
            findings.append(Finding("note", "There are no tokens: the site answers on this machine only."))
    return findings


def _policy(policy: Policy) -> Iterator[Finding]:
    if policy.universe.decide_on == "true":
        yield Finding("risky", "Rules look at true counts: every refusal tells one exact bit (universe.decide_on).")
    if policy.counts.mechanism == "none":
        yield Finding("risky", "Counts are not perturbed (counts.mechanism).")
    if policy.drop.k < 2:
        yield Finding("risky", "No units are dropped: universes can be differenced (drop.k).")
    if not policy.universe.complement:
        yield Finding("risky", "Universes that leave out a few units are allowed: trackers work (universe.complement).")
    if policy.drop.k >= 2:
        least, most = disclosure_bounds(4, k=policy.drop.k)
        yield Finding(
            "note",
            f"Drop q alone: differencing two universes that differ by one unit discloses its class in a 4-cell table "
            f"with probability {least:.3f} at best and {most:.2f} at worst.",
        )


def _catalog(dataset: Dataset) -> Iterator[Finding]:
    name = dataset.name
    for key in ("source", "period"):
        if not getattr(dataset, key):
            yield Finding("missing", f"{name}: no {key} is given.")
    if dataset.title == name:
        yield Finding("missing", f"{name}: the title is still the name.")
    if dataset.unit is None:
        yield Finding("missing", f"{name}: no unit is named, so every record counts as one unit.")
    shown = [v for v in dataset.variables.values() if v.role is not Role.IDENTIFIER]
    bare = [v.name for v in shown if v.label == v.name]
    if bare:
        yield Finding("missing", f"{name}: {len(bare)} variables have no label ({', '.join(bare[:4])}).")
    for variable in shown:
        if variable.numeric and not variable.binned and variable.of is None and not _recoded(dataset, variable.name):
            yield Finding(
                "unanswerable", f"{name}: {variable.name!r} has no cutpoints, so it cannot define a universe."
            )
        if variable.measurable and variable.minimum is None:
            yield Finding(
                "missing", f"{name}: {variable.name!r} declares no minimum; it is treated as possibly negative."
            )
    yield from _slivers(dataset)


def _recoded(dataset: Dataset, name: str) -> bool:
    return any(v.of == name for v in dataset.variables.values())


def _slivers(dataset: Dataset) -> Iterator[Finding]:
    """Two sets of cutpoints of one number, neither inside the other, cut slivers out of each other's bins."""
    binned = [v for v in dataset.variables.values() if v.binned and v.universe]
    for i, first in enumerate(binned):
        for second in binned[i + 1 :]:
            if first.column == second.column:
                a, b = set(first.cutpoints), set(second.cutpoints)
                if not (a <= b or b <= a):
                    yield Finding(
                        "risky",
                        f"{dataset.name}: the cutpoints of {first.name!r} and {second.name!r} cut across each other; "
                        f"differences of their bins are slivers. Make one a refinement of the other.",
                    )


def _answers(desk: Desk) -> Iterator[Finding]:
    """Which one-variable tables are refused, and what differencing could tell from the ones that are not."""
    name, k = desk.dataset.name, desk.policy.drop.k
    for variable in desk.dataset.variables.values():
        if not variable.classifies:
            continue
        answer = desk.consider(Table(name, (variable.name,)))
        if answer.reasons:
            rules = ", ".join(reason.rule for reason in answer.reasons)
            yield Finding("unanswerable", f"{name}: the table by {variable.name!r} is refused ({rules}).")
            continue
        counts = answer.columns["count"].values[:-1]
        shares = counts[counts > 0] / max(counts.sum(), 1)
        if k >= 2 and len(shares) > 1 and variable.role is Role.CONFIDENTIAL:
            risk = disclosure_probability(shares, k=k)
            apparent, correct = apparent_probability(shares, k=k)
            yield Finding(
                "risky" if risk > 0.1 or correct > 0.8 else "note",
                f"{name}: differencing tables by {variable.name!r} discloses with probability {risk:.3f}; "
                f"what looks like a disclosure ({apparent:.3f}) is right with probability {correct:.2f}.",
            )
