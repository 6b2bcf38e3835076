"""The page of a project, for who asks in it: what for, with whom, about what, and how much is left today."""

from typing import Annotated

from fastapi import FastAPI, Request, Response

from confide.errors import Mistake
from confide.site.access import Person
from confide.web.pages.context import PageContext

__all__ = ["add_project_page"]


def add_project_page(app: FastAPI, context: PageContext) -> None:
    """Serve /project."""

    @app.get("/project", include_in_schema=False)
    def project(request: Request, asker: Annotated[Person, context.asker]) -> Response:
        found = context.service.project_of(asker)
        if found is None:
            none = Mistake("You ask in no project.", suggestions=["Log in with a token that was made for one."])
            none.http_status = 404
            raise none
        datasets = [context.dataset(name, asker) for name in found.datasets if name in context.datasets(request)]
        asked = context.service.asked_today(found.name)
        return context.render(request, "project.html", project=found, datasets=datasets, asked=asked)
