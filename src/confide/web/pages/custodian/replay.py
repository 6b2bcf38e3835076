"""Replay: what would become of every recorded question under the draft. That it was tried is recorded; nothing is released."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from confide.answering.service import Replayed, trial
from confide.model.policy import Policy
from confide.site.access import Person
from confide.site.policy_drafts import PolicyDraft
from confide.web.pages.custodian.context import REFRESH, CustodianContext
from confide.web.pages.custodian.questions import shown_question
from confide.web.pages.custodian.whose import Whose, whose_policy
from confide.web.under_way.jobs import Progress
from confide.web.under_way.shared import Key

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
        whose = whose_policy(service, request.query_params)
        draft = whose.draft
        tried = _trials(whose, draft) if draft else {}
        job = context.begun(_key(whose, tried), _work(whose, draft, tried)) if draft else None
        done = job is not None and job.done
        page = context.render(
            request,
            "replay.html",
            whose=whose,
            draft=draft,
            progress=job.progress if job else None,
            outcome=job.outcome if job and done else None,
            shown=shown_question,
            asked=_asked(whose, tried),
        )
        if job and not done:
            page.headers["Refresh"] = str(REFRESH)
        return page

    @app.post("/custodian/replay", include_in_schema=False)
    def start(
        form: Annotated[dict[str, str], context.form], custodian: Annotated[Person, context.custodian]
    ) -> Response:
        whose = whose_policy(service, form)
        draft = whose.draft
        if draft is not None:
            tried = _trials(whose, draft)
            if _asked(whose, tried):
                context.begin_anew(_key(whose, tried), _work(whose, draft, tried))
                service.record_act(custodian, "draft tried", dataset=whose.name or "", policy=draft.policy.mark)
        return RedirectResponse(f"/custodian/replay{whose.query()}", 303)


def _trials(whose: Whose, draft: PolicyDraft) -> dict[str, Policy]:
    """The policies that are tried, by data set; a Mistake where that would tell true counts."""
    drafted = whose.service.drafted(draft.policy, dataset=whose.name)
    return {name: trial(policy, whose.service.policy_of(name)) for name, policy in drafted.items()}


def _key(whose: Whose, tried: dict[str, Policy]) -> Key:
    return ("replay", whose.name, *((name, policy.mark) for name, policy in tried.items()))


def _work(whose: Whose, draft: PolicyDraft, tried: dict[str, Policy]) -> Callable[[Progress], Outcome]:
    return partial(_replay, whose, draft.policy, _asked(whose, tried))


def _asked(whose: Whose, tried: dict[str, Policy]) -> int:
    """So many recorded questions are replayed: those about what something is tried on, and with the site's about what is gone."""
    counted = whose.service.audit.summary().datasets
    gone = set(counted) - set(whose.service.datasets) if whose.name is None else set()
    return sum(count.asked for name, count in counted.items() if name in tried or name in gone)


def _replay(whose: Whose, policy: Policy, asked: int, progress: Progress) -> Outcome:
    counts: Counter[tuple[str, str]] = Counter()
    changed: list[Replayed] = []
    progress.of = asked
    for replayed in whose.service.replay(policy, dataset=whose.name):
        progress.step()
        if replayed.changed:
            counts[replayed.before, replayed.after] += 1
            if len(changed) < MOST:
                changed.append(replayed)
    return Outcome(progress.done, counts, tuple(changed))
