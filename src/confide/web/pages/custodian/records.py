"""How the records were protected: who was exposed, who was touched, and what nobody can find out however much they ask."""

from typing import Annotated, Any

from fastapi import FastAPI, Request, Response

from confide.answering.service import RecordsReport
from confide.formats.charts.colours import SERIES
from confide.site.access import Person
from confide.web.charts import picture
from confide.web.pages.custodian.context import CustodianContext

__all__ = ["add_records"]


def add_records(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/records."""
    service = context.service

    @app.get("/custodian/records", include_in_schema=False)
    def records(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        reports = {name: service.records(name) for name in service.datasets}
        sheets = [
            (name, report, picture(request, _chart(name, report), custodian) if report.ceilings else None)
            for name, report in reports.items()
            if report is not None
        ]
        untouched = [name for name, report in reports.items() if report is None]
        return context.render(request, "records.html", sheets=sheets, untouched=untouched)


def _chart(name: str, report: RecordsReport) -> dict[str, Any]:
    """Ceilings beside the best guess and what the others tell."""
    values = [
        {
            "what": f"{c.variable}, {'within 10 %' if c.number else f'class, {c.keys} keys'}{', newcomers' if c.newcomers else ''}",
            "by": by,
            "share": share,
        }
        for c in report.ceilings
        for by, share in (("all protected records", c.right), ("the best guess", c.guess), ("the others", c.others))
    ]
    highest = max(report.ceilings, key=lambda c: c.right)
    return {
        "description": f"What is known of exposed units of {name}; most of {highest.variable}: {highest.right:.0%}.",
        "data": {"values": values},
        "mark": {"type": "bar"},
        "encoding": {
            "y": {"field": "what", "type": "nominal", "sort": None, "title": None},
            "yOffset": {"field": "by", "sort": None},
            "x": {"field": "share", "type": "quantitative", "title": "right", "axis": {"format": "%"}, "scale": {"domain": [0, 1]}},
            "color": {"field": "by", "sort": None, "title": "by", "scale": {"range": list(SERIES[:3])}},
        },
        "width": "container",
    }  # fmt: skip
