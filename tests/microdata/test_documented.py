"""The reference leaves nothing out: a method, a parameter or a name of the contract that is not described fails here."""

import re
from dataclasses import fields
from inspect import getdoc, signature
from pathlib import Path

import pytest

from confide import microdata
from confide.microdata import METHODS, Method, Plan, Released

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "microdata.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_method_has_a_section_with_all_its_parameters(method: type[Method]) -> None:
    section = re.search(rf"^## {method.__name__}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, f"docs/reference/microdata.md has no section '## {method.__name__}'"
    assert not [f.name for f in fields(method) if f"| `{f.name}` |" not in section[1]]
    assert "issing" in section[1] or "missing" not in method.keeps


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_method_states_its_promise_and_what_it_does_with_missing_values(method: type[Method]) -> None:
    words = getdoc(method) or ""
    assert "Promise: " in words and "issing" in words and ">>> " in words


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_method_begins_with_its_name_in_the_field_and_a_reference(method: type[Method]) -> None:
    first = (getdoc(method) or "").splitlines()[0]
    assert re.match(r"[A-Z][^:]* \([^)]* \d{4}[^)]*\)[^:]*: ", first), first


def test_every_public_name_is_described() -> None:
    others = [name for name in microdata.__all__ if not name.startswith("Method") or name == "METHODS"]
    assert not [name for name in others if f"microdata.{name}" not in PAGE and f"## {name}" not in PAGE]
    members = [name for kind in (Plan, Released) for name in vars(kind) if not name.startswith("_")]
    assert not [name for name in members if f"`.{name}" not in PAGE and f"Plan.{name}(" not in PAGE]
    assert not [name for name in list(signature(Method.protect).parameters)[1:] if f"| `{name}` |" not in PAGE]
