"""For the machines that watch a site: whether it lives, whether it can answer, and what it counted."""

from typing import Annotated

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.types import Scope

from confide.answering.service import Service
from confide.errors import ConfideError
from confide.site.access import Person, PersonRole, require
from confide.web.authentication import COUNTS
from confide.web.metrics import MEDIA_TYPE, Metrics
from confide.web.pages.context import PageContext
from confide.web.questions import Questions

__all__ = ["Probes", "add_metrics"]


class Probes:
    """The answers to /health and /ready, given to anybody and under any name.

    Promise: they tell that there is a server and whether it can answer, and nothing of the site, its people or its data.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def answer(self, scope: Scope) -> Response | None:
        """The answer to a probe; None for everything else."""
        if scope["method"] not in ("GET", "HEAD") or scope["path"] not in ("/health", "/ready"):
            return None
        if scope["path"] == "/health":
            return JSONResponse({"status": "alive"})
        ready = await run_in_threadpool(self._ready)
        return JSONResponse({"status": "ready" if ready else "not ready"}, 200 if ready else 503)

    def _ready(self) -> bool:
        try:
            self._service.must_be_ready()
        except ConfideError:
            return False
        return True


def add_metrics(app: FastAPI, context: PageContext, metrics: Metrics) -> None:
    """Serve /metrics to monitors and custodians."""
    audit = context.service.audit
    metrics.gauge("confide_data_sets", "Data sets that may be asked about.", lambda: len(context.service.datasets))
    metrics.gauge("confide_ledger_entries", "Entries of the ledger.", lambda: len(audit))

    def waiting() -> int:
        questions: Questions = app.state.questions
        return questions.waiting

    metrics.sum("confide_questions_waiting", "Questions that wait for their turn.", waiting)

    def outcomes() -> dict[str, float]:
        everything = audit.summary().everything
        return {"answered": everything.released, "refused": everything.refused}

    metrics.counter("confide_questions_total", "Questions in the ledger by outcome.", "outcome", outcomes)

    @app.get(COUNTS, include_in_schema=False)
    def counts(asker: Annotated[Person, context.asker]) -> Response:
        require(asker, PersonRole.MONITOR)
        return Response(metrics.text(), media_type=MEDIA_TYPE)
