"""The audit of questions: families that isolate small sets, by asker and by everybody together."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import FastAPI, Request, Response

from confide.answering.service import AuditFinding, QuestionAudit
from confide.formats.charts.colours import SERIES
from confide.site.access import Person
from confide.web.charts import picture
from confide.web.pages.custodian.context import CustodianContext

__all__ = ["add_audit"]

MOST = 200
"""So many findings are listed, those with the largest score."""

LINKED = 6
"""So many entries of a finding are linked, the first ones."""

DRAWN = 12
"""So many askers are drawn, those with the largest score."""


@dataclass(frozen=True)
class _Asker:
    """Somebody's score on a data set, and whether it is above the limit."""

    who: str
    dataset: str
    score: float
    above: bool


def add_audit(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/audit."""
    service = context.service

    @app.get("/custodian/audit", include_in_schema=False)
    def audit(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        query = request.query_params
        dataset, since = (query.get(key, "").strip() for key in ("dataset", "since"))
        marks = tuple(service.policy_of(name).mark for name in service.datasets)
        key = ("audit", len(service.audit), marks, dataset, since)
        job = context.start(key, lambda progress: service.audit_questions(dataset, since=since))
        if not job.done:
            return context.working(request, job, "Auditing the questions")
        found = job.outcome
        askers = _askers(found)
        return context.render(
            request,
            "audit.html",
            found=found,
            findings=found.findings[:MOST],
            numbers=_numbers,
            askers=askers,
            chart=picture(request, _chart(askers[:DRAWN]), custodian) if askers else None,
            datasets=list(service.datasets),
            dataset=dataset,
            since=since,
        )


def _numbers(finding: AuditFinding) -> tuple[tuple[int, ...], int]:
    """The entries that are linked, and how many more there are."""
    return finding.entries[:LINKED], max(0, len(finding.entries) - LINKED)


def _askers(found: QuestionAudit) -> list[_Asker]:
    ranked, above = sorted(found.scores.items(), key=lambda item: (-item[1], item[0])), set(found.above())
    return [_Asker(who, dataset, score, (who, dataset) in above) for (who, dataset), score in ranked]


def _chart(askers: list[_Asker]) -> dict[str, Any]:
    """Scores as bars, the largest first."""
    values = [{"asker": f"{one.who}, {one.dataset}", "score": round(one.score, 1)} for one in askers]
    worst = askers[0]
    return {
        "description": f"Small sets isolated by asker; the most by {worst.who} of {worst.dataset}: {worst.score:.1f}.",
        "width": "container",
        "height": {"step": 24},
        "data": {"values": values},
        "mark": {"type": "bar", "color": SERIES[0]},
        "encoding": {
            "y": {"field": "asker", "type": "nominal", "title": None, "sort": None},
            "x": {"field": "score", "type": "quantitative", "title": "Small sets isolated"},
        },
    }
