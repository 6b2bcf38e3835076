"""The page for programs: every address with its parameters and examples that run, made from the OpenAPI document."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from confide.answering.service import Service
from confide.errors import Reason, Refused, Suggestion
from confide.model.catalog.dataset import Dataset, Kind, Role, Variable
from confide.model.formula import Factor, Formula
from confide.model.request import CorrelationRequest, RegressionRequest, TableRequest
from confide.model.request import Request as Question
from confide.spelling.url import write_url
from confide.web.pages.analyst.code import samples
from confide.web.pages.context import PageContext
from confide.web.problems import as_document, problem

__all__ = ["add_api_page"]

Document = Mapping[str, Any]
Samples = list[tuple[str, str]]

_LANGUAGES = ("curl", "Python")
_STRANGER = Dataset("people", "People", {n: Variable(n, n, Kind.NUMERIC, minimum=0) for n in ("age", "income")})
"""What examples are about for who may not see the data sets."""


@dataclass(frozen=True)
class Operation:
    """An address as the page shows it."""

    id: str
    path: str
    summary: str
    parameters: list[list[str]]
    statuses: list[str]
    samples: Samples


def add_api_page(app: FastAPI, context: PageContext) -> None:
    """Serve the page."""

    @app.get("/api", include_in_schema=False)
    def api(request: Request) -> HTMLResponse:
        document: Document = app.openapi()
        known = list(context.datasets(request).values()) or [_STRANGER]
        shown = max(known, key=lambda dataset: len(dataset.variables))
        site, token = context.site(request), context.wants_token
        examples = _examples(shown, site, token=token)
        return context.render(
            request,
            "api.html",
            operations=list(_operations(document, examples)),
            fields=list(_fields(document)),
            refusal=_refusal(context),
            header=f'curl --header "Authorization: Bearer $CONFIDE_TOKEN" {site}/api/datasets',
            python=f"import os\nimport confide\n\nsite = confide.open({site!r}, token=os.environ['CONFIDE_TOKEN'])",
            token=token,
            pace=context.service.policy.quota.per_minute,
            days=_days(context.service, context.datasets(request)),
        )


def _days(service: Service, datasets: Iterable[str]) -> list[tuple[int, str]]:
    """How many questions a day are allowed, and of which data sets, unless it is the same for all."""
    quotas = {name: service.policy_of(name).quota.per_day for name in datasets}
    if len(set(quotas.values())) <= 1:
        return [(next(iter(quotas.values()), service.policy.quota.per_day), "each data set")]
    return [(quota, name) for name, quota in quotas.items()]


def _operations(document: Document, examples: Mapping[str, Samples]) -> Iterator[Operation]:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            yield Operation(
                id=operation["operationId"],
                path=path,
                summary=operation["summary"],
                parameters=[_parameter(p, document) for p in operation.get("parameters", ())],
                statuses=sorted(operation["responses"]),
                samples=examples.get(path, []),
            )


def _parameter(parameter: Document, document: Document) -> list[str]:
    """Name, where it stands, what it may be, and what it means."""
    return [parameter["name"], parameter["in"], _kind(parameter["schema"], document), parameter.get("description", "")]


def _kind(schema: Document, document: Document) -> str:
    """A schema in words: its values, or its type; and what it is if not given."""
    if "$ref" in schema:
        schema = {**document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], **schema}
    words = ", ".join(map(str, schema["enum"])) if "enum" in schema else str(schema.get("type", "text"))
    words = {"array": "texts, may repeat", "string": "text", "integer": "whole number"}.get(words, words)
    limits = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in schema]
    default = schema.get("default")
    given = [f"if not given: {', '.join(default) if isinstance(default, list) else default}"] if default else []
    return "; ".join([" ".join([words, *limits]), *given])


def _fields(document: Document) -> Iterator[list[str]]:
    """The fields of a problem document and what they hold."""
    told = {
        "type": "always about:blank",
        "title": "Mistake, Refused, Denied or Fault",
        "status": "the HTTP status again",
        "detail": "what happened, in a sentence",
        "policy": "the policy that refused",
        "reasons": "the rules that said no: rule and text of each",
        "suggestions": "what to do: text, and url if it is a question that is answered",
    }
    for name in document["components"]["schemas"]["Problem"]["properties"]:
        yield [name, told.get(name, "")]


def _refusal(context: PageContext) -> str:
    """A refusal as a program gets it."""
    reasons = [Reason("tables.sparsity", "Too many cells of this table hold few units.")]
    near = Suggestion("'region' instead of 'county'", "people/table?rows=region&columns=occupation")
    told = problem(Refused(reasons, policy="standard, version 1", suggestions=[near]), ending=".json")
    return json.dumps(json.loads(bytes(as_document(context.path.problem(told), {}).body)), indent=2)


def _examples(dataset: Dataset, site: str, *, token: bool) -> dict[str, Samples]:
    """For each address a command and a few lines of Python about this data set, from its codebook alone."""
    shown = ' --header "Authorization: Bearer $CONFIDE_TOKEN"' if token else ""
    opened = f"confide.open({site!r}" + (", token=os.environ['CONFIDE_TOKEN'])" if token else ")")
    begin = ("import os\n" if token else "") + "import confide\n\n"
    quoted = quote(dataset.name, safe="")
    name, archived = f"{site}/api/datasets/{quoted}", f"{site}/{quoted}/ddi.xml"
    examples = {
        "/api/datasets": [
            ("curl", f"curl --fail{shown} {shlex.quote(f'{site}/api/datasets')}"),
            ("Python", f"{begin}print(list({opened}))"),
        ],
        "/api/datasets/{name}": [
            ("curl", f"curl --fail{shown} {shlex.quote(name)}"),
            ("Python", f"{begin}print({opened}[{dataset.name!r}].codebook)"),
        ],
        "/{dataset}/ddi.xml": [
            ("curl", f"curl --fail{shown} {shlex.quote(archived)}"),
            ("Python", f"{begin}print({opened}[{dataset.name!r}].to_ddi())"),
        ],
        "/api/ledger": [
            (
                "curl",
                f'curl --fail --header "Authorization: Bearer $CONFIDE_TOKEN" {shlex.quote(f"{site}/api/ledger?last=10")}',
            )
        ],
    }
    for question in _questions(dataset):
        path = "/{dataset}" + write_url(question, ending=".{ending}").partition("?")[0].removeprefix(quoted)
        texts = dict(samples(question, site=site, token=token))
        examples[path] = [(language, texts[language]) for language in _LANGUAGES]
    return examples


def _questions(dataset: Dataset) -> Iterator[Question[Any]]:
    """A table, a model and correlations that the codebook allows: of few classes, and of numbers that tell little."""
    classes = [v for v in dataset.variables.values() if v.classifies]
    numbers = [v for v in dataset.variables.values() if v.measurable]
    free = sorted((v for v in numbers if v.role is not Role.KEY), key=lambda v: v.role is not Role.OTHER)
    if classes:
        yield TableRequest(dataset.name, (dataset.levels(classes[0].name)[0].name,))
    if free and len(numbers) > 1:
        predictor = next(v for v in numbers if v is not free[0])
        yield RegressionRequest(dataset.name, Formula(Factor(free[0].name), ((Factor(predictor.name),),)))
        yield CorrelationRequest(dataset.name, (free[0].name, predictor.name))
