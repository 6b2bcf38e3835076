"""What a custodian should know before opening a site: what is missing, what is risky, what cannot be answered."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from confide.answering.mechanisms.dropq.risk import apparent_probability, disclosure_bounds, disclosure_probability
from confide.answering.road import Road
from confide.answering.rules.registry import RULES
from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.model.policy import Policy
from confide.model.request import TableRequest
from confide.records.report import highest_ceilings
from confide.site.access import Access, Reach
from confide.site.profiling.relations import SAME, cramers_v
from confide.site.profiling.suspicions import Suspicion, suspicions

__all__ = ["Finding", "check_roads"]

RISKY = 0.1
"""Differencing that discloses with more than this probability is worth a warning."""

HIGH = 0.15
"""A ceiling that is further than this above what could be guessed is worth a warning."""

PAIRS = 50
"""At most so many pairs of variables are compared."""

NAMED = 4
"""At most so many variables are named in one finding."""


@dataclass(frozen=True)
class Finding:
    """One sentence, and whether something is missing, risky, unanswerable, or just good to know (a note)."""

    kind: str
    text: str


def check_roads(
    roads: Mapping[str, Road], access: Access, looks: Mapping[str, Iterable[Suspicion]] | None = None
) -> list[Finding]:
    """The findings for each data set and the policies that they have, from protected answers. Nothing is recorded.

    `looks` is what the true records look like, by data set, where somebody has looked at them.
    """
    findings = list(_policies(roads))
    for name, road in roads.items():
        findings += [*_catalog(road.dataset, road.policy), *_answers(road), *_twice(road), *_ceilings(road)]
        findings += _suspected(name, (looks or {}).get(name, ()))
    findings += _access(access)
    order = ("missing", "risky", "unanswerable", "note")
    return sorted(findings, key=lambda finding: order.index(finding.kind))


def _ceilings(road: Road) -> Iterator[Finding]:
    """What a perfect reconstruction of the protected records would tell, where they are protected."""
    name = road.dataset.name
    high = [ceiling for ceiling in road.ceilings if ceiling.lift > HIGH]
    for words in highest_ceilings(high):
        yield Finding("risky", f"{name}: {words}")
    for words in highest_ceilings([ceiling for ceiling in road.ceilings if ceiling not in high]):
        yield Finding("note", f"{name}: {words}")


def _access(access: Access) -> Iterator[Finding]:
    yield Finding("note", f"Who may reach the site is declared as {access.words} (access.toml).")
    if access.reach is Reach.TOKENS and not access.tokens:
        yield Finding("missing", "Only people with a token may ask, and nobody has one (confide token add).")


def _policies(roads: Mapping[str, Road]) -> Iterator[Finding]:
    """What is to be said of the policies, each thing once; of which data sets, unless it is true of all."""
    found: dict[Finding, list[str]] = {}
    for name, road in roads.items():
        for finding in _policy(road.policy):
            found.setdefault(finding, []).append(name)
    for finding, names in found.items():
        of = f"{', '.join(names)}: " if len(names) < len(roads) else ""
        yield Finding(finding.kind, of + finding.text)


def _policy(policy: Policy) -> Iterator[Finding]:
    if policy.universe.decide_on == "true":
        yield Finding("risky", "Rules look at true counts: every refusal tells one exact bit (universe.decide_on).")
    if policy.counts.mechanism == "none":
        yield Finding("risky", "Counts are not perturbed (counts.mechanism).")
    if policy.counts.mechanism == "safe" and not policy.records.changes:
        yield Finding("note", "Nothing but counts is answered, since only they come from the SAFE base (counts.base).")
    if policy.totals.mechanism == "none" and not policy.records.noise:
        yield Finding("risky", "Totals and means are not perturbed (totals.mechanism, records.noise).")
    if policy.updates.least < 2:
        yield Finding(
            "risky", "New data may differ by one unit, and the answers before and after tell of it (updates.least)."
        )
    if policy.updates.asked and not policy.updates.kept:
        yield Finding("note", "Older vintages may be asked about, but none is kept (updates.kept).")
    if policy.records.changes and not policy.tables.cross:
        yield Finding("risky", "Any cell of any cross can be reached, of few units or one (tables.cross).")
    if not policy.records.changes:
        yield from _differences(policy)
    if policy.drop.k < 2:
        return
    least, most = disclosure_bounds(4, k=policy.drop.k)
    yield Finding(
        "note",
        f"Drop q alone: differencing two universes that differ by one unit discloses its class in a 4-cell table "
        f"with probability {least:.3f} at best and {most:.2f} at worst.",
    )


def _differences(policy: Policy) -> Iterator[Finding]:
    """What differences of answers tell where records are answered from as they are; of protected ones they tell no more."""
    for rule in RULES:
        if rule.unguarded and not rule.applies(policy):
            yield Finding("risky", f"{rule.unguarded} ({rule.name}).")
    if policy.drop.k < 2:
        yield Finding("risky", "No units are dropped: universes can be differenced (drop.k).")


def _catalog(dataset: Dataset, policy: Policy) -> Iterator[Finding]:
    name = dataset.name
    for key in ("source", "period"):
        if not getattr(dataset, key):
            yield Finding("missing", f"{name}: no {key} is given.")
    if dataset.title == name:
        yield Finding("missing", f"{name}: the title is still the name.")
    if dataset.unit is None:
        yield Finding("missing", f"{name}: no unit is named, so every record counts as one unit.")
    shown = [v for v in dataset.variables.values() if v.role is not Role.IDENTIFIER]
    if not any(v.role is Role.CONFIDENTIAL for v in shown):
        yield Finding("missing", f"{name}: no variable is confidential, so no table is refused for what it tells.")
    yield from _listed("missing", name, "no label", [v for v in shown if v.label == v.name and v.of is None])
    yield from _listed(
        "missing",
        name,
        "no declared minimum, so totals are protected as if they could be negative",
        [v for v in shown if v.measurable and v.minimum is None],
    )
    yield from _listed(
        "unanswerable",
        name,
        "no cutpoints, so no table or universe can use them",
        [v for v in shown if v.numeric and not v.binned and not _recoded(dataset, v.name)],
    )
    yield from _slivers(dataset, policy)
    yield from _suspected(name, suspicions(dataset))


def _suspected(name: str, found: Iterable[Suspicion]) -> Iterator[Finding]:
    for suspicion in found:
        if suspicion.variables:
            yield from _listed(suspicion.kind, name, suspicion.words, suspicion.variables)
        else:
            yield Finding(suspicion.kind, f"{name}: {suspicion.words}.")


def _listed(kind: str, name: str, what: str, variables: Sequence[Variable]) -> Iterator[Finding]:
    """One sentence about some variables, the first few by name."""
    if variables:
        some = ", ".join(repr(v.name) for v in variables[:NAMED])
        rest = f" and {len(variables) - NAMED} more" if len(variables) > NAMED else ""
        yield Finding(kind, f"{name}: {what}: {some}{rest}.")


def _recoded(dataset: Dataset, name: str) -> bool:
    return any(v.of == name for v in dataset.variables.values())


def _slivers(dataset: Dataset, policy: Policy) -> Iterator[Finding]:
    """Two sets of cutpoints of one number, neither inside the other, cut slivers out of each other's bins.

    Where the cross is judged it has these slivers for cells, so that they cost answers rather than protection.
    """
    kind = "note" if policy.tables.cross else "risky"
    costs = "differences of their bins are slivers" + (", and both count as cut into these" if kind == "note" else "")
    binned = [v for v in dataset.variables.values() if v.binned and v.universe and v.role is not Role.IDENTIFIER]
    for i, first in enumerate(binned):
        for second in binned[i + 1 :]:
            if first.column == second.column:
                a, b = set(first.cutpoints), set(second.cutpoints)
                if not (a <= b or b <= a):
                    yield Finding(
                        kind,
                        f"{dataset.name}: the cutpoints of {first.name!r} and {second.name!r} cut across each other; "
                        f"{costs}. Make one a refinement of the other.",
                    )


def _answers(road: Road) -> Iterator[Finding]:
    """Which one-variable tables are refused, and what differencing could tell from the ones that are not."""
    name, k = road.dataset.name, road.policy.drop.k
    risks: dict[str, float] = {}
    for variable in road.dataset.variables.values():
        if not variable.classifies:
            continue
        considered = road.consider(road.admit(TableRequest(name, (variable.name,))))
        if considered.reasons:
            rules = ", ".join(reason.rule for reason in considered.reasons)
            yield Finding("unanswerable", f"{name}: the table by {variable.name!r} is refused ({rules}).")
            continue
        counts = considered.protected.columns["count"].values[:-1]
        shares = counts[counts > 0] / max(counts.sum(), 1)
        if k >= 2 and len(shares) > 1 and variable.role is Role.CONFIDENTIAL:
            risks[variable.name] = disclosure_probability(shares, k=k)
            if risks[variable.name] > RISKY:
                yield _differencing(name, variable.name, shares, k)
    if risks and max(risks.values()) <= RISKY:
        worst = max(risks, key=lambda variable: risks[variable])
        yield Finding(
            "note",
            f"{name}: differencing tables by a confidential variable discloses with probability {risks[worst]:.3f} "
            f"at most (by {worst!r}).",
        )


def _twice(road: Road) -> Iterator[Finding]:
    """Variables that say nearly the same as another, by the protected table of both: their few differences single units out."""
    shown = [v for v in road.dataset.variables.values() if v.classifies and not v.numeric]
    pairs = [(a, b) for i, a in enumerate(shown) for b in shown[i + 1 :] if _same_shape(road.dataset, a, b)]
    for one, other in pairs[:PAIRS]:
        considered = road.consider(road.admit(TableRequest(road.dataset.name, (one.name, other.name))))
        if considered.protected is None:
            continue
        counts = considered.protected.columns["count"].values[:-1, :-1]
        if cramers_v(counts) >= SAME:
            words = f"{other.name!r} says nearly the same as {one.name!r}; their few differences single units out."
            yield Finding("risky", f"{road.dataset.name}: {words} Leave one out.")


def _same_shape(dataset: Dataset, one: Variable, other: Variable) -> bool:
    kin = dataset.root(one.name) == dataset.root(other.name)
    return not kin and len(one.codes or ()) == len(other.codes or ()) > 1


def _differencing(name: str, variable: str, shares: Sequence[float], k: int) -> Finding:
    apparent, correct = apparent_probability(shares, k=k)
    return Finding(
        "risky",
        f"{name}: differencing tables by {variable!r} discloses with probability {correct * apparent:.3f}: most units "
        f"are in one class. What looks like a disclosure ({apparent:.3f}) is right with probability {correct:.2f}.",
    )
