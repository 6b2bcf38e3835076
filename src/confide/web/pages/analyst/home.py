"""The pages of an analyst before a question: the data sets, one data set, one variable, how answers are protected."""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import FastAPI, Query, Request
from fastapi.responses import HTMLResponse

from confide.answering.service import Service, model_notes, protections
from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.model.formula import Factor, write_term
from confide.model.request import Family
from confide.site.access import Person
from confide.site.vintages import parse
from confide.spelling.where import write_names
from confide.web.pages.analyst.levels import by_subject, suggested
from confide.web.pages.analyst.plainly import ROLES, about_address, kind_of, protected_how, rules_of, unit_of, uses_of
from confide.web.pages.context import PageContext

__all__ = ["add_analyst_pages"]

LISTED = 200
"""So many codes stand on one page."""

Words = Annotated[str, Query(max_length=200)]
Number = Annotated[int, Query(ge=1, le=10_000)]


def add_analyst_pages(app: FastAPI, context: PageContext) -> None:
    """Home, how answers are protected, the data sets and their variables."""

    @app.get("/", include_in_schema=False)
    def home(request: Request) -> HTMLResponse:
        cards = [_card(context.service, dataset) for dataset in context.datasets(request).values()]
        return context.render(request, "home.html", cards=cards, known=context.visitor(request) is not None)

    @app.get("/about", include_in_schema=False)
    def about(request: Request, dataset: Words = "") -> HTMLResponse:
        person = context.visitor(request)
        described = context.dataset(dataset, person) if dataset and person else None
        policy = context.service.policy_of(described.name) if described else context.service.policy
        return context.render(
            request,
            "about.html",
            changes=protections(policy, totals=True),
            models=model_notes(policy),
            rules=rules_of(policy),
            policy=policy,
            dataset=described,
            others=_policies(context.service, context.datasets(request), dataset),
        )

    @app.get("/{dataset}", include_in_schema=False)
    def dataset(request: Request, dataset: str, asker: Annotated[Person, context.asker], q: Words = "") -> HTMLResponse:
        described = context.dataset(dataset, asker)
        found = [v for v in _public(described) if _matches(q, (v.name, v.label, v.subject))]
        subjects = [(s, [_entry(described, v) for v in group]) for s, group in by_subject(found)]
        card = _card(context.service, described)
        return context.render(
            request, "dataset.html", dataset=described, card=card, subjects=subjects, found=len(found), q=q
        )

    @app.get("/{dataset}/variables/{name:path}", include_in_schema=False)
    def variable(
        request: Request,
        dataset: str,
        name: str,
        asker: Annotated[Person, context.asker],
        q: Words = "",
        page: Number = 1,
    ) -> HTMLResponse:
        described = context.dataset(dataset, asker)
        words = _variable(described, _known(described, name), q, page)
        return context.render(request, "variable.html", dataset=described, **words)


def _known(dataset: Dataset, name: str) -> Variable:
    try:
        return dataset.variable(name)
    except Mistake as mistake:
        mistake.http_status = 404
        raise


def _public(dataset: Dataset) -> list[Variable]:
    return [v for v in dataset.variables.values() if v.role is not Role.IDENTIFIER]


def _matches(q: str, texts: Iterable[str]) -> bool:
    text = " ".join(texts).casefold()
    return all(word in text for word in q.casefold().split())


def _policies(service: Service, datasets: Mapping[str, Dataset], chosen: str) -> list[tuple[str, str, bool]]:
    """What the page on protection can be about: words, address, and whether it is that; nothing if all follow the site."""
    own = [d for d in datasets.values() if not service.follows(d.name)]
    listed = [(d.title, about_address(service, d.name), d.name == chosen) for d in own]
    rest = "The other data sets" if len(own) < len(datasets) else "The site"
    return [(rest, "/about", chosen not in {d.name for d in own}), *listed] if own else []


def _card(service: Service, dataset: Dataset) -> dict[str, Any]:
    """A data set as it is listed."""
    return {
        "title": dataset.title,
        "address": f"/{quote(dataset.name, safe='')}",
        "facts": [
            ("Unit", unit_of(dataset)),
            ("Period", dataset.period),
            ("Variables", str(len(_public(dataset)))),
            ("Weights", "Counts, totals and means can be weighted" if dataset.weight else ""),
            ("Source", dataset.source),
        ],
        "vintages": [(parse(each)[1], f"/{quote(each, safe='@')}") for each in service.vintages(dataset.name)],
        "vintage": parse(dataset.name)[1],
        "models": any(v.measurable for v in dataset.variables.values()),
        "how": protected_how(service.policy_of(dataset.name)),
        "about": about_address(service, dataset.name),
    }


def variable_address(dataset: Dataset, variable: Variable) -> str:
    return f"/{quote(dataset.name, safe='')}/variables/{quote(variable.name, safe='')}"


def _entry(dataset: Dataset, variable: Variable) -> dict[str, Any]:
    """A variable as it is listed."""
    family = dataset.levels(variable.name) if variable.classifies else []
    return {
        "variable": variable,
        "address": variable_address(dataset, variable),
        "kind": kind_of(variable),
        "role": ROLES[variable.role],
        "levels": " › ".join(level.label for level in family) if len(family) > 1 else "",
    }


def _variable(dataset: Dataset, variable: Variable, q: str, page: int) -> dict[str, Any]:
    """What the page of a variable shows."""
    codes = [code for code in variable.codes or () if _matches(q, (code.code, code.label))]
    above = {c.code: c.label for c in dataset.variables[variable.parent].codes or ()} if variable.parent else {}
    family = dataset.levels(variable.name) if variable.classifies else []
    pages = max(1, ceil(len(codes) / LISTED))
    at = min(page, pages)
    address = variable_address(dataset, variable)
    return {
        "variable": variable,
        "kind": kind_of(variable),
        "role": ROLES[variable.role],
        "uses": uses_of(variable),
        "actions": list(_actions(dataset, variable)),
        "levels": [(v, variable_address(dataset, v), v.name == suggested(dataset, v.name)) for v in family],
        "cutpoints": ", ".join(f"{cut:,.15g}" for cut in variable.cutpoints),
        "codes": [(c.code, c.label, above.get(c.parent or "", "")) for c in codes[(at - 1) * LISTED : at * LISTED]],
        "found": len(codes),
        "first": (at - 1) * LISTED + 1,
        "q": q,
        "earlier": f"{address}?{urlencode({'q': q, 'page': at - 1})}#codes" if at > 1 else "",
        "later": f"{address}?{urlencode({'q': q, 'page': at + 1})}#codes" if at < pages else "",
        "address": address,
        "above": dataset.variables[variable.parent].label if variable.parent else "",
    }


def _actions(dataset: Dataset, variable: Variable) -> Iterable[tuple[str, str]]:
    """Where one can begin with this variable."""
    start = f"/{quote(dataset.name, safe='')}"
    name = write_names([variable.name])
    if variable.classifies:
        yield "Make a table with it", f"{start}/table/build?{urlencode({'rows': name})}"
        if variable.universe:
            yield "Ask about some of its classes", f"{start}/table/build?{urlencode({'where': f'{name}='})}#universe"
    if variable.measurable:
        yield "Average it", f"{start}/table/build?{urlencode({'measure': 'mean', 'of': variable.name})}"
    if variable.measurable and variable.role is not Role.KEY:
        response = f"{Family.GAUSSIAN} {write_term((Factor(variable.name),))}"
        yield "Explain it by a model", f"{start}/regression/build?{urlencode({'response': response})}"
