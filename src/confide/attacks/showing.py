"""A report of the red team to be read: as lines, as a page with charts."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from confide.attacks.report import AttackReport
from confide.attacks.result import Result
from confide.data.report import Chart, ReportPage
from confide.formats.charts.colours import LINE, SERIES
from confide.formats.charts.theme import Spec

__all__ = ["HEAD", "curves_chart", "lifts_chart", "report_page", "rows", "sentences"]

HEAD = (
    "code",
    "attack",
    "targets",
    "claimed",
    "precision",
    "success",
    "guess",
    "others",
    "lift",
    "questions",
    "refused",
)
"""What the columns of `rows` hold."""

LABELS = 130
"""Pixels that the names of attacks need."""

CURVES = 6
"""So many attacks are drawn by their questions, the most successful ones."""


def rows(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    """The attacks that were tried, one line each: shares in percent, lift in points."""
    for r in results:
        if r.applies and r.targets:
            others = "" if r.others is None else _percent(r.others)
            shares = (_percent(r.claim_rate), _percent(r.precision), _percent(r.success), _percent(r.guess), others)
            yield (r.code, r.attack, str(r.targets), *shares, f"{100 * r.lift:+.1f}", str(r.questions), str(r.refusals))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def sentences(report: AttackReport, *, limit: float, quota: int) -> Iterator[str]:
    """What the figures come to: which attacks pass the limit, what they cost, what could not be tried."""
    tried = [r for r in report.results if r.applies and not r.stopped]
    above = report.above(limit)
    yield (
        f"{len(above)} of {len(tried)} attacks are above the limit of {100 * limit:g} points of lift"
        + (f": {', '.join(r.attack for r in above)}." if above else ".")
    )
    most = max((r.questions for r in report.results), default=0)
    if quota and most:
        days = -(-most // quota)
        yield (
            f"The quota gives one person {quota:,} questions a day; the longest attack took {most:,}: "
            + ("one day of one account." if days == 1 else f"{days} days of one account, or one day of {days}.")
        )
    elif most:
        yield "The policy sets no quota: any number of questions may be asked in a day."
    yield from (f"{r.attack}: {r.stopped}" for r in report.results if r.stopped)
    yield from (f"{r.attack}: {note}" for r in report.results for note in r.notes)


def report_page(report: AttackReport, *, limit: float, quota: int) -> ReportPage:
    """The report as a page for the custodian."""
    about = report.conditions
    tried = [r for r in report.results if r.applies and r.targets]
    facts = {
        "Data set": about.dataset,
        "Policy": f"{about.policy} ({about.mark})",
        "When": report.when,
        "Targets, questions": f"at most {about.targets:,} and {about.questions:,} an attack; seed {about.seed}",
    }
    charts = (Chart.of(lifts_chart(tried, limit=limit), grows=True), Chart.of(curves_chart(tried), grows=True))
    known = {r.attack: r.words for r in report.results}
    words = pa.table({"attack": list(known), "what is done": list(known.values())})
    return ReportPage(
        f"The red team at {about.dataset}",
        sentences=tuple(sentences(report, limit=limit, quota=quota)),
        charts=charts if tried else (),
        grids=(("Attacks: percent, and points of lift", _grid(tried)), ("What was tried", words)),
        facts=facts,
        warning="For the custodian only: it says how the site can be attacked.",
    )


def _grid(results: Sequence[Result]) -> pa.Table:
    """The same as `rows`, as numbers."""
    columns: dict[str, list[object]] = {"attack": [f"{r.code} {r.attack}" for r in results]}
    columns["targets"] = [r.targets for r in results]
    columns["claimed"] = [_hundredfold(r.claim_rate) for r in results]
    for name in ("precision", "success", "guess", "others", "lift"):
        columns[name] = [_hundredfold(getattr(r, name)) for r in results]
    return pa.table({**columns, "questions": [r.questions for r in results], "refused": [r.refusals for r in results]})


def _hundredfold(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 1)


def lifts_chart(results: Sequence[Result], *, limit: float) -> Spec:
    """For each attack the share right with the site, by guessing, and on the site without the targets."""
    names = {"success": "with the site", "guess": "by the best guess", "others": "without the target in the data"}
    points = [
        {"attack": r.attack, "share": round(getattr(r, name), 4), "who": words}
        for r in results
        for name, words in names.items()
        if getattr(r, name) is not None
    ]
    order = [r.attack for r in sorted(results, key=lambda r: -r.lift)]
    return {
        "title": "How often the intruder is right",
        "description": "For each attack the share of targets about whom the intruder is right: with the site, by the best "
        f"guess, and from the site without the targets. The limit is {100 * limit:g} points above the larger of the two.",
        "data": {"values": points},
        "height": {"step": 18},
        "mark": {"type": "point", "filled": True, "size": 70},
        "encoding": {
            "y": {"field": "attack", "type": "nominal", "sort": order, "title": None, "axis": {"minExtent": LABELS}},
            "x": {"field": "share", "type": "quantitative", "title": "Share right", "scale": {"domain": [0, 1]}},
            "color": {
                "field": "who",
                "type": "nominal",
                "title": None,
                "scale": {"domain": list(names.values()), "range": [SERIES[1], LINE, SERIES[0]]},
                "legend": {"orient": "top"},
            },
            "shape": {"field": "who", "type": "nominal", "scale": {"domain": list(names.values())}},
        },
    }


def curves_chart(results: Sequence[Result]) -> Spec:
    """How the most successful attacks grow with the questions asked."""
    best = sorted((r for r in results if len(r.curve) > 1), key=lambda r: -r.lift)[:CURVES]
    points = [{"attack": r.attack, "questions": q, "success": round(s, 4)} for r in best for q, s in r.curve]
    return {
        "title": "Success by the number of questions",
        "description": "Share of targets about whom the intruder is right after so many questions, for the attacks with "
        "the largest lift: " + ", ".join(r.attack for r in best) + ".",
        "data": {"values": points},
        "height": 260,
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "questions", "type": "quantitative", "title": "Questions"},
            "y": {"field": "success", "type": "quantitative", "title": "Share right", "scale": {"domain": [0, 1]}},
            "color": {"field": "attack", "type": "nominal", "title": None, "legend": {"orient": "top", "columns": 3}},
        },
    }
