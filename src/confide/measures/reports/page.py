"""A report or a map as a page of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from confide.formats.about import plain
from confide.measures.reports.drawing import NOT_DRAWN, drawn
from confide.measures.reports.findings import Finding
from confide.measures.reports.tabulate import shown

__all__ = ["write_map_page", "write_page"]

TEMPLATES = Environment(
    loader=PackageLoader("confide.measures"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def write_page(
    title: str, facts: Mapping[str, str], findings: Sequence[Finding], charts: Mapping[str, Any], warning: str
) -> str:
    """The report as HTML. Promise: every text is escaped; there is no script, and nothing is fetched."""
    parts = {
        part: [_row(finding) for finding in findings if finding.part == part]
        for part in dict.fromkeys(finding.part for finding in findings)
    }
    shown_facts = {name: plain(fact) for name, fact in facts.items()}
    return TEMPLATES.get_template("report.html").render(
        title=title, facts=shown_facts, parts=parts, warning=warning, **_pictures(charts)
    )


def write_map_page(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], chart: Mapping[str, Any]) -> str:
    """The map as HTML, under the same promise."""
    return TEMPLATES.get_template("map.html").render(title=title, head=head, rows=rows, **_pictures({"map": chart}))


def _row(finding: Finding) -> dict[str, str]:
    return {
        "name": plain(finding.name),
        "about": plain(finding.about),
        "before": shown(finding.before),
        "value": shown(finding.value) or "[x]",
        "unit": finding.unit,
        "meaning": plain(finding.meaning),
    }


def _pictures(charts: Mapping[str, Any]) -> dict[str, Any]:
    svgs = {name: drawn(chart) for name, chart in charts.items()}
    pictures = [
        {"svg": Markup(svg), "words": charts[name]["description"]} for name, svg in svgs.items() if svg is not None
    ]
    return {"pictures": pictures, "not_drawn": NOT_DRAWN if None in svgs.values() else ""}
