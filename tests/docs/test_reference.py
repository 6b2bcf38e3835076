"""The reference leaves nothing out: a name that exists and is not described fails here."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

import confide
from confide import coprivacy, querylogs, tables
from confide.answering.service import Service
from confide.cli.registry import COMMANDS, load
from confide.client import DatasetHandle, Diagnostics, ModelAnswer
from confide.formats.models.json import write_model
from confide.model.catalog import level
from confide.model.catalog import toml as catalog_toml
from confide.model.catalog.dataset import Taking
from confide.model.formula import Transform
from confide.model.policy import PRESETS, describe
from confide.model.request import Family
from confide.web.api import create_app
from confide.web.pages.analyst.table import view
from confide.web.problems import ProblemDocument

Page = Callable[[str], str]


def commands(group: dict[str, Any], *names: str) -> Iterator[str]:
    for name, command in group.items():
        yield from (
            commands(command.commands, *names, name) if hasattr(command, "commands") else [" ".join((*names, name))]
        )


def test_every_command_is_shown_with_its_help(reference: Page) -> None:
    page = reference("command-line")
    missing = [
        name for name in commands({name: load(name) for name in COMMANDS}) if f"$ confide {name} --help\n" not in page
    ]
    assert not missing


def test_every_public_name_is_described(reference: Page) -> None:
    page = reference("python")
    missing = [name for name in confide.__all__ if f"`confide.{name}`" not in page and f"`confide.{name}(" not in page]
    assert not missing


def test_every_public_name_of_tables_is_described(reference: Page) -> None:
    page = reference("tables")
    shown = {name for name in tables.__all__ if re.search(rf"`tables\.{name}\b", page)}
    rules = {name for name in tables.__all__ if f"| `{name}(" in page}
    assert set(tables.__all__) - shown - rules == {"Status"}, "statuses are a table of their own"


def test_every_public_name_of_querylogs_is_described(reference: Page) -> None:
    page = reference("querylogs")
    assert not [name for name in querylogs.__all__ if not re.search(rf"`querylogs\.{name}\b", page)]


def test_every_public_name_of_coprivacy_is_described(reference: Page) -> None:
    page = reference("coprivacy")
    assert not [name for name in coprivacy.__all__ if not re.search(rf"`coprivacy\.{name}\b", page)]


@pytest.mark.parametrize("kind", [confide.Answer, confide.Site, DatasetHandle, ModelAnswer, Diagnostics])
def test_every_public_method_is_described(kind: type, reference: Page) -> None:
    page = reference("python")
    missing = [name for name in vars(kind) if not name.startswith("_") and f"`.{name}" not in page]
    assert not missing


def test_every_policy_field_and_preset_is_described(reference: Page) -> None:
    page = reference("policy")
    assert not [name for name, _, _ in describe() if f"| `{name}` |" not in page]
    assert not [name for name in PRESETS if f"`{name}`" not in page]


def test_every_address_and_parameter_is_described(reference: Page, desktop: Path) -> None:
    page = reference("http")
    with Service.open(desktop / "demo-site") as service:
        app = create_app(service)
        described = app.openapi()
    paths = {re.sub(r":path}", "}", route.path) for route in app.routes if isinstance(route, APIRoute)}
    assert len(paths) > 10 and not [path for path in paths if not re.search(rf"`(?:[A-Z]+ )?{re.escape(path)}`", page)]
    parameters = {p["name"] for path in described["paths"].values() for p in path["get"].get("parameters", ())}
    assert not [name for name in parameters | set(view.PARAMETERS) if f"`{name}`" not in page]


def test_every_family_is_described_wherever_one_may_be_named(reference: Page) -> None:
    for page in ("python", "http", "spelling"):
        assert not [family for family in Family if family not in reference(page)], page


def test_every_transformation_of_a_formula_is_described(reference: Page) -> None:
    page = reference("spelling")
    assert not [transform for transform in Transform if f"{transform}(" not in page]


def test_every_grid_and_key_of_a_model_is_described(reference: Page, desktop: Path) -> None:
    page = reference("formats") + reference("python")
    with confide.open(desktop / "demo-site") as site:
        fit = site["people"].regression("hours ~ age")
        answers = [fit, fit.diagnostics(), site["people"].correlation(["age", "income"])]
    keys = {key for answer in answers for key in write_model(answer.release)}
    grids = {name for answer in answers for name in answer.grids if not name.startswith("plot: ")}
    assert "charts" in keys and len(grids) == 4
    assert not [name for name in keys | grids if f"`{name}`" not in page]


def test_every_key_of_a_problem_is_described(reference: Page) -> None:
    page = reference("errors")
    assert not [name for name in ProblemDocument.model_fields if f"`{name}`" not in page]


def test_every_rule_that_can_refuse_is_described(reference: Page, root: Path) -> None:
    page = reference("errors")
    sources = "".join(file.read_text(encoding="utf-8") for file in (root / "src" / "confide").rglob("*.py"))
    rules = set(re.findall(r'(?:Reason\(\s*|rule=)"(\w+\.\w+)"', sources))
    assert len(rules) > 20
    assert not [rule for rule in rules if f"| `{rule}` |" not in page]
    assert not set(re.findall(r"^\| `(\w+\.\w+)` \|", page, re.MULTILINE)) - rules, "no such rule"


def test_every_key_of_dataset_toml_is_described(reference: Page) -> None:
    page = reference("dataset-toml")
    keys = catalog_toml._DATASET_KEYS | catalog_toml._VARIABLE_KEYS | level._KEYS | level._OF_TAKEN | set(Taking)
    assert not [key for key in keys if f"`{key}`" not in page]


def test_every_page_is_in_the_navigation(root: Path) -> None:
    navigation = (root / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [str(page.relative_to(root / "docs")) for page in (root / "docs").rglob("*.md")]
    assert not [page for page in pages if page not in navigation]
