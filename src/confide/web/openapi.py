"""What /openapi.json says beyond what FastAPI finds by itself: problem documents, the answers, who may ask."""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from confide.site.access import Access, Reach
from confide.web.problems import MEDIA_TYPE, ProblemDocument
from confide.web.subpath import SubPath

__all__ = ["CSV", "MODEL", "TABLE", "XLSX", "XML", "describe", "problems"]

CSV = "text/csv"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
XML = "application/xml"

_NAMED = {"type": "array", "items": {"type": "string"}}
_JSON_STAT: dict[str, Any] = {
    "title": "JsonStat",
    "description": "A JSON-stat 2.0 data set; withheld numbers are null and marked in `status`.",
    "type": "object",
    "required": ["version", "class", "label", "id", "size", "dimension", "value", "status", "extension"],
    "properties": {
        "version": {"const": "2.0"},
        "class": {"const": "dataset"},
        "label": {"type": "string"},
        "id": _NAMED,
        "size": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        "dimension": {"type": "object"},
        "value": {"type": "array", "items": {"type": ["number", "null"]}},
        "status": {"type": "object", "additionalProperties": {"enum": ["c", "x", "z"]}},
        "extension": {"type": "object", "required": ["confide"]},
    },
}
_GRID = {
    "type": "object",
    "required": ["title", "columns", "rows"],
    "properties": {
        "title": {"type": "string"},
        "columns": _NAMED,
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": ["string", "number", "null"]}}},
    },
}
_MODEL: dict[str, Any] = {
    "title": "Model",
    "description": "Tables by name (coefficients, anova, statistics; or correlations); null where no number applies.",
    "type": "object",
    "required": ["class", "title", "scope", "policy", "receipt", "source", "request", "grids", "notes"],
    "properties": {
        "class": {"const": "confide-model"},
        **{name: {"type": "string"} for name in ("title", "scope", "policy", "receipt", "source")},
        "request": {"type": "object"},
        "grids": {"type": "object", "additionalProperties": _GRID},
        "notes": _NAMED,
        "charts": {"type": "object", "description": "Vega-Lite specifications by name, of synthetic data."},
    },
}
_TEXT = {"schema": {"type": "string"}}


def _answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": description,
        "headers": {"ETag": {"description": "The receipt of the answer.", **_TEXT}},
        "content": {
            "application/json": {"schema": schema},
            CSV: _TEXT,
            XLSX: {"schema": {"type": "string", "format": "binary"}},
        },
    }


TABLE = _answer("The protected table", _JSON_STAT)
MODEL = _answer("The protected results", _MODEL)

_ALWAYS = (400, 403, 413, 414, 421, 429, 500, 503)


def problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The problem documents an address may answer with, beside those that any address may."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    described: dict[int | str, dict[str, Any]] = {
        code: {"description": HTTPStatus(code).phrase, "content": content} for code in sorted({*codes, *_ALWAYS})
    }
    described[429]["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
    return described


def describe(app: FastAPI, access: Access, path: SubPath) -> None:
    """Let the app describe itself, and whether the site asks for a token."""
    described: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not described:
            described.update(_describe(app, access))
            if path.path:
                described["servers"] = [{"url": path.path}]
        return described

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to extend the description


def _describe(app: FastAPI, access: Access) -> dict[str, Any]:
    described = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    parts = described["components"]
    parts["schemas"] = {name: schema for name, schema in parts["schemas"].items() if "ValidationError" not in name}
    parts["schemas"] |= _problem_schemas()
    for path, methods in described["paths"].items():
        _without_validation(methods["get"]["responses"])
        if access.tokens and path != "/":
            methods["get"]["security"] = [{"token": []}, *([] if access.reach is Reach.TOKENS else [{}])]
    if access.tokens:
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return described


def _without_validation(responses: dict[str, Any]) -> None:
    """FastAPI describes its own validation errors wherever there is a parameter; they never leave here."""
    if MEDIA_TYPE not in responses.get("422", {"content": MEDIA_TYPE})["content"]:
        del responses["422"]


def _problem_schemas() -> dict[str, Any]:
    schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
    return {**schema.pop("$defs"), "Problem": schema}
