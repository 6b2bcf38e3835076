"""The reference leaves no measure out."""

import re
from inspect import getdoc
from pathlib import Path

import pytest

from confide.measures import risk, utility
from confide.measures.maps import LOSSES, RISKS
from confide.measures.roles import ALONE, WORDS, Named
from confide.measures.space import SCALINGS
from confide.microdata import METHODS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "measures.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*risk.__all__, *utility.__all__])
def test_every_measure_is_described(name):
    assert f"`{name}(" in PAGE


@pytest.mark.parametrize(
    "measure", [*map(risk.__dict__.get, risk.__all__), *map(utility.__dict__.get, utility.__all__)]
)
def test_every_measure_begins_with_its_name_in_the_field_and_a_reference(measure):
    first = (getdoc(measure) or "").splitlines()[0]
    assert re.search(r" \([^)]* \d{4}[^)]*\)", first), first


@pytest.mark.parametrize("word", METHODS)
def test_the_best_known_attack_on_every_method_is_described(word):
    assert f"| `{word}` | `{METHODS[word].best_attack}` |" in PAGE


@pytest.mark.parametrize("word", [*RISKS, *LOSSES, *SCALINGS, *WORDS, *ALONE, *Named.__annotations__])
def test_every_word_that_may_be_given_is_described(word):
    assert f"`{word}`" in PAGE
