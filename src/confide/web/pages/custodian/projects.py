"""Projects: who asks together, what for, a new one, and taking one away."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from confide.errors import Mistake
from confide.site.access import Person, Project, add_project, remove_project
from confide.site.folder import must_be_datasets
from confide.web.forms import names_in, number_in
from confide.web.pages.context import Error
from confide.web.pages.custodian.context import CustodianContext

__all__ = ["add_projects"]


def add_projects(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/projects and /custodian/projects/remove."""
    service = context.service

    def listed(request: Request, *, errors: list[Error], form: Mapping[str, str]) -> Response:
        projects = [(project, service.asked_today(project.name)) for project in service.access.projects]
        words = {"projects": projects, "datasets": list(service.datasets), "given": form, "errors": errors}
        return context.render(request, "projects.html", status=422 if errors else 200, **words)

    @app.get("/custodian/projects", include_in_schema=False)
    def projects(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        return listed(request, errors=[], form={})

    @app.post("/custodian/projects", include_in_schema=False)
    def add(
        request: Request,
        form: Annotated[dict[str, str], context.form],
        custodian: Annotated[Person, context.custodian],
    ) -> Response:
        try:
            project = _written(form)
            must_be_datasets(service.papers, project.datasets)
            add_project(service.papers.access, project)
        except Mistake as mistake:
            return listed(request, errors=[Error("name", str(mistake))], form=form)
        words = {"name": project.name, "purpose": project.purpose, "terms": project.words}
        service.record_act(custodian, "project made", **words)
        return RedirectResponse("/custodian/projects", 303)

    @app.post("/custodian/projects/remove", include_in_schema=False)
    def remove(
        request: Request,
        form: Annotated[dict[str, str], context.form],
        custodian: Annotated[Person, context.custodian],
    ) -> Response:
        name = form.get("name", "")
        try:
            remove_project(service.papers.access, name=name)
        except Mistake as mistake:
            return listed(request, errors=[Error("name", str(mistake))], form={})
        service.papers.project(name).unlink(missing_ok=True)
        service.record_act(custodian, "project removed", name=name)
        return RedirectResponse("/custodian/projects", 303)


def _written(form: Mapping[str, str]) -> Project:
    name, purpose = form.get("name", "").strip(), form.get("purpose", "").strip()
    people, datasets = names_in(form.get("people", "")), names_in(form.get("datasets", ""))
    return Project(name, purpose, people, datasets, number_in(form.get("quota", "")), review="review" in form)
