"""Tokens: who has one, a new one, and taking one away."""

from typing import Annotated

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from confide.errors import Mistake
from confide.site.access import Person, PersonRole, Token, add_token, remove_token
from confide.web.pages.context import Error
from confide.web.pages.custodian.context import CustodianContext

__all__ = ["add_tokens"]


def add_tokens(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/tokens and /custodian/tokens/remove."""
    service = context.service

    def listed(request: Request, *, errors: list[Error], name: str = "", role: str = "analyst") -> Response:
        words = {"access": service.access, "roles": tuple(PersonRole), "called": name, "role": role, "errors": errors}
        return context.render(request, "tokens.html", status=422 if errors else 200, **words)

    @app.get("/custodian/tokens", include_in_schema=False)
    def tokens(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        return listed(request, errors=[])

    @app.post("/custodian/tokens", include_in_schema=False)
    def add(
        request: Request,
        form: Annotated[dict[str, str], context.form],
        custodian: Annotated[Person, context.custodian],
    ) -> Response:
        name, role = form.get("name", "").strip(), form.get("role", "")
        try:
            if role not in tuple(PersonRole):
                raise Mistake("Choose what the person may do.")
            token = add_token(service.papers.access, name=name, role=PersonRole(role))
        except Mistake as mistake:
            errors = [Error("name" if role in tuple(PersonRole) else "role", str(mistake))]
            return listed(request, errors=errors, name=name, role=role)
        service.record_act(custodian, "token made", name=name, role=role)
        return context.render(request, "token.html", token=token, called=name, role=role)

    @app.get("/custodian/tokens/remove", include_in_schema=False)
    def removing(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        token = _named(context, request.query_params.get("name", ""))
        return context.render(request, "token_remove.html", token=token, mine=token.name == custodian.name, errors=[])

    @app.post("/custodian/tokens/remove", include_in_schema=False)
    def remove(
        request: Request,
        form: Annotated[dict[str, str], context.form],
        custodian: Annotated[Person, context.custodian],
    ) -> Response:
        token = _named(context, form.get("name", ""))
        try:
            _must_leave_a_custodian(context, token)
            remove_token(service.papers.access, name=token.name)
        except Mistake as mistake:
            words = {"token": token, "mine": token.name == custodian.name, "errors": [Error("remove", str(mistake))]}
            return context.render(request, "token_remove.html", status=422, **words)
        service.record_act(custodian, "token removed", name=token.name)
        return RedirectResponse("/custodian/tokens", 303)


def _named(context: CustodianContext, name: str) -> Token:
    for token in context.service.access.tokens:
        if token.name == name:
            return token
    mistake = Mistake("Nobody of that name has a token.", suggestions=["It may have been removed already."])
    mistake.http_status = 404
    raise mistake


def _must_leave_a_custodian(context: CustodianContext, token: Token) -> None:
    others = [other for other in context.service.access.tokens if other != token]
    if token.role is PersonRole.CUSTODIAN and all(other.role is not PersonRole.CUSTODIAN for other in others):
        raise Mistake(
            f"{token.name!r} is the only custodian, and nobody could open these pages any more.",
            suggestions=["Add another custodian first, or remove the token on the command line."],
        )
