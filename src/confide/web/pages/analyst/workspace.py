"""What somebody keeps: variables of their own and questions, on a page and for programs."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from confide.answering.service import Service
from confide.errors import Denied, Mistake
from confide.site.access import Person
from confide.spelling.json import read_request
from confide.spelling.pasted import read_pasted
from confide.spelling.url import write_url
from confide.web.authentication import asker_of
from confide.web.forms import must_be_own, read_form
from confide.web.openapi import problems
from confide.web.pages.analyst import model_view
from confide.web.pages.analyst.table import view
from confide.web.pages.context import Error, PageContext

__all__ = ["add_workspace"]

VIEWS = (*view.PARAMETERS, *model_view.VIEWS)
"""Parameters of pages that are not of their questions."""


async def _sent(request: Request) -> dict[str, str]:
    """The fields of a form that somebody sent from a page of this session, or with their token."""
    form = await read_form(request)
    must_be_own(request, form)
    return form


Form = Annotated[dict[str, str], Depends(_sent)]


def add_workspace(app: FastAPI, context: PageContext) -> None:
    """Serve /workspace, /workspace/remove and /api/workspace."""
    service = context.service

    def page(request: Request, person: Person, *, form: Mapping[str, str], errors: list[Error]) -> Response:
        _must_have(service, person)
        session = asker_of(request).session
        words = {"csrf": session.csrf if session else "", "given": form, "errors": errors}
        words |= {"kept": _listed(service, person), "datasets": list(service.datasets_of(person).values())}
        return context.render(request, "workspace.html", status=422 if errors else 200, **words)

    @app.get("/workspace", include_in_schema=False)
    def show(request: Request, asker: Annotated[Person, context.asker]) -> Response:
        return page(request, asker, form={}, errors=[])

    @app.post("/workspace", include_in_schema=False)
    def keep(request: Request, asker: Annotated[Person, context.asker], form: Form) -> Response:
        try:
            _keep(service, asker, form)
        except Mistake as mistake:
            field = "question" if form.get("question", "").strip() else "define"
            return page(request, asker, form=form, errors=[Error(field, str(mistake))])
        return RedirectResponse("/workspace", 303)

    @app.post("/workspace/remove", include_in_schema=False)
    def remove(request: Request, asker: Annotated[Person, context.asker], form: Form) -> Response:
        _forget(service, asker, form)
        return RedirectResponse("/workspace", 303)

    _add_for_programs(app, context)


def _add_for_programs(app: FastAPI, context: PageContext) -> None:
    service = context.service

    @app.get(
        "/api/workspace",
        summary="The variables and questions that you keep",
        response_model=dict[str, Any],
        responses=problems(401),
    )
    def kept(asker: Annotated[Person, context.asker]) -> JSONResponse:
        return JSONResponse(service.workspaces.of(asker).as_dict())

    @app.post("/api/workspace", include_in_schema=False)
    def keep(asker: Annotated[Person, context.asker], form: Form) -> JSONResponse:
        _keep(service, asker, form)
        return JSONResponse(service.workspaces.of(asker).as_dict())

    @app.post("/api/workspace/remove", include_in_schema=False)
    def remove(asker: Annotated[Person, context.asker], form: Form) -> JSONResponse:
        _forget(service, asker, form)
        return JSONResponse(service.workspaces.of(asker).as_dict())


def _keep(service: Service, person: Person, form: Mapping[str, str]) -> None:
    """Keep a question, if the form has one, or a definition."""
    _must_have(service, person)
    if form.get("question", "").strip():
        question = read_pasted(form["question"], views=VIEWS)
        service.workspaces.keep_question(person, form.get("name", ""), question)
    else:
        service.workspaces.keep_definition(person, form.get("dataset", ""), form.get("define", ""))


def _forget(service: Service, person: Person, form: Mapping[str, str]) -> None:
    _must_have(service, person)
    if form.get("dataset"):
        service.workspaces.forget_definition(person, form["dataset"], form.get("name", ""))
    else:
        service.workspaces.forget_question(person, form.get("name", ""))


def _must_have(service: Service, person: Person) -> None:
    if not service.workspaces.has(person):
        raise Denied("Only people with a token keep variables and questions.", suggestions=["Log in first."])


def _listed(service: Service, person: Person) -> dict[str, Any]:
    """What is kept, as the page shows it: a question that no longer fits keeps its name and can be removed."""
    kept = service.workspaces.of(person)
    definitions = [(dataset, *pair) for dataset, named in sorted(kept.definitions.items()) for pair in named.items()]
    return {"definitions": definitions, "questions": [(name, _address(raw)) for name, raw in kept.questions.items()]}


def _address(raw: Mapping[str, Any]) -> str:
    try:
        return "/" + write_url(read_request(raw))
    except Mistake:
        return ""
