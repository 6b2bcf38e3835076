"""Models and correlations, three ways: Python in this process, the command line, HTTP. All give the same."""

import json
import shutil
from io import BytesIO
from urllib.parse import urlsplit

import openpyxl
import pytest

import confide
from confide.answering.service import Service
from confide.client import Diagnostics, ModelAnswer
from confide.errors import Suggestion
from confide.site.folder import Folder
from confide.site.ledger import read
from confide.spelling.json import read_request
from confide.spelling.python import read_python
from confide.spelling.url import read_url, write_url
from confide.spelling.words import write_words

ANSWERED = [
    "people/regression?formula=log(income)~age%2Bage^2%2Bsex%2Bage:sex&where=employment=employed",
    "people/regression?formula=income~age%2Bsex",
    "people/regression?formula=employed~age%2Bsex&family=binomial",
    "people/correlation?variables=age,income,hours",
    "people/correlation?variables=age,income&where=sex=female",
]
FAILING = {
    "people/regression?formula=incme~age": confide.Mistake,
    "people/regression?formula=income~aeg": confide.Mistake,
    "people/regression?formula=income~person_id": confide.Mistake,
    "people/regression?formula=income~age&where=region=Q9": confide.Mistake,
    "people/regression?formula=income~age&where=county=N5;sex=female;age_group=20-29": confide.Refused,
    "people/correlation?variables=age,incom": confide.Mistake,
    "people/correlation?variables=age,income&where=county=N5;sex=female;age_group=20-29": confide.Refused,
    "peple/correlation?variables=age,income": confide.Mistake,
}


def at(address: str, ending: str) -> str:
    return "/" + address.replace("?", f".{ending}?", 1)


@pytest.fixture(scope="module")
def here(made, tmp_path_factory):
    """A copy of the demo site: same data and secret as behind the server."""
    with confide.open(shutil.copytree(made, tmp_path_factory.mktemp("here") / "site")) as opened:
        yield opened


@pytest.fixture
def there(server):
    with confide.open(server.url) as opened:
        yield opened


@pytest.mark.parametrize("address", ANSWERED)
def test_python_gives_the_same_answer_here_and_there(here, there, address):
    assert here.ask(read_url(address)) == there.ask(read_url(address))


@pytest.mark.parametrize("address", ANSWERED)
def test_http_and_python_write_the_same_bytes(here, server, address):
    answer = ModelAnswer(here.ask(read_url(address)), here)
    assert server.get(at(address, "csv")).content == answer.to_csv().encode()
    assert server.get(at(address, "xlsx")).content == answer.to_xlsx()
    response = server.get(at(address, "json"))
    assert response.json() == answer.to_json() and response.headers["etag"] == f'"{answer.receipt}"'


@pytest.mark.parametrize("address", ANSWERED)
def test_all_formats_of_an_answer_hold_the_same_numbers(server, address):
    grids = server.get(at(address, "json")).json()["grids"]
    rows = sum(len(grid["rows"]) for grid in grids.values())
    assert len(server.get(at(address, "csv")).text.splitlines()) == 1 + rows
    book = openpyxl.load_workbook(BytesIO(server.get(at(address, "xlsx")).content))
    for name, grid in grids.items():
        numbers = [v for row in grid["rows"] for v in row if isinstance(v, int | float)]
        assert numbers == [v for row in book[name.capitalize()].values for v in row if isinstance(v, int | float)]


@pytest.mark.parametrize("address", [ANSWERED[0], ANSWERED[3]])
@pytest.mark.parametrize("ending", ["json", "csv", "xlsx"])
def test_the_command_line_and_http_write_the_same_bytes(server, run, tmp_path, address, ending):
    request = read_url(address)
    done = run(request.ask, server.url, *write_words(request), "--format", ending, "-o", tmp_path / "out")
    assert done.returncode == 0 and done.stdout == done.stderr == b""
    assert (tmp_path / "out").read_bytes() == server.get(at(address, ending)).content


@pytest.mark.parametrize("address", [ANSWERED[2], ANSWERED[4]])
def test_the_python_that_the_command_line_writes_runs(server, run, address):
    request = read_url(address)
    words = [request.ask, server.url, *write_words(request)]
    _, call = run(*words, "--format", "python").stdout.decode().strip().split("\n\n")
    assert read_python(call) == request
    answer = eval(call, {"confide": confide})
    assert answer.to_json() == server.get(at(address, "json")).json()
    assert run(*words).stdout.decode() == answer.to_text()


def test_diagnostics_are_the_same_everywhere(here, there, server, run):
    request = read_url(ANSWERED[0])
    found = [Diagnostics(opened.ask(request, diagnostics=True), opened) for opened in (here, there)]
    assert found[0] == found[1] and found[0].charts
    document = server.get(at(ANSWERED[0], "json") + "&diagnostics=true").json()
    done = run("regression", server.url, *write_words(request), "--diagnostics", "--format", "json")
    assert document == found[0].to_json() == json.loads(done.stdout)
    plain = server.get(at(ANSWERED[0], "json") + "&diagnostics=false")
    assert plain.content == server.get(at(ANSWERED[0], "json")).content and "charts" not in plain.json()


@pytest.mark.parametrize("address", FAILING)
def test_errors_are_the_same_here_and_there(here, there, address):
    caught = []
    for opened in (here, there):
        with pytest.raises(FAILING[address]) as info:
            opened.ask(read_url(address))
        caught.append(info.value)
    one, two = caught
    assert type(one) is type(two) and str(one) == str(two) and one.suggestions == two.suggestions
    assert getattr(one, "reasons", ()) == getattr(two, "reasons", ())
    offers = [[s.address for s in e.suggestions if isinstance(s, Suggestion)] for e in caught]
    assert offers[0] == offers[1]


@pytest.mark.parametrize("address", [address for address, kind in FAILING.items() if kind is confide.Refused])
def test_a_refusal_names_its_rules_and_its_suggestions_answer_when_followed(server, address):
    problem = server.get(at(address, "csv")).json()
    assert problem["status"] == 403 and all("." in reason["rule"] for reason in problem["reasons"])
    assert problem["reasons"]
    for suggestion in problem["suggestions"]:
        if "url" in suggestion:
            assert urlsplit(suggestion["url"]).path.endswith(".csv")
            assert server.get(suggestion["url"]).status_code == 200, suggestion


def test_models_are_recorded_and_count_towards_the_quota(site, policy):
    policy(site, per_day=3)
    with Service.open(site) as service:
        for address in (ANSWERED[1], ANSWERED[3], next(a for a, kind in FAILING.items() if kind is confide.Refused)):
            try:
                receipt = service.answer(read_url(address)).receipt
            except confide.Refused:
                receipt = None
        with pytest.raises(confide.Refused) as info:
            service.answer(read_url(ANSWERED[4]))
        assert [reason.rule for reason in info.value.reasons] == ["quota.per_day"] and receipt is None
    entries = list(read(Folder(site).ledger))
    assert [entry.outcome for entry in entries] == ["released", "released", "refused"]
    assert [write_url(read_request(entry.request)) for entry in entries][1] == ANSWERED[3]
