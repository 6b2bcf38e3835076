"""What was measured as tables for a terminal, as plain text, and as a page with pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from confide.attacks.workload.summary import Usefulness
from confide.data.report import SCHEMA, Chart, ReportPage
from confide.formats.charts.colours import LINE, POINT
from confide.formats.charts.theme import Spec
from confide.measures.reports.tabulate import aligned

__all__ = ["Part", "page_of", "parts_of", "remarks_of", "text_of"]

WARNING = "For the custodian only: errors are measured against the truth. Do not publish it."


@dataclass(frozen=True)
class Part:
    """A table of the report: texts in rows, under a head."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def parts_of(found: Usefulness) -> list[Part]:
    """The tables that have something to show."""
    parts = [
        Part("Questions answered", _share_head(found), tuple(_share_rows(found))),
        Part("Rules that refuse", ("rule", "questions"), tuple((rule, f"{n:,}") for rule, n in found.rules.items())),
        Part(
            "Errors in units of the sampling error",
            ("of", "median", "90th percentile", "relative error", "questions", "numbers"),
            tuple(_error_rows(found)),
        ),
        Part(
            "Margins outside the range of their parts",
            ("of", "outside", "margins", "share"),
            tuple((m.of, f"{m.outside:,}", f"{m.margins:,}", _percent(m.outside, m.margins)) for m in found.margins),
        ),
    ]
    return [part for part in parts if part.rows]


def _share_head(found: Usefulness) -> tuple[str, ...]:
    return ("kind", "asked", "answered", "share", *(_universe(number) for number in _numbers(found)))


def _share_rows(found: Usefulness) -> Iterator[tuple[str, ...]]:
    cells = {(s.kind, s.conditions): s for s in found.conditions}
    for kind in found.kinds:
        by = [cells.get((kind.kind, number)) for number in _numbers(found)]
        shares = (f"{s.answered} of {s.asked}" if s else "" for s in by)
        yield (kind.kind, f"{kind.asked:,}", f"{kind.answered:,}", _percent(kind.answered, kind.asked), *shares)


def _numbers(found: Usefulness) -> list[int]:
    return sorted({share.conditions or 0 for share in found.conditions})


def _universe(number: int) -> str:
    return {0: "everyone", 1: "1 condition"}.get(number, f"{number} conditions")


def _error_rows(found: Usefulness) -> Iterator[tuple[str, ...]]:
    for e in found.errors:
        relative = f"{100 * e.relative:.1f} %"
        yield e.of, f"{e.median:.2f}", f"{e.ninth_decile:.2f}", relative, f"{e.questions:,}", f"{e.numbers:,}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else ""


def remarks_of(found: Usefulness) -> list[str]:
    """What the tables do not say."""
    return [sentence for sentence in (*_remarks(found), *found.notes) if sentence]


def _remarks(found: Usefulness) -> Iterator[str]:
    if found.refused:
        yield (
            f"Of {found.refused:,} refusals {found.offered:,} came with a suggestion, and {found.led_on:,} with one that "
            f"was answered."
        )
    if found.mistakes:
        yield f"{found.mistakes:,} questions were not well formed."
    if found.cells:
        yield f"Of {found.cells:,} numbers in the tables {found.withheld:,} are withheld ({_percent(found.withheld, found.cells)})."
    if found.aside.get("numbers"):
        yield f"{found.aside['numbers']:,} drafts of questions were set aside because too few units have their numbers."
    if found.aside.get("unfit"):
        yield _unfit(found)


def _unfit(found: Usefulness) -> str:
    unfit = found.aside["unfit"]
    fitted = [s for s in found.kinds if s.kind.startswith(("models", "correlations"))]
    share = _percent(sum(s.answered for s in fitted), unfit + sum(s.asked for s in fitted))
    return (
        f"{unfit:,} drafts of models and correlations were set aside because they cannot be fitted, protection aside. "
        f"Were they counted as refused, {share} of models and correlations would be answered."
    )


def text_of(found: Usefulness) -> str:
    """The report as plain text."""
    parts = [f"{part.title}\n{aligned(part.head, part.rows)}" for part in parts_of(found)]
    return "\n\n".join([_title(found), *parts, "\n".join([*remarks_of(found), found.sentence()])]) + "\n"


def _title(found: Usefulness) -> str:
    return f"What an honest analyst gets of {found.dataset!r} under {found.policy}"


def page_of(found: Usefulness) -> ReportPage:
    """The report as a page."""
    how = "from the site's ledger" if found.source == "ledger" else f"generated, seed {found.seed}"
    return ReportPage(
        _title(found),
        (found.sentence(), *remarks_of(found)),
        tuple(_charts(found)),
        tuple((part.title, _table(part)) for part in parts_of(found)),
        {"Data set": found.dataset, "Policy": found.policy, "Questions": f"{found.asked:,}, {how}"},
        WARNING,
    )


def _table(part: Part) -> pa.Table:
    return pa.table({name: [row[place] for row in part.rows] for place, name in enumerate(part.head)})


def _charts(found: Usefulness) -> Iterator[Chart]:
    if found.kinds:
        yield Chart.of(_answered(found), grows=True)
    if found.errors:
        yield Chart.of(_errors(found), grows=True)


def _answered(found: Usefulness) -> Spec:
    rows = [{"kind": s.kind, "percent": round(100 * s.share, 1)} for s in found.kinds]
    words = "Questions answered, in percent: " + "; ".join(f"{r['kind']} {r['percent']}" for r in rows) + "."
    x = {"field": "percent", "type": "quantitative", "title": "percent answered", "scale": {"domain": [0, 100]}}
    layer = {"mark": {"type": "bar", "color": POINT}, "encoding": {"y": _kinds("kind"), "x": x}}
    return _chart("Questions answered", words, rows, [layer])


def _errors(found: Usefulness) -> Spec:
    rows = [{"of": e.of, "median": round(e.median, 3), "ninth": round(e.ninth_decile, 3)} for e in found.errors]
    words = (
        "Errors in units of the sampling error, median and 90th percentile: "
        + "; ".join(f"{r['of']} {r['median']} and {r['ninth']}" for r in rows)
        + ". A line stands at 1, where protection errs as much as the sample."
    )
    y, x = _kinds("of"), {"type": "quantitative", "title": "sampling errors: the bar ends at the 90th percentile"}
    bar = {"mark": {"type": "bar", "color": POINT}, "encoding": {"y": y, "x": {**x, "field": "ninth"}}}
    tick = {
        "mark": {"type": "tick", "color": LINE, "thickness": 3},
        "encoding": {"y": y, "x": {**x, "field": "median"}},
    }
    rule = {"mark": {"type": "rule", "strokeDash": [4, 4], "color": LINE}, "encoding": {"x": {"datum": 1}}}
    return _chart("Errors in units of the sampling error", words, rows, [bar, tick, rule])


def _kinds(name: str) -> Spec:
    # Room for the longest name, whatever letters the reader's machine has.
    return {"field": name, "type": "nominal", "sort": None, "title": None, "axis": {"minExtent": 120}}


def _chart(title: str, words: str, rows: Sequence[Spec], layers: Sequence[Spec]) -> Spec:
    return {
        "$schema": SCHEMA,
        "title": title,
        "description": words,
        "height": {"step": 28},
        "data": {"values": list(rows)},
        "layer": list(layers),
    }
