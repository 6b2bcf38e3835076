"""Whatever was copied is read: the same request from every spelling, and a reason for what is none."""

import contextlib
import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.model.request import CorrelationRequest, RegressionRequest, TableRequest
from confide.spelling.curl import write_curl
from confide.spelling.json import write_request
from confide.spelling.pasted import read_pasted
from confide.spelling.python import write_python
from confide.spelling.r import write_r
from confide.spelling.url import read_url, write_url
from confide.spelling.words import write_words

REQUESTS = [
    read_url("people/table?rows=sex&columns=region&where=age_group=20-29,30-39;sex=f&where=region=N"),
    read_url("people/table?rows=sex&measure=total,mean&of=income"),
    read_url("people/regression?formula=log(income)~age*sex&family=gaussian&where=region=N"),
    read_url("people/correlation?variables=age,income"),
    read_url("people/correlation?variables=age,log(income)"),
]
"""One of each kind, with all its parts."""


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_every_spelling_that_we_write_is_read(request_: TableRequest | RegressionRequest | CorrelationRequest) -> None:
    words = shlex.join(["confide", request_.ask, "mysite", *write_words(request_)])
    spellings = [
        write_url(request_),
        "/" + write_url(request_, ending=".csv"),
        "https://statistics.example/" + write_url(request_, ending=".json") + "#chart",
        json.dumps(write_request(request_)),
        write_python(request_, site="http://localhost:8000"),
        f"import confide\n\n{write_python(request_, site='mysite')}\n",
        words,
        write_curl(request_, site="https://statistics.example", token=True),
        write_r(request_, site="https://statistics.example", token=True),
        f"import os\n\nimport confide\n\nanswer = {write_python(request_, site='x', token=True)}",
        f"$ {words} --format xlsx -o table.xlsx --token=abc --allow-open",
    ]
    assert {read_pasted(text) for text in spellings} == {request_}


def test_what_only_shows_an_answer_is_left_out_and_nothing_else() -> None:
    shown = "/people/table?zeros=hide&rows=sex&percent=total&noise=show"
    assert read_pasted(shown, views=("zeros", "noise")) == read_url("people/table?rows=sex&percent=total")
    with pytest.raises(Mistake, match="Unknown parameter 'zeros'"):
        read_pasted(shown)
    with pytest.raises(Mistake, match="Did you mean 'where'"):
        read_pasted("/people/table?rows=sex&wher=sex=f", views=("zeros",))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Paste a request first"),
        (" \n ", "Paste a request first"),
        ("hello", "not the address"),
        ("{", "begins like JSON"),
        ("{" * 100_000, "begins like JSON"),
        ("[1]", "not the address"),
        ('{"ask": "table"}', "dataset"),
        ("confide.open('x')", "plain values"),
        ("confide.open('x')['p'].table(rows=__import__('os'))", "plain values"),
        ("confide.open(" + "(" * 10_000, "plain values"),
        ("confide serve mysite", "only 'confide table'"),
        ("confide", "not the address"),
        ("curl x", "curl command"),
        ('request("\\q") |> req_url_query(', "texts cannot be read"),
        ("confide table mysite people --rows 'sex", "quotes do not close"),
        ("confide table mysite", "Name the data set"),
    ],
)
def test_what_is_no_request_is_a_mistake_that_says_so(text: str, words: str) -> None:
    with pytest.raises(Mistake, match=words):
        read_pasted(text)


@given(st.text())
def test_no_text_does_more_than_make_a_mistake(text: str) -> None:
    with contextlib.suppress(Mistake):
        read_pasted(text)
