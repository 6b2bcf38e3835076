"""One table, three ways: Python in this process, the command line, HTTP. Answers and errors are the same."""

import json
import shutil

import pytest

import confide
from confide.client.remote import RemoteSite
from confide.errors import Denied, Suggestion
from confide.site.access import PersonRole, Reach, add_token, declare
from confide.site.folder import Folder
from confide.spelling.python import read_python
from confide.spelling.url import read_url, write_url
from confide.spelling.words import write_words

ANSWERED = [
    "people/table?rows=sex&columns=region&where=age_group=20-29,30-39",
    "people/table?rows=education&where=region=N,S;sex=female&where=region=C",
    "people/table?rows=age&columns=sex",
    "people/table?rows=region&measure=count,weighted_count,total,mean&of=income",
    "people/table?rows=education&columns=sex&measure=count,weighted_count,mean&of=income&percent=row",
    "people/table?rows=education&where=region=N&measure=total&of=income&percent=total",
    "people/table?rows=employment&columns=sex&percent=column&interval=95",
    "people/table?rows=education&columns=sex&measure=count,median,p90&of=income&where=region=N,S",
    "firms/table?rows=industry_section&columns=region&measure=total,mean&of=turnover",
    "people/table?rows=sex&columns=region&measure=mean,sd,ratio&of=taxes&over=income&index=sex=male",
]
FAILING = {
    "people/table?rows=occupation&columns=municipality": confide.Refused,
    "people/table?rows=occupation&where=municipality=N504;sex=female": confide.Refused,
    "people/table?rows=age,sex,education,marital,region": confide.Refused,
    "people/table?rows=sx": confide.Mistake,
    "people/table?rows=sex&where=region=Q9": confide.Mistake,
    "people/table?rows=income&columns=taxes,age_group,age": confide.Refused,
    "people/table?rows=sex&measure=total&of=marital": confide.Mistake,
    "people/table?rows=sex&measure=mean&of=income&percent=total": confide.Mistake,
    "people/table?rows=sex&percent=row": confide.Mistake,
    "people/table?rows=sex&measure=weighted_count&error=se": confide.Mistake,
    "people/table?rows=sex&index=sex=nobody": confide.Mistake,
    "people/table?rows=municipality,occupation&measure=median&of=income": confide.Refused,
    "peple/table?rows=sex": confide.Mistake,
}


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
    request = read_url(address)
    assert here.ask(request) == there.ask(request)


@pytest.mark.parametrize("address", ANSWERED)
def test_http_and_python_write_the_same_bytes(here, server, address):
    answer = confide.Answer(here.ask(read_url(address)))
    written = {"csv": answer.to_csv().encode(), "xlsx": answer.to_xlsx()}
    for ending, content in written.items():
        assert server.get("/" + address.replace("table", f"table.{ending}", 1)).content == content
    assert server.get("/" + address.replace("table", "table.json", 1)).json() == answer.to_json()


@pytest.mark.parametrize("ending", ["json", "csv", "xlsx"])
def test_the_command_line_and_http_write_the_same_bytes(server, site, run, tmp_path, ending):
    address = ANSWERED[0]
    words = write_words(read_url(address))
    over_http = server.get("/" + address.replace("table", f"table.{ending}", 1)).content
    for place in (site, server.url):
        done = run("table", place, *words, "--format", ending, "-o", tmp_path / "out")
        assert done.returncode == 0 and done.stdout == done.stderr == b""
        assert (tmp_path / "out").read_bytes() == over_http
    if ending != "xlsx":
        assert run("table", site, *words, "--format", ending).stdout.strip() == over_http.strip()


def test_text_on_the_command_line_is_the_text_of_python(here, server, run):
    address = ANSWERED[3]
    done = run("table", server.url, *write_words(read_url(address)))
    assert done.stdout.decode() == confide.Answer(here.ask(read_url(address))).to_text()


def test_the_python_that_the_command_line_writes_runs(server, run):
    address = ANSWERED[1]
    code = run("table", server.url, *write_words(read_url(address)), "--format", "python").stdout.decode()
    first, call = code.strip().split("\n\n")
    assert first == "import confide" and read_python(call) == read_url(address)
    answer = eval(call, {"confide": confide})
    assert answer.to_json() == server.get("/" + address.replace("table", "table.json", 1)).json()


@pytest.mark.parametrize("address", FAILING)
def test_errors_are_the_same_here_and_there(here, there, address):
    caught = []
    for opened in (here, there):
        with pytest.raises(FAILING[address]) as info:
            opened.ask(read_url(address))
        caught.append(info.value)
    one, two = caught
    assert type(one) is type(two) and str(one) == str(two) and one.suggestions == two.suggestions
    assert [type(s) for s in one.suggestions] == [type(s) for s in two.suggestions]
    assert getattr(one, "reasons", ()) == getattr(two, "reasons", ())
    assert [r.rule for r in getattr(one, "reasons", ())] == [r.rule for r in getattr(two, "reasons", ())]
    assert getattr(one, "policy", "") == getattr(two, "policy", "")
    offers = [[s.address for s in e.suggestions if isinstance(s, Suggestion)] for e in caught]
    assert offers[0] == offers[1]


@pytest.mark.parametrize("address", list(FAILING)[1:4])
def test_errors_on_the_command_line_are_the_same_here_and_there(server, site, run, address):
    words = write_words(read_url(address))
    here, there = run("table", site, *words), run("table", server.url, *words)
    assert (here.returncode, here.stderr, here.stdout) == (there.returncode, there.stderr, there.stdout)
    assert here.returncode == FAILING[address].exit_code and here.stdout == b""


def test_a_suggestion_of_a_refusal_can_be_asked_here_and_there(here, there):
    for opened in (here, there):
        with pytest.raises(confide.Refused) as info:
            opened["people"].table(rows="occupation", where={"municipality": "N504", "sex": "female"})
        for suggestion in info.value.suggestions:
            request = read_url(suggestion.address)
            assert write_url(request) == suggestion.address and opened.ask(request)


def test_codebooks_and_names_are_the_same_here_and_there(here, there):
    assert list(here) == list(there) == ["firms", "people"] and len(there) == 2 and "people" in there
    assert here["people"].codebook == there["people"].codebook
    with pytest.raises(confide.Mistake, match="Did you mean 'people'"):
        there["peple"]


def test_the_codebook_command_is_the_same_here_and_there(server, site, run):
    here, there = run("codebook", site, "people"), run("codebook", server.url, "people")
    assert here.returncode == 0 and here.stdout == there.stdout and b"age_group" in here.stdout


def test_the_client_shows_its_token(site, serve, run):
    declare(Folder(site).access, Reach.TOKENS)
    token = add_token(Folder(site).access, name="ana", role=PersonRole.ANALYST)
    server = serve(site)
    with confide.open(server.url, token=token) as opened:
        assert opened["people"].table(rows="sex").receipt
    for wrong in (None, "confide_wrong"):
        with confide.open(server.url, token=wrong) as opened, pytest.raises(Denied) as info:
            opened["people"]
        assert info.value.http_status == 401 and "Bearer" in str(info.value)
    with confide.open(server.url, token=token) as opened, pytest.raises(Denied) as info:
        assert isinstance(opened, RemoteSite)
        opened._get("api/ledger")
    assert info.value.http_status == 403
    words = ("table", server.url, "people", "--rows", "sex")
    assert run(*words).returncode == 3 and run(*words, CONFIDE_TOKEN=token).returncode == 0
    assert run(*words, "--token", token).stdout == run(*words, CONFIDE_TOKEN=token).stdout


def test_too_many_requests_are_a_refusal_to_the_client(site, serve, policy):
    policy(site, per_minute=2)
    server = serve(site)
    with confide.open(server.url) as opened, pytest.raises(confide.Refused) as info:
        for _ in range(4):
            opened.ask(read_url(ANSWERED[0]))
    assert [reason.rule for reason in info.value.reasons] == ["quota.per_minute"]


def test_json_from_the_command_line_is_one_document(server, run):
    done = run("table", server.url, "people", "--rows", "sex", "--format", "json")
    assert json.loads(done.stdout)["id"] == ["sex", "measure"]
