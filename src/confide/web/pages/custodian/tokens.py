"""Tokens: who has one, a new one, and taking one away."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Annotated

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from confide.errors import Mistake
from confide.site.access import Person, PersonRole, Token, TokenTerms, add_token, remove_token
from confide.site.folder import must_be_datasets
from confide.web.forms import names_in, number_in
from confide.web.pages.context import Error
from confide.web.pages.custodian.context import CustodianContext

__all__ = ["add_tokens"]


def add_tokens(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/tokens and /custodian/tokens/remove."""
    service = context.service

    def listed(request: Request, *, errors: list[Error], form: Mapping[str, str]) -> Response:
        words = {"access": service.access, "roles": tuple(PersonRole), "given": form, "errors": errors}
        words |= {"today": datetime.now(UTC).date(), "datasets": list(service.datasets)}
        return context.render(request, "tokens.html", status=422 if errors else 200, **words)

    @app.get("/custodian/tokens", include_in_schema=False)
    def tokens(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        return listed(request, errors=[], form={})

    @app.post("/custodian/tokens", include_in_schema=False)
    def add(
        request: Request,
        form: Annotated[dict[str, str], context.form],
        custodian: Annotated[Person, context.custodian],
    ) -> Response:
        name, role, field = form.get("name", "").strip(), form.get("role", ""), "role"
        try:
            if role not in tuple(PersonRole):
                raise Mistake("Choose what the person may do.")
            field = "expires"
            expires = _day(form.get("expires", "").strip())
            field = "quota"
            quota = number_in(form.get("quota", ""))
            field = "datasets"
            datasets = names_in(form.get("datasets", ""))
            must_be_datasets(service.papers, datasets)
            field = "name"
            terms = TokenTerms(form.get("label", "").strip(), expires, datasets, quota, form.get("project", "").strip())
            token = add_token(service.papers.access, name=name, role=PersonRole(role), terms=terms)
        except Mistake as mistake:
            return listed(request, errors=[Error(field, str(mistake))], form=form)
        service.record_act(custodian, "token made", name=name, role=role, **terms.told)
        return context.render(request, "token.html", token=token, called=name, role=role, terms=terms)

    @app.get("/custodian/tokens/remove", include_in_schema=False)
    def removing(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        token = _named(context, request.query_params)
        return context.render(request, "token_remove.html", token=token, mine=token.name == custodian.name, errors=[])

    @app.post("/custodian/tokens/remove", include_in_schema=False)
    def remove(
        request: Request,
        form: Annotated[dict[str, str], context.form],
        custodian: Annotated[Person, context.custodian],
    ) -> Response:
        token = _named(context, form)
        try:
            _must_leave_a_custodian(context, token)
            remove_token(service.papers.access, name=token.name, label=token.terms.label)
        except Mistake as mistake:
            words = {"token": token, "mine": token.name == custodian.name, "errors": [Error("remove", str(mistake))]}
            return context.render(request, "token_remove.html", status=422, **words)
        service.record_act(custodian, "token removed", name=token.name, **token.terms.told)
        return RedirectResponse("/custodian/tokens", 303)


def _named(context: CustodianContext, asked: Mapping[str, str]) -> Token:
    wanted = (asked.get("name", ""), asked.get("label", ""))
    for token in context.service.access.tokens:
        if (token.name, token.terms.label) == wanted:
            return token
    mistake = Mistake("Nobody of that name has a token.", suggestions=["It may have been removed already."])
    mistake.http_status = 404
    raise mistake


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise Mistake(f"{text[:60]!r} is no day.", suggestions=["Write it as in 2030-12-31."]) from None


def _must_leave_a_custodian(context: CustodianContext, token: Token) -> None:
    access = context.service.access
    if access.custodians == (token,) and not replace(access, tokens=()).has_custodians:
        raise Mistake(
            f"{token.name!r} is the only custodian, and nobody could open these pages any more.",
            suggestions=["Add another custodian first, or remove the token on the command line."],
        )
