"""What tuning found, to be read: as lines, as a page with the map, and as a policy under its evidence."""

from collections.abc import Iterator
from math import isnan

import pyarrow as pa

from confide.attacks.tuning.trial import PolicyTrial
from confide.attacks.tuning.tuning import Tuning
from confide.attacks.tuning.variants import words
from confide.data.report import Chart, ReportPage
from confide.data.risk_utility import axes, layer, map_chart, named
from confide.formats.charts.colours import LINE, POINT
from confide.formats.charts.theme import Spec
from confide.model.policy import PRESETS, write_policy

__all__ = ["HEAD", "map_of", "page_of", "policy_text", "rows", "sentences"]

HEAD = ("", "policy", "lift", "±", "worst attack", "ceiling", "answered", "error", "remarks")
"""The number on the map, what is changed, points of lift with their standard error, points of the ceiling above a good guess,
percent of the honest questions, sampling errors."""


def rows(found: Tuning) -> Iterator[tuple[str, ...]]:
    """The variants, one line each."""
    for number, trial in enumerate(found.trials, 1):
        yield (str(number), trial.words, *_figures(trial), " ".join(_remarks(found, trial)))


def _figures(trial: PolicyTrial) -> tuple[str, ...]:
    risk = ("[x]", "") if isnan(trial.risk) else (f"{100 * trial.risk:.1f}", f"{100 * trial.standard_error:.1f}")
    worst = trial.worst.attack if trial.worst and trial.risk > 0 else ""
    ceiling = "none" if trial.ceiling is None else f"{100 * trial.ceiling:.1f}"
    return (*risk, worst, ceiling, f"{100 * trial.share:.1f}", f"{trial.error:.2f}")


def _remarks(found: Tuning, trial: PolicyTrial) -> Iterator[str]:
    if trial in found.frontier:
        yield "*"
    if trial == found.recommended and trial.within(found.limit):
        yield "recommended"
    elif trial == found.recommended:
        yield "least risky"
    if trial.worst is None:
        yield "no attack could be tried"


def sentences(found: Tuning) -> Iterator[str]:
    """What the figures come to."""
    best, limit = found.recommended, f"the limit of {100 * found.limit:g} points of lift"
    within = [trial for trial in found.trials if trial.within(found.limit)]
    yield f"* on the frontier: none has less risk and answers as much. {len(within)} of {len(found.trials)} are within {limit}."
    if best is None:
        yield "Nothing can be recommended: no variant was measured to its end."
    elif not best.within(found.limit):
        yield f"None is within {limit}. The least risky: {best.words}."
    elif best.changes:
        yield f"Recommended: {best.words}. {_compared(found, best)}"
    else:
        yield "Recommended: the policy as it is."
    if best and best.worst and best.within(found.limit) and best.risk + 2 * best.standard_error > found.limit:
        yield (
            f"With {best.worst.targets} targets a lift above the limit may have been missed. Before you put it in "
            "force, attack it with more targets and all attacks: confide attack --policy."
        )
    yield from (f"{trial.words}: broke down: {', '.join(trial.broken)}." for trial in found.trials if trial.broken)
    if found.left:
        yield f"The time ran out: {found.left} not measured. Go on with the same options and --json."


def _compared(found: Tuning, best: PolicyTrial) -> str:
    now = found.now
    if now is None:
        return ""
    risk = "unknown" if isnan(now.risk) else f"{100 * now.risk:.1f}"
    return (
        f"Lift {100 * best.risk:.1f} points (as it is: {risk}), answered {100 * best.share:.0f} % ({100 * now.share:.0f} %), "
        f"median error {best.error:.2f} sampling errors ({now.error:.2f})."
    )


def page_of(found: Tuning) -> ReportPage:
    """The map and all figures as a page for the custodian."""
    about = found.conditions
    facts = {
        "Data set": about.dataset,
        "Policy": f"{about.policy} ({about.mark})",
        "When": found.when,
        "Attacks": f"{', '.join(about.attacks)}; at most {about.targets:,} targets and {about.questions:,} questions each",
        "Honest questions": f"{about.workload:,}; seed {about.seed}",
    }
    drawn = any(not isnan(trial.risk) for trial in found.trials)
    return ReportPage(
        f"Policies for {about.dataset}",
        sentences=tuple(sentences(found)),
        charts=(Chart.of(map_of(found), grows=True),) if drawn else (),
        grids=(("Variants", _grid(found)), ("Lift of each attack, in points", _lifts(found))),
        facts=facts,
        warning="For the custodian only: it says how the site can be attacked.",
    )


def _grid(found: Tuning) -> pa.Table:
    lines = list(rows(found))
    return pa.table({name or "number": [line[place] for line in lines] for place, name in enumerate(HEAD)})


def _lifts(found: Tuning) -> pa.Table:
    lifts = [
        {r.attack: round(100 * r.lift, 1) for r in trial.results if r.applies and r.targets} for trial in found.trials
    ]
    columns = {attack: pa.array([by.get(attack) for by in lifts], pa.float64()) for attack in found.conditions.attacks}
    return pa.table({"policy": pa.array([trial.words for trial in found.trials], pa.string()), **columns})


def map_of(found: Tuning) -> Spec:
    """The map in Vega-Lite: variants as points with their numbers, the frontier as a line, the limit as a dashed one."""
    points = [
        {
            "risk": round(100 * trial.risk, 2),
            "answered": round(100 * trial.share, 2),
            "frontier": trial in found.frontier,
        }
        for trial in found.trials
        if not isnan(trial.risk)
    ]
    sides = axes("honest questions answered, percent", "lift of the worst attack, points", field="answered")
    sides["x"]["scale"] = {"zero": False, "nice": True}
    colours = {"domain": [True, False], "range": [LINE, POINT]}
    colour = {"field": "frontier", "type": "nominal", "scale": colours, "legend": {"orient": "top"}}
    dashed = {"type": "rule", "strokeDash": [4, 4], "color": LINE}
    return map_chart(
        "Risk and utility",
        f"Policies by the share of honest questions answered and the lift of the worst attack. On the frontier: "
        f"{'; '.join(trial.words for trial in found.frontier)}. A line stands at the limit of {100 * found.limit:g} points.",
        points=layer({"type": "point", "filled": True, "size": 60}, points, {**sides, "color": colour}),
        line=[point for point in points if point["frontier"]],
        more=[
            *named(_labels(found), sides, "numbers"),
            layer(dashed, [{"risk": 100 * found.limit}], {"y": sides["y"]}),
        ],
    )


def _labels(found: Tuning) -> list[dict[str, object]]:
    """The numbers of the variants at each place of the map: several may share one."""
    at: dict[tuple[float, float], list[str]] = {}
    for number, trial in enumerate(found.trials, 1):
        if not isnan(trial.risk):
            at.setdefault((round(100 * trial.risk, 2), round(100 * trial.share, 2)), []).append(str(number))
    return [{"risk": risk, "answered": share, "numbers": ", ".join(these)} for (risk, share), these in at.items()]


def policy_text(found: Tuning, *, command: str) -> str:
    """The recommended policy as TOML, under comments that say what it rests on."""
    policy, best = found.policy, found.recommended
    assert policy is not None and best is not None
    about = found.conditions
    evidence = [
        f"Chosen by: {command}",
        f"{found.when}, data set {about.dataset}, policy {about.policy} ({about.mark}), seed {about.seed}",
        f"Attacks: {', '.join(about.attacks)}; at most {about.targets} targets and {about.questions} questions each.",
        f"Honest questions: {about.workload}. Policies measured: {len(found.trials)}.",
        f"This policy ({words(best.changes)}): {_evidence(best)}",
        *([f"The policy before: {_evidence(found.now)}"] if found.now and best.changes else ()),
        *([] if best.within(found.limit) else [f"No policy was within the limit of {100 * found.limit:g} points."]),
    ]
    preset = policy.name if policy.name in PRESETS else "standard"
    return "".join(f"# {' '.join(line.split())}\n" for line in evidence) + "\n" + write_policy(policy, preset=preset)


def _evidence(trial: PolicyTrial) -> str:
    risk, error, worst, ceiling, share, off = _figures(trial)
    lift = f"worst lift {risk} points (standard error {error}{', ' if worst else ''}{worst})"
    above = "" if trial.ceiling is None else f", ceiling {ceiling} points above a good guess"
    kinds = ", ".join(f"{kind} {100 * part:.0f} %" for kind, part in trial.kinds.items())
    return f"{lift}{above}; {share} % answered ({kinds}); median error {off} sampling errors."
