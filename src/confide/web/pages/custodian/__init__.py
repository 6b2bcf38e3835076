"""The custodian's pages: what was asked, the policy and its draft, why something was refused, the ledger, the tokens.

Promise: nobody but a custodian sees any of them, and no page shows a number of the data that is not protected; the map of models
alone shows true shares, rounded.
"""

from fastapi import FastAPI

from confide.web.closing import at_close
from confide.web.pages.context import PageContext
from confide.web.pages.custodian.audit import add_audit
from confide.web.pages.custodian.context import CustodianContext
from confide.web.pages.custodian.drafts import add_draft
from confide.web.pages.custodian.frontier import add_frontier
from confide.web.pages.custodian.overview import add_overview
from confide.web.pages.custodian.policy import add_policy
from confide.web.pages.custodian.projects import add_projects
from confide.web.pages.custodian.questions import add_questions
from confide.web.pages.custodian.records import add_records
from confide.web.pages.custodian.red_team import add_red_team
from confide.web.pages.custodian.replay import add_replay
from confide.web.pages.custodian.review import add_review
from confide.web.pages.custodian.tokens import add_tokens
from confide.web.pages.custodian.why import add_why

__all__ = ["add_custodian_pages"]


def add_custodian_pages(app: FastAPI, pages: PageContext) -> None:
    """Serve everything under /custodian."""
    context = CustodianContext.of(pages)
    at_close(app, context.close)
    for add in (
        add_overview,
        add_policy,
        add_draft,
        add_replay,
        add_why,
        add_frontier,
        add_records,
        add_red_team,
        add_audit,
        add_questions,
        add_tokens,
        add_projects,
        add_review,
    ):
        add(app, context)
