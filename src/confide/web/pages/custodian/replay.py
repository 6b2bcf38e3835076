"""Replay: what would become of every recorded question under the draft. Nothing is recorded or released."""

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from confide.answering.service import Replayed, Service, trial
from confide.model.policy import Policy
from confide.site.access import Person
from confide.site.policies import read_draft
from confide.web.jobs import Progress
from confide.web.pages.custodian.context import OWNER, REFRESH, CustodianContext
from confide.web.pages.custodian.questions import shown_question

__all__ = ["add_replay"]

MOST = 500
"""Questions whose outcome changes are listed up to this many; all are counted."""


@dataclass(frozen=True)
class Outcome:
    """What a replay found: how many questions, from what to what they change, and the first that do."""

    asked: int
    counts: Counter[tuple[str, str]]
    changed: tuple[Replayed, ...]

    @property
    def changes(self) -> int:
        return self.counts.total()


def add_replay(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/replay."""
    service = context.service

    @app.get("/custodian/replay", include_in_schema=False)
    def replay(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        draft = read_draft(service.papers)
        policy = trial(draft.policy, service.policy) if draft else None
        job = context.jobs.find(("replay", policy.mark), owner=OWNER) if policy else None
        done = job is not None and job.done
        page = context.render(
            request,
            "replay.html",
            draft=draft,
            progress=job.progress if job else None,
            outcome=job.outcome if job and done else None,
            shown=shown_question,
            asked=len(service.audit),
        )
        if job and not done:
            page.headers["Refresh"] = str(REFRESH)
        return page

    @app.post("/custodian/replay", include_in_schema=False)
    def start(form: Annotated[dict[str, str], context.form]) -> Response:
        draft = read_draft(service.papers)
        if draft is not None and len(service.audit):
            policy = trial(draft.policy, service.policy)
            context.jobs.forget(lambda key: isinstance(key, tuple) and key[0] == "replay", owner=OWNER)
            context.start(("replay", policy.mark), lambda progress: _replay(service, policy, progress))
        return RedirectResponse("/custodian/replay", 303)


def _replay(service: Service, policy: Policy, progress: Progress) -> Outcome:
    counts: Counter[tuple[str, str]] = Counter()
    changed: list[Replayed] = []
    progress.of = len(service.audit)
    for replayed in service.replay(policy):
        progress.step()
        if replayed.changed:
            counts[replayed.before, replayed.after] += 1
            if len(changed) < MOST:
                changed.append(replayed)
    return Outcome(progress.done, counts, tuple(changed))
