"""The reference leaves no measure out."""

from pathlib import Path

import pytest

from confide.measures import risk, utility
from confide.measures.maps import LOSSES, RISKS
from confide.measures.roles import ALONE, WORDS, Named
from confide.measures.space import SCALINGS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "measures.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*risk.__all__, *utility.__all__])
def test_every_measure_is_described(name):
    assert f"`{name}(" in PAGE


@pytest.mark.parametrize("word", [*RISKS, *LOSSES, *SCALINGS, *WORDS, *ALONE, *Named.__annotations__])
def test_every_word_that_may_be_given_is_described(word):
    assert f"`{word}`" in PAGE
