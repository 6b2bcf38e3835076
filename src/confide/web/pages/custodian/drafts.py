"""The draft of a policy: written in a form or as TOML, kept on the site, and never in force by itself."""

import re
from typing import Annotated

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from confide.errors import Mistake
from confide.model.policy import PRESETS, SITE, Policy, write_policy
from confide.site.access import Person
from confide.site.policies import base_of, preset_of, read_as
from confide.site.policy_drafts import PolicyDraft
from confide.web.pages.context import Error
from confide.web.pages.custodian.context import CustodianContext
from confide.web.pages.custodian.fields import TITLES, field_id, is_known, policy_fields, read_fields
from confide.web.pages.custodian.policy import changes
from confide.web.pages.custodian.whose import Whose, whose_policy

__all__ = ["add_draft"]

Form = dict[str, str]

_CHOSEN = ("models.sensitive", "models.suppressed")
"""Fields that another page may fill in: the choice on the map of models."""


def add_draft(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/draft, and its form, its text and its end."""
    service = context.service

    @app.get("/custodian/draft", include_in_schema=False)
    def draft(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        whose = whose_policy(service, request.query_params)
        found = whose.draft
        changed = changes(whose.policy, found.policy) if found else []
        return context.render(request, "draft.html", whose=whose, draft=found, changes=changed)

    @app.get("/custodian/draft/discard", include_in_schema=False)
    def discarding(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        whose = whose_policy(service, request.query_params)
        exists = service.drafts.has(name=whose.name)
        return context.render(request, "draft_discard.html", whose=whose, exists=exists)

    @app.post("/custodian/draft/discard", include_in_schema=False)
    def discard(form: Annotated[Form, context.form], custodian: Annotated[Person, context.custodian]) -> Response:
        whose = whose_policy(service, form)
        service.drafts.discard(name=whose.name)
        service.record_act(custodian, "draft discarded", dataset=whose.name or "")
        return _to_draft(whose)

    _form(app, context)
    _text(app, context)


def _to_draft(whose: Whose) -> Response:
    return RedirectResponse(f"/custodian/draft{whose.query()}", 303)


def _form(app: FastAPI, context: CustodianContext) -> None:
    papers = context.service.papers

    def show(request: Request, whose: Whose, start: PolicyDraft, *, given: Form, errors: list[Error]) -> Response:
        return context.render(
            request,
            "draft_form.html",
            status=422 if errors else 200,
            whose=whose,
            sections=policy_fields(start.policy, base=base_of(papers, start.preset), given=given),
            called=given.get("name", start.policy.name),
            numbered=given.get("version", str(start.policy.version)),
            preset=start.preset,
            titles=TITLES,
            base=given.get("base", _mark(whose)),
            errors=errors,
        )

    @app.get("/custodian/draft/form", include_in_schema=False)
    def edit(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        query = request.query_params
        whose = whose_policy(context.service, query)
        chosen = {key: query[key] for key in _CHOSEN if key in query}
        return show(request, whose, whose.start(query.get("from", "")), given=chosen, errors=[])

    @app.post("/custodian/draft/form", include_in_schema=False)
    def save(
        request: Request, form: Annotated[Form, context.form], custodian: Annotated[Person, context.custodian]
    ) -> Response:
        whose = whose_policy(context.service, form)
        start = PolicyDraft(whose.policy, _known(form.get("preset", ""), whose))
        policy, errors = read_fields(form, base=start.policy)
        errors = errors or _mistakes(whose, policy, form)
        if errors:
            return show(request, whose, start, given=form, errors=errors)
        context.service.drafts.save(PolicyDraft(policy, start.preset), name=whose.name)
        context.service.record_act(custodian, "draft written", dataset=whose.name or "", policy=policy.mark)
        return _to_draft(whose)


def _known(preset: str, whose: Whose) -> str:
    """The preset, if it is one that such a policy may start from; otherwise that of the policy in force."""
    return preset if preset in PRESETS or (preset == SITE and whose.name is not None) else whose.preset


def _text(app: FastAPI, context: CustodianContext) -> None:
    papers = context.service.papers

    def show(request: Request, whose: Whose, *, text: str, base: str, errors: list[Error]) -> Response:
        words = {"whose": whose, "text": text, "base": base, "errors": errors}
        return context.render(request, "draft_text.html", status=422 if errors else 200, **words)

    @app.get("/custodian/draft/text", include_in_schema=False)
    def edit_text(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        whose = whose_policy(context.service, request.query_params)
        start = whose.start(request.query_params.get("from", ""))
        text = write_policy(start.policy, preset=start.preset)
        return show(request, whose, text=text, base=_mark(whose), errors=[])

    @app.post("/custodian/draft/text", include_in_schema=False)
    def save_text(
        request: Request, form: Annotated[Form, context.form], custodian: Annotated[Person, context.custodian]
    ) -> Response:
        whose = whose_policy(context.service, form)
        text = form.get("text", "")
        try:
            policy = read_as(papers, text, name=whose.name, file=papers.draft(whose.name).relative_to(papers.path))
            errors = [Error("text", error.message) for error in _mistakes(whose, policy, form)]
        except Mistake as mistake:
            errors = [Error("text", str(mistake))]
        if errors:
            return show(request, whose, text=text, base=form.get("base", ""), errors=errors)
        context.service.drafts.save(PolicyDraft(policy, preset_of(text, whose.name)), name=whose.name)
        context.service.record_act(custodian, "draft written", dataset=whose.name or "", policy=policy.mark)
        return _to_draft(whose)


def _mark(whose: Whose) -> str:
    """The draft there is, for a form to say which one it changes."""
    draft = whose.draft
    return draft.policy.mark if draft else ""


def _mistakes(whose: Whose, policy: Policy, form: Form) -> list[Error]:
    """What is wrong with a policy whose fields are right one by one."""
    errors = is_known(policy, whose.datasets)
    try:
        whose.service.must_be_possible(policy, dataset=whose.name)
    except Mistake as mistake:
        named = re.search(r"\b[a-z]+\.[a-z_]+", mistake.message)
        errors.append(Error(field_id(named[0]) if named else "totals-mechanism", str(mistake)))
    if form.get("base", "") != _mark(whose):
        what = "Somebody changed the draft since you opened this form. Look at it before you save yours over it."
        errors.append(Error("name", what))
    return errors
