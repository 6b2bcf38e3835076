"""The overview: how much was asked and refused, of what, by whom, by which rule; and what the site lacks."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Annotated, Any

from fastapi import FastAPI, Request, Response

from confide.attacks.history import scorecards
from confide.formats.charts.colours import SERIES
from confide.site.access import Person
from confide.site.audit import Counted, Filter
from confide.web.charts import picture
from confide.web.pages.custodian.context import CustodianContext
from confide.web.pages.custodian.questions import shown_entry

__all__ = ["add_overview"]

DAYS = 60
"""So many days are drawn and listed, counted back from the last with a question."""

LISTED = 12
"""So many data sets, askers and rules are listed, the most frequent ones."""

LAST = 10
"""So many of the last questions are shown."""


def add_overview(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian and /custodian/check."""
    service = context.service

    @app.get("/custodian", include_in_schema=False)
    def overview(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        service.attacked.take_in()
        summary = service.audit.summary()
        days = _last_days(summary.days)
        last = service.audit.find(Filter(), most=LAST).entries if summary.everything.asked else ()
        return context.render(
            request,
            "overview.html",
            summary=summary,
            days=days,
            chart=picture(request, _chart(days), custodian) if days else None,
            last=[shown_entry(entry) for entry in last],
            most=LISTED,
            access=service.access,
            attacked=[
                (name, cards[0], service.policy_of(name).red_team.limit)
                for name, cards in scorecards(service.papers).items()
                if name in service.datasets
            ],
        )

    @app.get("/custodian/check", include_in_schema=False)
    def check(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        key = ("check", tuple(service.policy_of(name).mark for name in service.datasets), service.access)
        job = context.start(key, lambda progress: service.check())
        if not job.done:
            return context.working(request, job, "Checking the site")
        return context.render(request, "check.html", findings=job.outcome)


def _last_days(days: Mapping[str, Counted]) -> list[tuple[str, Counted]]:
    """The last days in order, those without a question among them too."""
    if not days:
        return []
    last = date.fromisoformat(max(days))
    first = max(date.fromisoformat(min(days)), last - timedelta(DAYS - 1))
    names = [(first + timedelta(n)).isoformat() for n in range((last - first).days + 1)]
    return [(name, days.get(name, Counted())) for name in names]


def _chart(days: list[tuple[str, Counted]]) -> dict[str, Any]:
    """Questions by day, answered, refused and cancelled on top of each other."""
    kinds = ("answered", "refused", "cancelled")
    values = [
        {"day": day, "outcome": kind, "questions": number}
        for day, counted in days
        for kind, number in zip(kinds, (counted.released, counted.refused, counted.cancelled), strict=True)
    ]
    asked = sum(counted.asked for _, counted in days)
    refused = sum(counted.refused for _, counted in days)
    return {
        "description": f"{asked} questions from {days[0][0]} to {days[-1][0]}, of which {refused} were refused.",
        "width": "container",
        "height": 220,
        "data": {"values": values},
        "mark": {"type": "bar"},
        "encoding": {
            "x": {"field": "day", "type": "ordinal", "title": None, "axis": {"labelOverlap": True, "labelAngle": 0}},
            "y": {"field": "questions", "type": "quantitative", "title": "Questions", "axis": {"tickMinStep": 1}},
            "color": {
                "field": "outcome",
                "type": "nominal",
                "title": None,
                "scale": {"domain": list(kinds), "range": list(SERIES[: len(kinds)])},
            },
            "order": {"field": "outcome", "type": "nominal"},
        },
    }
