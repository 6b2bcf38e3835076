"""Every address, format, problem and header, over a real socket."""

import json
import socket
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import httpx
import openpyxl
import pytest

import confide

TABLE = "/people/table.json?rows=sex&columns=region&where=age_group=20-29,30-39"
REFUSED = [
    "/people/table.json?rows=occupation&columns=municipality",
    "/people/table.json?rows=occupation&where=municipality=N504;sex=female",
    "/people/table.csv?rows=occupation_sub&columns=sex&where=municipality=N504;age_group=20-29",
    "/people/table.xlsx?rows=age,sex,education,marital,region",
    "/firms/table.json?rows=industry&columns=county&measure=total&of=turnover",
]
UNKNOWN = {
    "/peple/table.json?rows=sex": (404, "no data set called 'peple'", "'people'"),
    "/api/datasets/peple": (404, "no data set called 'peple'", "'people'"),
    "/people/table.json?rows=sx": (422, "No variable called 'sx'", "'sex'"),
    "/people/table.json?rows=person_id": (422, "No variable called 'person_id'", ""),
    "/people/table.json?rows=sex&where=region=Q9": (422, "'region' has no code 'Q9'", "begin with 'C'"),
    "/people/table.json?rows=sex&colums=region": (422, "Unknown parameter 'colums'", "'columns'"),
    "/people/table.json?rows=sex&measure=cout": (422, "no measure 'cout'", "'count'"),
    "/people/table.json?rows=sex&measure=mean": (422, "A mean needs a variable", "of='income'"),
    "/people/table.json?rows=sex&measure=mean&of=sex": (422, "not a numeric variable", "income"),
    "/people/table.json?rows=sex&measure=mean&of=age&of=income": (422, "'of' may stand only once", ""),
    "/people/table.json?rows=sex,sex": (422, "stands twice", ""),
    "/people/table.json?rows=sex&where=": (422, "Cannot read the condition", "variable=code"),
    "/people/table.json": (422, "at least one variable", ""),
    "/people/table.pdf?rows=sex": (404, ".json, .csv or .xlsx", ""),
    "/people/regression.pdf?formula=income~age": (404, ".json, .csv or .xlsx", ""),
    "/people/regression.json": (422, "Expected a variable", ""),
    "/people/regression.json?formula=income~exp(age)": (422, "no transformation 'exp'", "log, sqrt and square"),
    "/people/regression.json?formula=income~age&famly=poisson": (422, "Unknown parameter 'famly'", "'family'"),
    "/people/regression.json?formula=income~age&diagnostics=yes": (422, "Cannot read 'diagnostics'", ""),
    "/peple/regression.json?formula=income~age": (404, "no data set called 'peple'", "'people'"),
    "/people/correlation.json?variables=age": (422, "two or more variables", ""),
    "/people/correlation.json?variables=age,income&rows=sex": (422, "Unknown parameter 'rows'", ""),
    "/people/tables.json?rows=sex": (404, "nothing at this address", ""),
    "/nowhere.json": (404, "no data set called 'nowhere.json'", ""),
    "/api/nowhere": (404, "nothing at this address", ""),
}


def check_problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = response.json()
    assert document["status"] == status and document["title"] and document["detail"]
    assert isinstance(document["reasons"], list) and isinstance(document["suggestions"], list)
    return document


def check_headers(response: httpx.Response) -> None:
    assert response.headers["content-security-policy"].startswith("default-src 'none'")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["x-frame-options"] == "DENY"
    assert response.headers["referrer-policy"] == "same-origin"
    assert response.headers["cache-control"] == "no-store"
    assert "server" not in response.headers


def test_a_table_comes_as_json_stat(server):
    response = server.get(TABLE)
    assert response.status_code == 200 and response.headers["content-type"] == "application/json"
    table = response.json()
    assert table["id"] == ["sex", "region", "measure"] and table["size"] == [3, 6, 1] and len(table["value"]) == 18
    assert response.headers["etag"] == f'"{table["extension"]["confide"]["receipt"]}"'


def test_a_table_comes_as_csv(server):
    response = server.get(TABLE.replace(".json", ".csv"))
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.headers["content-disposition"] == 'attachment; filename="people.csv"'
    header, *lines = response.text.splitlines()
    assert header == "sex,sex_label,region,region_label,count,count_noise_sd" and len(lines) == 18


def test_a_table_comes_as_a_workbook(server):
    response = server.get(TABLE.replace(".json", ".xlsx"))
    assert "spreadsheetml" in response.headers["content-type"]
    assert openpyxl.load_workbook(BytesIO(response.content)).sheetnames == ["Count", "About"]


def test_all_formats_of_an_answer_hold_the_same_numbers(server):
    values = server.get(TABLE).json()["value"]
    lines = server.get(TABLE.replace(".json", ".csv")).text.splitlines()[1:]
    book = openpyxl.load_workbook(BytesIO(server.get(TABLE.replace(".json", ".xlsx")).content))
    sheet = [cell for row in book["Count"].values for cell in row if isinstance(cell, int | float)]
    assert values == [int(line.split(",")[4]) for line in lines] == sheet


def test_where_repeats_for_a_union_and_names_repeat_or_take_commas(server):
    union = server.get("/people/table.json?rows=sex,region&where=age_group=20-29&where=age_group=30-39")
    repeated = server.get("/people/table.json?rows=sex&rows=region&where=age_group=30-39&where=age_group=20-29")
    assert union.status_code == 200 and union.content == repeated.content


def test_totals_and_means_are_answered(server):
    table = server.get("/people/table.json?rows=region&measure=count,total,mean&of=income").json()
    assert table["dimension"]["measure"]["category"]["index"] == ["count", "total", "mean"]


def test_data_sets_are_listed_and_described(server):
    listed = server.get("/api/datasets").json()["datasets"]
    assert [d["name"] for d in listed] == ["firms", "people"]
    assert set(listed[0]) == {"name", "title", "source", "period"}
    book = server.get("/api/datasets/people").json()
    names = [variable["name"] for variable in book["variables"]]
    assert "sex" in names and "person_id" not in names and "household_id" not in names


@pytest.mark.parametrize("address", UNKNOWN)
def test_what_is_unknown_is_named_with_a_way_forward(server, address):
    status, words, hint = UNKNOWN[address]
    problem = check_problem(server.get(address), status)
    assert words in problem["detail"] and problem["reasons"] == []
    assert hint in " ".join(s["text"] for s in problem["suggestions"])


@pytest.mark.parametrize("address", REFUSED)
def test_a_refusal_names_its_rules_and_its_suggestions_answer_when_followed(server, address):
    problem = check_problem(server.get(address), 403)
    policy = {"people": "standard, version 1", "firms": "firms, version 1"}[address.split("/")[1]]
    assert problem["title"] == "Refused" and problem["policy"] == policy
    assert all("." in reason["rule"] and reason["text"] in problem["detail"] for reason in problem["reasons"])
    assert problem["reasons"] and problem["suggestions"]
    ending = urlsplit(address).path.rpartition(".")[2]
    for suggestion in problem["suggestions"]:
        assert urlsplit(suggestion["url"]).path.endswith(f"/table.{ending}")
        assert server.get(suggestion["url"]).status_code == 200, suggestion


def test_a_parameter_out_of_range_is_named(server):
    problem = check_problem(server.get("/api/ledger?last=0"), 422)
    assert problem["detail"] == "Cannot read 'last': input should be greater than or equal to 1."


def test_head_is_get_without_a_body(server):
    asked, head = server.get(TABLE), server.ask("HEAD", TABLE)
    assert head.status_code == 200 and head.content == b""
    same = ("etag", "content-type", "content-length")
    assert [head.headers[name] for name in same] == [asked.headers[name] for name in same]
    assert server.ask("HEAD", "/nowhere").status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("address", ["/api/datasets", "/people/table.json?rows=sex"])
def test_only_questions_are_answered(server, method, address):
    response = server.ask(method, address)
    check_problem(response, 405)
    check_headers(response)
    assert response.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "address", ["/", TABLE, TABLE.replace("json", "xlsx"), "/openapi.json", *REFUSED[:1], *UNKNOWN]
)
def test_every_response_carries_the_headers(server, address):
    check_headers(server.get(address))


def test_a_long_address_is_turned_away(server):
    response = server.get("/people/table.json?rows=" + "a" * 8000)
    check_problem(response, 414)
    check_headers(response)
    assert server.get("/people/table.json?rows=" + "a" * 7000).status_code == 422


@pytest.mark.parametrize("content", [b"x" * 2000, iter([b"x"])], ids=["long", "chunked"])
def test_a_body_is_turned_away(server, content):
    response = server.ask("GET", TABLE, content=content)
    check_problem(response, 413)
    check_headers(response)


@pytest.mark.parametrize("length", [b"-1", b"\xb2", b"9" * 5000, b"1e3", b""])
def test_a_length_that_is_no_number_harms_nothing(server, length):
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port), timeout=120) as wire:
        wire.sendall(b"GET /api/datasets HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + b"\r\n\r\n")
        assert wire.recv(100).split()[1] in (b"400", b"413")


def test_the_codebook_as_ddi_is_that_of_python_and_of_the_command_line(server, site, run):
    answer = server.get("/people/ddi.xml")
    assert answer.status_code == 200 and answer.headers["Content-Type"].startswith("application/xml")
    with confide.open(site) as here, confide.open(server.url) as there:
        assert answer.text == here["people"].to_ddi() == there["people"].to_ddi()
    assert run("codebook", server.url, "people", "--format", "ddi").stdout.decode() == answer.text
    assert server.get("/peple/ddi.xml").status_code == 404
    assert 'href="/people/ddi.xml"' in server.get("/people").text


def test_the_description_lists_every_address(server):
    described = server.get("/openapi.json").json()
    assert set(described["paths"]) == {
        "/api/datasets",
        "/api/datasets/{name}",
        "/api/ledger",
        "/api/reviews",
        "/api/workspace",
        "/{dataset}/ddi.xml",
        "/{dataset}/table.{ending}",
        "/{dataset}/regression.{ending}",
        "/{dataset}/correlation.{ending}",
    }
    parameters = {
        path: [p["name"] for p in methods["get"].get("parameters", ())] for path, methods in described["paths"].items()
    }
    assert parameters["/{dataset}/regression.{ending}"][2:] == [
        "formula",
        "where",
        "family",
        "also",
        "against",
        "event",
        "errors",
        "define",
        "diagnostics",
    ]
    assert parameters["/{dataset}/correlation.{ending}"][2:] == ["variables", "where", "method", "define"]
    table = described["paths"]["/{dataset}/table.{ending}"]["get"]
    assert [p["name"] for p in table["parameters"]] == [
        "dataset",
        "ending",
        "rows",
        "columns",
        "where",
        "measure",
        "of",
        "percent",
        "interval",
        "error",
        "over",
        "index",
        "define",
    ]
    assert all(p["description"] for p in table["parameters"])
    assert list(table["responses"]["403"]["content"]) == ["application/problem+json"]
    assert json.dumps(described).count("ValidationError") == 0
