"""The whole description on a page: what the data set is called, and every variable with its label and role."""

from typing import Annotated

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from confide.model.catalog.dataset import Role
from confide.site.describing.changes import section_of
from confide.site.describing.saving import Description, FieldMistake
from confide.web.describing.context import DescribingContext
from confide.web.describing.fields import HEAD, dataset_changes, number_of
from confide.web.pages.context import Error

__all__ = ["VARIABLES", "add_overview"]

VARIABLES = 100
"""So many variables stand on a page."""

Form = dict[str, str]


def add_overview(app: FastAPI, context: DescribingContext) -> None:
    """Serve / and its form."""

    def show(request: Request, now: Description, first: int, *, given: Form, errors: list[Error]) -> Response:
        names = list(now.dataset.variables)
        return context.render(
            request,
            "overview.html",
            status=422 if errors else 200,
            errors=errors,
            base=given.get("base", now.mark),
            head={key: given.get(key, str(now.document.said.get(key, ""))) for key in HEAD},
            rows=_rows(context, now, names[first : first + VARIABLES], given),
            roles=tuple(Role),
            first=first,
            pages=_pages(len(names), first),
            saved="saved" in request.query_params and not errors,
            next_step=context.file.next_step(),
        )

    @app.get("/", dependencies=[context.custodian])
    def overview(request: Request) -> Response:
        return show(request, context.file.read(), number_of(request.query_params.get("from", "")), given={}, errors=[])

    @app.post("/", dependencies=[context.custodian])
    def save(request: Request, form: Annotated[Form, context.form]) -> Response:
        first = number_of(form.get("from", ""))
        try:
            context.file.save(list(dataset_changes(form)), mark=form.get("base", ""))
        except FieldMistake as mistake:
            return show(request, context.file.read(), first, given=form, errors=[Error(mistake.field, str(mistake))])
        return RedirectResponse(f"/?saved&from={first}", 303)


def _rows(context: DescribingContext, now: Description, names: list[str], given: Form) -> list[dict[str, object]]:
    """Each variable with what the form says of it, and what a draft took its column for."""
    seen = context.file.profile()
    return [
        {
            "name": name,
            "place": place,
            "label": given.get(f"label-{place}", variable.label),
            "role": given.get(f"role-{place}", str(variable.role)),
            "kind": str(variable.kind),
            "declared": name in now.document.get(section_of(name)[:1]),
            "seen": seen.columns.get(name),
        }
        for place, name in enumerate(names)
        for variable in [now.dataset.variables[name]]
    ]


def _pages(total: int, first: int) -> list[tuple[str, str, bool]]:
    """Links to the parts of a long list; none if it is on one page."""
    if total <= VARIABLES:
        return []
    starts = range(0, total, VARIABLES)
    return [(f"{n + 1} to {min(n + VARIABLES, total)}", f"/?from={n}", n == first) for n in starts]
