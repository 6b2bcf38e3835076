"""The draft of a policy: written in a form or as TOML, kept on the site, and never in force by itself."""

import re
from dataclasses import replace
from typing import Annotated

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from confide.errors import Mistake
from confide.model.policy import PRESETS, Policy, read_policy, write_policy
from confide.site.access import Person
from confide.site.policies import PolicyDraft, kept, preset_name, read_draft, save_draft
from confide.web.pages.context import Error
from confide.web.pages.custodian.context import CustodianContext
from confide.web.pages.custodian.fields import TITLES, field_id, is_known, policy_fields, read_fields
from confide.web.pages.custodian.policy import changes

__all__ = ["add_draft"]

Form = dict[str, str]

_CHOSEN = ("models.sensitive", "models.suppressed")
"""Fields that another page may fill in: the choice on the map of models."""


def add_draft(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/draft, and its form, its text and its end."""
    folder = context.service.papers

    @app.get("/custodian/draft", include_in_schema=False)
    def draft(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        found = read_draft(folder)
        changed = changes(context.service.policy, found.policy) if found else []
        return context.render(request, "draft.html", draft=found, changes=changed, presets=tuple(PRESETS))

    @app.get("/custodian/draft/discard", include_in_schema=False)
    def discarding(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        return context.render(request, "draft_discard.html", exists=folder.draft().exists())

    @app.post("/custodian/draft/discard", include_in_schema=False)
    def discard(form: Annotated[Form, context.form]) -> Response:
        folder.draft().unlink(missing_ok=True)
        return RedirectResponse("/custodian/draft", 303)

    _form(app, context)
    _text(app, context)


def _form(app: FastAPI, context: CustodianContext) -> None:
    def show(request: Request, start: PolicyDraft, *, given: Form, errors: list[Error]) -> Response:
        return context.render(
            request,
            "draft_form.html",
            status=422 if errors else 200,
            sections=policy_fields(start.policy, preset=start.preset, given=given),
            called=given.get("name", start.policy.name),
            numbered=given.get("version", str(start.policy.version)),
            preset=start.preset,
            titles=TITLES,
            base=given.get("base", _mark(context)),
            errors=errors,
        )

    @app.get("/custodian/draft/form", include_in_schema=False)
    def edit(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        query = request.query_params
        chosen = {key: query[key] for key in _CHOSEN if key in query}
        return show(request, _start(context, query.get("from", "")), given=chosen, errors=[])

    @app.post("/custodian/draft/form", include_in_schema=False)
    def save(request: Request, form: Annotated[Form, context.form]) -> Response:
        preset = form.get("preset", "")
        start = PolicyDraft(
            context.service.policy, preset if preset in PRESETS else preset_name(context.service.papers)
        )
        policy, errors = read_fields(form, base=start.policy)
        errors = errors or _mistakes(context, policy, form)
        if errors:
            return show(request, start, given=form, errors=errors)
        save_draft(context.service.papers, PolicyDraft(policy, start.preset))
        return RedirectResponse("/custodian/draft", 303)


def _text(app: FastAPI, context: CustodianContext) -> None:
    def show(request: Request, *, text: str, base: str, errors: list[Error]) -> Response:
        status = 422 if errors else 200
        return context.render(request, "draft_text.html", status=status, text=text, base=base, errors=errors)

    @app.get("/custodian/draft/text", include_in_schema=False)
    def edit_text(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        start = _start(context, request.query_params.get("from", ""))
        text = write_policy(start.policy, preset=start.preset)
        return show(request, text=text, base=_mark(context), errors=[])

    @app.post("/custodian/draft/text", include_in_schema=False)
    def save_text(request: Request, form: Annotated[Form, context.form]) -> Response:
        text = form.get("text", "")
        try:
            policy = read_policy(text)
            errors = [Error("text", error.message) for error in _mistakes(context, policy, form)]
        except Mistake as mistake:
            errors = [Error("text", str(mistake))]
        if errors:
            return show(request, text=text, base=form.get("base", ""), errors=errors)
        preset = re.search(r'^preset\s*=\s*["\']([\w-]+)["\']', text, re.MULTILINE)
        named = preset[1] if preset and preset[1] in PRESETS else "standard"
        save_draft(context.service.papers, PolicyDraft(policy, named))
        return RedirectResponse("/custodian/draft", 303)


def _start(context: CustodianContext, wanted: str) -> PolicyDraft:
    """Where a form begins: the draft there is, a preset, a policy that was in force, or the one that is, one version on."""
    folder, force = context.service.papers, context.service.policy
    if wanted in PRESETS:
        return PolicyDraft(replace(PRESETS[wanted], version=force.version + 1), wanted)
    for each in kept(folder):
        if wanted == str(each.number):
            return PolicyDraft(replace(each.policy, version=force.version + 1), each.preset)
    found = None if wanted == "force" else read_draft(folder)
    return found or PolicyDraft(replace(force, version=force.version + 1), preset_name(folder))


def _mark(context: CustodianContext) -> str:
    """The draft there is, for a form to say which one it changes."""
    draft = read_draft(context.service.papers)
    return draft.policy.mark if draft else ""


def _mistakes(context: CustodianContext, policy: Policy, form: Form) -> list[Error]:
    """What is wrong with a policy whose fields are right one by one."""
    errors = is_known(policy, context.service.datasets.values())
    try:
        context.service.must_be_possible(policy)
    except Mistake as mistake:
        named = re.search(r"\b[a-z]+\.[a-z_]+", mistake.message)
        errors.append(Error(field_id(named[0]) if named else "totals-mechanism", str(mistake)))
    if form.get("base", "") != _mark(context):
        what = "Somebody changed the draft since you opened this form. Look at it before you save yours over it."
        errors.append(Error("name", what))
    return errors
