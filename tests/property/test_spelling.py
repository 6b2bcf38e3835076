"""One request, four spellings: each is read back as it was written, and nonsense is a Mistake."""

import json
import string
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.model.request import Measure, Table
from confide.model.universe import Condition, Piece, Universe
from confide.spelling.json import read_request, write_request
from confide.spelling.python import read_python, write_python
from confide.spelling.url import read_query, read_url, write_query, write_url
from confide.spelling.where import read_names, read_piece, read_where, write_names, write_piece
from confide.spelling.words import read_words, write_words

HOSTILE = st.sampled_from(",;=\\'\"&?#%+/.- \u00a0\n\t\r\0{}[]()<>_Té日🙂\u202e\u0301") | st.characters(codec="utf-8")
codes = st.text(HOSTILE, min_size=1, max_size=8)
names = codes.filter(lambda text: text.strip() != "")
"""What a catalog allows: codes are not empty, names of variables not blank."""


@st.composite
def requests(draw: st.DrawFn) -> Table:
    by = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    split = draw(st.integers(0, len(by)))
    pieces = [
        Piece(tuple(Condition(name, tuple(draw(st.lists(codes, min_size=1, max_size=3)))) for name in chosen))
        for chosen in draw(st.lists(st.lists(names, min_size=1, max_size=3, unique=True), max_size=3))
    ]
    measure = tuple(draw(st.lists(st.sampled_from(list(Measure)), min_size=1, unique=True)))
    of = draw(names) if any(m.of_variable for m in measure) else None
    return Table(draw(names), tuple(by[:split]), tuple(by[split:]), Universe(tuple(pieces)), measure, of)


@given(requests())
def test_json_is_read_as_written(request: Table) -> None:
    assert read_request(json.loads(json.dumps(write_request(request)))) == request


@given(requests())
def test_an_address_is_read_as_written(request: Table) -> None:
    assert read_url(write_url(request)) == request
    assert read_url("https://host/site/" + write_url(request, ending=".csv")) == request
    assert all(character in string.printable and not character.isspace() for character in write_url(request))


@given(requests())
def test_a_query_is_read_as_written(request: Table) -> None:
    assert read_query(request.dataset, write_query(request)) == request


@given(requests())
def test_command_line_words_are_read_as_written(request: Table) -> None:
    words = write_words(request)
    assert read_words(words) == request
    apart = [part for word in words[1:] for part in word.split("=", 1)]
    assert read_words([words[0], *apart]) == request


@given(requests(), names)
def test_python_is_read_as_written(request: Table, site: str) -> None:
    text = write_python(request, site=site)
    assert read_python(text) == request
    assert "\n" not in text


@given(requests())
def test_the_order_of_words_in_a_universe_does_not_matter(request: Table) -> None:
    turned = [{c.variable: c.codes[::-1] for c in piece.conditions[::-1]} for piece in request.where.pieces[::-1]]
    assert read_where(turned) == request.where
    assert read_where([write_piece(piece) for piece in request.where.pieces]) == request.where


@given(st.lists(names, max_size=4))
@example([" a"])
@example(["a\\ ", "\\"])
def test_names_are_read_as_written_with_spaces_around_them_if_they_have_any(listed: list[str]) -> None:
    assert read_names(write_names(listed)) == tuple(listed)


def test_spaces_that_nobody_meant_do_not_count() -> None:
    assert read_names(" sex , region ") == ("sex", "region")
    assert read_piece(" sex = f ; age=20-29, 30-39") == read_piece("sex=f;age=20-29,30-39")


GARBAGE = st.text(HOSTILE | st.sampled_from(list("tablerowscount=&?")), max_size=40)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | GARBAGE | st.sampled_from(["table", "count", "mean"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(GARBAGE, inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["ask", "dataset", "rows", "columns", "where", "measure", "of"])


def only_mistakes(read: Any, *given: Any) -> None:
    try:
        found = read(*given)
    except Mistake as mistake:
        assert str(mistake)
    else:
        assert isinstance(found, Table | Universe | Piece | tuple)


@settings(max_examples=200)
@given(GARBAGE, st.lists(GARBAGE, max_size=4), PLAIN)
def test_nonsense_is_a_mistake_and_nothing_else(text: str, words: list[str], value: Any) -> None:
    for read in (read_url, read_python, read_piece, read_names):
        only_mistakes(read, text)
    only_mistakes(read_url, "people/table?" + text)
    only_mistakes(read_words, words)
    only_mistakes(read_words, ["people", *(f"--{word}" for word in words)])
    only_mistakes(read_where, value)
    only_mistakes(read_request, value)
    only_mistakes(read_query, "people", [("where", text), *((word, text) for word in words)])


@settings(max_examples=200)
@given(st.dictionaries(KEYS, PLAIN))
def test_requests_of_the_wrong_kind_are_a_mistake(raw: dict[str, Any]) -> None:
    only_mistakes(read_request, {"ask": "table", **raw})
    call = ", ".join(f"{key}={value!r}" for key, value in raw.items() if key not in ("ask", "dataset"))
    only_mistakes(read_python, f"confide.open('s')['d'].table({call})")


@pytest.mark.parametrize(
    "text",
    [
        "confide.open('s')['d'].table(rows=__import__('os').getcwd())",
        "confide.open('s')['d'].table(**{'rows': 'a'})",
        "confide.open('s')['d'].table('a')",
        "confide.open('s')['d'].drop(rows='a')",
        "confide.open('s')[0].table(rows='a')",
        "(" * 300 + ")" * 300,
        "confide.open('s')['d'].table(rows='a', where=" + "[" * 200 + "]" * 200 + ")",
        "confide.open('s')['d'].table(rows='a', where={'b': {1: 2}})",
        "confide.open('s')['d'].table(rows='a', where={('b',): ['c']})",
        "confide.open('s')['d'].table(rows='a', rows='b')",
        "-" * 100_000 + "1",
    ],
)
def test_python_is_read_without_being_run(text: str) -> None:
    with pytest.raises(Mistake):
        read_python(text)
