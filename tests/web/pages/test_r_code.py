"""The R code that a page shows, run by Debian's R against a running site: the numbers are those of Python."""

import html
import re
import shutil
from urllib.parse import urlencode

import pyarrow as pa
import pytest

import confide
from confide.client import ModelAnswer
from confide.records.ingest import add
from confide.site.access import PersonRole, Reach, add_token, declare
from confide.site.folder import Folder
from confide.spelling.r import write_r
from confide.spelling.url import read_url
from r_program import run_r

STATES, FLAGS = ["01", "NA", "[c] é&+", 'T "x"'], ["T", "F"]
"""Codes that R might take for numbers, for missing, for marks or for truth values."""


def asked(place, **query):
    return f"{place}?{urlencode(query, doseq=True)}"


PIECES = ["age_group=30-39,40-49;region=N", "county=S1"]
TABLES = [
    asked("people/table", rows="education,sex", columns="region", where=PIECES, measure="count,mean", of="income"),
    asked("people/table", rows="education", columns="sex", measure="count,total", of="income", percent="row"),
    asked("people/table", rows="adult,sex", define=["adult = age >= 20", "young = age < 30"], where="young=yes"),
    asked("firms/table", rows="industry_section", columns="region", measure="total,mean", of="turnover"),
    asked(
        "odd/table",
        rows="état civil",
        columns="flag",
        where=["état civil=01,NA", "flag=T"],
        measure="count,total",
        of="n",
    ),
]
MODELS = [
    asked("people/regression", formula="log(income) ~ age * sex", where=PIECES),
    asked("people/regression", formula="employment=employed ~ age + sex", family="binomial", also="deviance,effects"),
    asked("people/correlation", variables="age,log(income),sex", where="age_group=30-39,40-49"),
]
REFUSED = asked("people/table", rows="occupation", columns="municipality")


@pytest.fixture(scope="module")
def place(made, tmp_path_factory, starting):
    """A site that wants a token: its folder, its server and the token."""
    site = shutil.copytree(made, tmp_path_factory.mktemp("r") / "site")
    states, flags = zip(*[(state, flag) for state in STATES for flag in FLAGS for _ in range(200)], strict=True)
    add(pa.table({"état civil": states, "flag": flags, "n": [i % 37 + 0.5 for i in range(1600)]}), site, name="odd")
    declare(Folder(site).access, Reach.TOKENS)
    token = add_token(Folder(site).access, name="ana", role=PersonRole.ANALYST)
    server = starting(site)
    yield site, server, token
    assert server.stop() == 0


@pytest.fixture(scope="module")
def told(place, tmp_path_factory):
    """What R has of every question, all of them asked in one process by the code on their pages."""
    _, server, token = place
    pages = [_page(server, each, Authorization=f"Bearer {token}") for each in [*TABLES, *MODELS]]
    programs = [*(_shown(page) for page in pages), write_r(read_url(REFUSED), site=server.url, token=True)]
    found = run_r(programs, tmp_path_factory.mktemp("run"), CONFIDE_TOKEN=token)
    return dict(zip([*TABLES, *MODELS, REFUSED], found, strict=True))


def _page(server, address, **headers):
    """The page of an answer; its data first, which wait until a model is fitted."""
    assert server.get("/" + address.replace("?", ".json?", 1), headers=headers).status_code == 200
    return server.get(f"/{address}", headers=headers).text


def _shown(page):
    return html.unescape(re.search(r"<summary>R</summary>\s*<pre[^>]*><code>(.*?)</code>", page, re.DOTALL)[1])


@pytest.fixture(scope="module")
def here(place, tmp_path_factory):
    """The same site, open in this process."""
    with confide.open(shutil.copytree(place[0], tmp_path_factory.mktemp("here") / "site")) as site:
        yield site


@pytest.mark.parametrize("address", TABLES)
def test_r_has_the_table_that_python_has(told, here, address):
    answer = confide.Answer(here.ask(read_url(address)))
    found, table = told[address]["data"], answer.to_arrow()
    measures = [name.removesuffix("_mark") for name in table.column_names if name.endswith("_mark")]
    for name in [*read_url(address).by, *measures]:
        assert found[name] == table[name].to_pylist(), name
    assert all(isinstance(label, str) for name in read_url(address).by for label in found[f"{name}_label"])


def test_withheld_numbers_are_missing_in_r_and_codes_that_look_like_something_else_stay(told):
    means, odd = told[TABLES[0]]["data"]["mean"], told[TABLES[4]]["data"]
    assert None in means and {type(mean) for mean in means if mean is not None} <= {int, float}
    assert set(odd["état civil"]) == {*STATES, "_T"} and set(odd["flag"]) == {*FLAGS, "_T"}


@pytest.mark.parametrize("address", MODELS)
def test_r_has_the_tables_of_the_model_that_python_has(told, here, address):
    answer = ModelAnswer(here.ask(read_url(address)), here)
    data = told[address]["data"]
    assert set(told[address]["tables"]) == set(answer.grids) == set(data["table"])
    for name, grid in answer.release.grids.items():
        rows = [place for place, table in enumerate(data["table"]) if table == name]
        for place, column in enumerate(grid.columns):
            assert [data[column][row] for row in rows] == [row[place] for row in grid.rows], (name, column)


def test_r_says_why_there_is_no_answer(told, here):
    with pytest.raises(confide.Refused) as refused:
        here.ask(read_url(REFUSED))
    assert str(refused.value.reasons[0]) in told[REFUSED]["error"]
