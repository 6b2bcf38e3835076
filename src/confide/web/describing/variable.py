"""One variable on a page: what was seen in its column, and everything that may be changed of it."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from confide.errors import Mistake, nearest
from confide.model.catalog.dataset import Role, Variable
from confide.site.describing.changes import section_of
from confide.site.describing.saving import Description, FieldMistake
from confide.web.describing.context import DescribingContext
from confide.web.describing.fields import (
    CODES,
    LEVEL,
    bars,
    code_rows,
    editable_codes,
    missing_text,
    number_of,
    numbers_text,
    variable_changes,
)
from confide.web.pages.context import Error

__all__ = ["add_variable"]

Form = dict[str, str]


def add_variable(app: FastAPI, context: DescribingContext) -> None:
    """Serve /variable and its form."""

    def show(request: Request, now: Description, variable: Variable, *, given: Form, errors: list[Error]) -> Response:
        first = number_of(given.get("from", request.query_params.get("from", "")))
        return context.render(
            request,
            "variable.html",
            status=422 if errors else 200,
            errors=errors,
            base=given.get("base", now.mark),
            variable=variable,
            roles=tuple(Role),
            saved="saved" in request.query_params and not errors,
            next_step=context.file.next_step(),
            **_words(context, now, variable, first=first, given=given),
        )

    @app.get("/variable", dependencies=[context.custodian])
    def variable(request: Request) -> Response:
        now = context.file.read()
        return show(request, now, _named(now, request.query_params.get("name", "")), given={}, errors=[])

    @app.post("/variable", dependencies=[context.custodian])
    def save(request: Request, form: Annotated[Form, context.form]) -> Response:
        now = context.file.read()
        known = _named(now, form.get("name", ""))
        try:
            context.file.save(list(variable_changes(form, known, now.document)), mark=form.get("base", ""))
        except FieldMistake as mistake:
            return show(request, now, known, given=form, errors=[Error(mistake.field, str(mistake))])
        return RedirectResponse(
            f"/variable?{urlencode({'name': known.name, 'from': form.get('from', '0')})}&saved", 303
        )


def _named(now: Description, name: str) -> Variable:
    found = now.dataset.variables.get(name)
    if found is None:
        mistake = Mistake(f"There is no variable {name[:60]!r}.", suggestions=nearest(name, now.dataset.variables))
        mistake.http_status = 404
        raise mistake
    return found


def _words(
    context: DescribingContext, now: Description, variable: Variable, *, first: int, given: Form
) -> dict[str, Any]:
    """What the page shows of a variable, with what the form says of it if one is given."""
    profile = context.file.profile()
    seen, said = profile.columns.get(variable.column), now.document.get(section_of(variable.name))
    editable, codes = editable_codes(now.document, variable), len(variable.codes or ())
    return {
        "seen": seen,
        "records": profile.records,
        "declared": variable.name in now.document.get(section_of(variable.name)[:1]),
        "editable": editable,
        "rows": [] if variable.numeric else code_rows(now.document, variable, seen, first=first, given=given),
        "bins": [(value, *shown) for value, shown in bars(seen).items()]
        if seen and (variable.numeric or not codes)
        else [],
        "first": first,
        "pages": _pages(variable, codes, first),
        "label": given.get("label", variable.label),
        "role": given.get("role", str(variable.role)),
        "missing": given.get("missing", missing_text(said.get("missing", []))),
        "cutpoints": given.get("cutpoints", numbers_text(variable.cutpoints)),
        "added": given.get("added", ""),
        "level": {key: given.get(key, "") for key in LEVEL},
        "levels": (variable.of is None and variable.role is not Role.IDENTIFIER)
        if variable.numeric
        else (editable and variable.parent is None and 0 < codes <= CODES),
        "groups": editable and (variable.parent is not None or codes <= CODES),
    }


def _pages(variable: Variable, total: int, first: int) -> list[tuple[str, str, bool]]:
    """Links to the parts of a long list of codes; none if it is on one page."""
    if variable.numeric or total <= CODES:
        return []
    query = urlencode({"name": variable.name})
    starts = range(0, total, CODES)
    return [(f"{n + 1} to {min(n + CODES, total)}", f"/variable?{query}&from={n}", n == first) for n in starts]
