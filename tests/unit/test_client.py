"""`confide.open`: what a site, a data set and an answer are in Python."""

import http.server
import json
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest

import confide
from confide import demo
from confide.errors import Denied
from confide.spelling.url import read_url


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A small open site with two data sets."""
    folder = tmp_path_factory.mktemp("client") / "site"
    for name, table in (("people", demo.people(3_000)), ("firms", demo.firms(1_000))):
        text = resources.files("confide.demo").joinpath(f"{name}.toml").read_text(encoding="utf-8")
        confide.add(table, folder, name=name, catalog=text)
    with confide.open(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def answer(site):
    return site["people"].table(rows="sex", columns="region", measure=["count", "mean"], of="income")


def test_a_site_is_a_mapping_of_data_sets(site):
    assert list(site) == ["firms", "people"] and len(site) == 2
    assert "people" in site and "nothing" not in site and 7 not in site
    assert repr(site["people"]) == "<data set 'people': People of Norland, 2025>"
    with pytest.raises(confide.Mistake, match="no data set called 'peeple'. Did you mean 'people'"):
        site["peeple"]
    with pytest.raises(confide.Mistake, match="There are firms, people"):
        site["x"]


def test_a_data_set_shows_its_codebook_without_identifiers(site):
    people = site["people"]
    assert people.codebook["title"] == "People of Norland, 2025"
    assert "sex" in people.variables and "person_id" not in people.variables


@pytest.mark.parametrize(
    "where",
    [
        {"age_group": ["20-29", "30-39"]},
        [{"age_group": ["30-39", "20-29"]}],
        "age_group=20-29,30-39",
        ["age_group=20-29,30-39"],
        {"age_group": ("20-29", "30-39")},
    ],
)
def test_a_universe_may_be_written_in_several_ways(site, where):
    people = site["people"]
    assert people.table(rows=["sex"], where=where) == people.table(rows="sex", where={"age_group": ["20-29", "30-39"]})


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"rows": 7},
        {"rows": ["sex", 7]},
        {"rows": "sex", "where": 7},
        {"rows": "sex", "where": {"sex": b"male"}},
        {"rows": "sex", "of": 7},
        {"rows": "sex", "measure": "median"},
    ],
)
def test_arguments_of_another_kind_are_a_mistake(site, arguments):
    with pytest.raises(confide.Mistake):
        site["people"].table(**arguments)


def test_an_answer_speaks_arrow_to_everybody(answer):
    table = answer.to_arrow()
    assert pa.table(answer) == table and table.num_rows == 18
    assert polars.from_arrow(pa.table(answer)).shape[0] == pandas.DataFrame(answer.to_pandas()).shape[0] == 18
    stream = answer
    assert duckdb.sql("SELECT count(*) FROM stream").fetchall() == [(18,)]
    del stream


def test_an_answer_shows_itself(answer):
    assert repr(answer) == answer.to_text().rstrip() and "People of Norland" in repr(answer)
    assert "<table" in answer._repr_html_()
    assert answer.receipt.startswith("cfd-") and answer.receipt in repr(answer)
    assert answer.notes and answer.to_json()["class"] == "dataset"
    assert answer.to_csv().startswith("sex,sex_label,region,region_label,count,")
    assert answer.to_xlsx()[:2] == b"PK"


def test_equal_questions_have_equal_answers(site, answer):
    again = site["people"].table(rows="sex", columns="region", measure=["count", "mean"], of="income")
    assert again == answer and hash(again) == hash(answer) and again != site["people"].table(rows="sex")
    assert answer != "text"


def test_a_refusal_has_reasons_and_suggestions(site):
    with pytest.raises(confide.Refused) as info:
        site["people"].table(rows="occupation", columns="municipality")
    refused = info.value
    assert {reason.rule for reason in refused.reasons} >= {"tables.mean_cell"}
    assert refused.policy == "standard, version 1" and refused.exit_code == 3
    for suggestion in refused.suggestions:
        assert site.ask(read_url(suggestion.address))


def test_a_place_without_a_site_is_a_mistake(tmp_path):
    with pytest.raises(confide.Mistake, match="There is no site at"):
        confide.open(tmp_path / "nothing")
    with pytest.raises(confide.Mistake, match="no data sets"):
        confide.open(tmp_path)


def test_a_forgotten_site_closes_itself_so_that_a_line_may_be_run_again(tmp_path):
    confide.add(pa.table({"sex": ["f", "m"] * 200}), tmp_path / "mine", name="some")
    answers = [confide.open(tmp_path / "mine")["some"].table(rows="sex") for _ in range(3)]
    assert answers[0] == answers[2]


@pytest.mark.parametrize("url, token", [("http://[::1", None), ("http://127.0.0.1:1", "é☃")])
def test_an_address_or_token_that_cannot_be_is_a_mistake(url, token):
    with pytest.raises(confide.Mistake, match="is not an address, or the token"):
        confide.open(url, token=token)


@contextmanager
def answering(status: int, body: bytes):
    """A server that gives one answer to everything."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


STRANGE = [b"", b"<html>", b"[]", b"7", b"null", b"{}", b'{"datasets": 7}', b'{"datasets": [7]}', b'"x"', b"\xff"]


@pytest.mark.parametrize("body", STRANGE)
@pytest.mark.parametrize("status", [200, 302, 404, 500])
def test_a_server_that_is_no_confide_site_is_a_fault(status, body):
    with answering(status, body) as url, confide.open(url) as opened:
        with pytest.raises(confide.Fault, match="did not answer as a Confide site"):
            opened.names()
        for address in ("people/table?rows=sex", "people/regression?formula=y~x", "people/correlation?variables=x,y"):
            with pytest.raises(confide.Fault, match="did not answer as a Confide site"):
                opened.ask(read_url(address))
        with pytest.raises(confide.Fault, match="did not answer as a Confide site"):
            opened.ask(read_url("people/regression?formula=y~x"), diagnostics=True)


PROBLEM = {"type": "about:blank", "title": "", "detail": "No.", "reasons": [], "suggestions": [{"text": "Wait."}]}


@pytest.mark.parametrize(
    "status, kind",
    [
        (401, Denied),
        (403, Denied),
        (404, confide.Mistake),
        (414, confide.Mistake),
        (422, confide.Mistake),
        (500, confide.Fault),
    ],
)
def test_a_problem_document_becomes_the_error_it_describes(status, kind):
    with answering(status, json.dumps(PROBLEM).encode()) as url, confide.open(url) as opened:
        with pytest.raises(kind) as info:
            opened.names()
        assert str(info.value) == "No. Wait." and info.value.suggestions == ("Wait.",)


@pytest.mark.parametrize("ask", ["table?rows=sex", "regression?formula=y~x", "correlation?variables=x,y"])
@pytest.mark.parametrize("status", [403, 429])
def test_a_problem_document_with_reasons_becomes_a_refusal(status, ask):
    offer = {"text": "without 'age'", "url": f"/people/{ask.replace('?', '.json?')}"}
    problem = {**PROBLEM, "policy": "p", "reasons": [{"rule": "a.b", "text": "No."}], "suggestions": [offer]}
    served = answering(status, json.dumps(problem).encode())
    with served as url, confide.open(url) as opened, pytest.raises(confide.Refused) as info:
        opened.names()
    assert [reason.rule for reason in info.value.reasons] == ["a.b"] and info.value.policy == "p"
    assert info.value.suggestions[0].address == f"people/{ask}"


@pytest.fixture(scope="module")
def fit(site):
    return site["people"].regression("log(income) ~ age + age^2 + sex", where={"employment": ["employed"]})


def test_a_regression_gives_tables(fit):
    assert {"coefficients", "anova", "statistics"} <= set(fit.grids)
    assert fit.coefficients == fit.grid() == fit.grid("coefficients") and fit.coefficients.num_rows >= 4
    assert fit.anova.num_rows and fit.statistics.num_rows
    assert fit.to_pandas().shape[0] == fit.coefficients.num_rows
    assert fit.to_pandas("anova").shape[0] == fit.anova.num_rows
    assert pa.table(fit) == fit.coefficients
    with pytest.raises(confide.Mistake, match="no table 'annova'. Did you mean 'anova'?"):
        fit.grid("annova")
    with pytest.raises(confide.Mistake, match="no table 'correlations'"):
        _ = fit.correlations


def test_a_regression_shows_itself(fit):
    assert repr(fit) == fit.to_text().rstrip() and "Model: log(income) ~ age + square(age) + sex (gaussian)" in repr(
        fit
    )
    assert "<table" in fit._repr_html_() and fit.receipt.startswith("cfd-") and fit.receipt in repr(fit)
    assert fit.notes and fit.to_json()["class"] == "confide-model" and fit.to_csv().startswith("table,")
    assert fit.to_xlsx()[:2] == b"PK"


def test_equal_models_have_equal_answers(site, fit):
    again = site["people"].regression("log(income)~age+age^2+sex", where="employment=employed")
    assert again == fit and hash(again) == hash(fit) and fit != "text"
    assert fit != site["people"].regression("log(income) ~ age", where="employment=employed")


def test_a_regression_has_diagnostics(fit):
    plots = fit.diagnostics()
    assert plots.charts and all("$schema" in chart for chart in plots.charts.values())
    assert plots.coefficients == fit.coefficients and set(plots.grids) > set(fit.grids)
    assert plots.to_json()["charts"] == plots.charts


def test_a_logistic_regression_is_answered(site):
    fit = site["people"].regression("employed ~ age + sex", family="binomial")
    assert fit.coefficients.num_rows >= 3


def test_correlations_are_answered_and_have_no_diagnostics(site):
    found = site["people"].correlation(["age", "hours"])
    assert found.correlations == found.grid() and found.correlations.num_rows
    with pytest.raises(confide.Mistake, match="Only a regression has diagnostics"):
        found.diagnostics()


@pytest.mark.parametrize("formula, more", [(7, {}), ("income", {}), ("income ~ age", {"family": 7})])
def test_a_regression_of_another_kind_is_a_mistake(site, formula, more):
    with pytest.raises(confide.Mistake):
        site["people"].regression(formula, **more)


@pytest.mark.parametrize("variables", ["age", 7, ["age", 7], ["age", "age"], []])
def test_a_correlation_of_another_kind_is_a_mistake(site, variables):
    with pytest.raises(confide.Mistake):
        site["people"].correlation(variables)


def test_a_wide_frame_lies_as_the_printed_table_with_labels_or_codes(site, answer):
    frame = answer.to_pandas(wide=True, labels=True)
    tidy = answer.to_pandas(labels=True)
    assert frame.index.name == "Sex" and frame.columns.names == ["Region", "measure"]
    assert list(frame.index)[-1] == "Total" and tidy["region"].cat.categories[-1] == "Total"
    for _, row in tidy.iterrows():
        for measure in ("count", "mean"):
            shown = frame.loc[row["sex"], (row["region"], measure)]
            assert shown == row[measure] or (pandas.isna(shown) and row[f"{measure}_mark"])
    plain = answer.to_pandas(wide=True)
    assert plain.index.name == "sex" and list(plain.index)[-1] == "_T"
    assert (plain.to_numpy() == frame.to_numpy()).all()


@pytest.mark.parametrize(
    ("sides", "shape", "index", "columns"),
    [
        ({"rows": "sex"}, (3, 1), ["sex"], ["measure"]),
        ({"columns": "sex"}, (3, 1), ["sex"], ["measure"]),
        ({"rows": ["sex", "region"]}, (18, 1), ["sex", "region"], ["measure"]),
        ({"rows": "sex", "columns": "region"}, (3, 6), ["sex"], ["region"]),
    ],
)
def test_a_wide_frame_has_the_sides_of_its_table(site, sides, shape, index, columns):
    frame = site["people"].table(**sides).to_pandas(wide=True)
    assert frame.shape == shape and frame.index.names == index and frame.columns.names == columns
    assert frame.dtypes.map(str).unique().tolist() == ["int64"]


def test_what_is_withheld_is_missing_in_a_wide_frame_and_no_code_is_lost_to_a_label_two_have(site):
    answer = site["people"].table(rows="sex", columns="region", measure="mean", of="income", where={"region": "N"})
    frame = answer.to_pandas(wide=True)
    assert frame["S"].isna().all() and frame["N"].notna().all()
    twice = replace(answer.release.dimensions[1], labels=("Same",) * 5 + ("Total",))
    told = confide.Answer(replace(answer.release, dimensions=(answer.release.dimensions[0], twice)))
    assert list(told.to_pandas(wide=True, labels=True).columns)[:2] == ["Same (C)", "Same (N)"]
    assert told.to_polars(labels=True)["region"].n_unique() == 6


def test_frames_of_polars_are_those_of_arrow(site, answer):
    assert answer.to_polars().equals(polars.from_arrow(answer.to_arrow()))
    fit = site["people"].correlation(["age", "income"])
    assert fit.to_polars().columns == fit.correlations.column_names


def test_an_answer_is_cited_by_what_was_asked_and_its_receipt(site, answer):
    fit = site["people"].regression("income ~ age", where={"region": "N"})
    told = answer.cite()
    assert told.startswith("People of Norland, 2025. Count; Mean of Income a year, in crowns by Sex, Region. Everyone.")
    assert told.endswith(f"Protected by Confide, policy standard, version 1. Receipt {answer.receipt}.")
    assert "income ~ age" in fit.cite() and "North" in fit.cite() and fit.receipt in fit.cite()


def test_plots_are_of_tables_models_correlations_and_diagnostics(site, tmp_path):
    people = site["people"]
    fit = people.regression("income ~ age + education")
    plots = [
        people.table(rows="sex").plot(),
        people.table(rows="education", columns="sex").plot(),
        fit.plot(),
        people.correlation(["age", "income", "sex"]).plot(),
        fit.diagnostics().plot(),
        fit.diagnostics().plot("age"),
    ]
    for plot in plots:
        assert plot.to_svg().startswith("<svg") and "plot: " in repr(plot)
        assert json.loads(json.dumps(plot._repr_mimebundle_()))["application/vnd.vegalite.v5+json"] == plot.spec
    drawn = [row["class"] for row in plots[2].spec["data"]["values"]]
    assert drawn == [row["term"] for row in fit.coefficients.to_pylist()[1:]]
    several = people.regression("employment ~ sex", where={"age_group": ["30-39", "40-49"]}, family="multinomial")
    told = [row for row in several.coefficients.to_pylist() if row["term"] != "(Intercept)"]
    values = several.plot().spec["data"]["values"]
    assert [(row["term"].split(" – ")[0], row["class"]) for row in values] == [(r["response"], r["term"]) for r in told]
    for ending, begin in (("svg", b"<svg"), ("png", b"\x89PNG"), ("json", b"{")):
        plots[0].save(tmp_path / f"p.{ending}")
        assert (tmp_path / f"p.{ending}").read_bytes().startswith(begin)
    with pytest.raises(confide.Mistake, match=r"not written as '.pdf'.*\.svg"):
        plots[0].save(tmp_path / "p.pdf")
    with pytest.raises(confide.Mistake, match="no chart that can be read"):
        people.table(rows=["sex", "region"], columns="education").plot()
    with pytest.raises(confide.Mistake, match="no chart 'nothing'. There are fitted, age"):
        fit.diagnostics().plot("nothing")


@pytest.mark.parametrize(
    ("absent", "call", "install"),
    [
        ("pandas", lambda a: a.to_pandas(), "pip install pandas"),
        ("pandas", lambda a: a.to_pandas(wide=True), "pip install pandas"),
        ("polars", lambda a: a.to_polars(), "pip install polars"),
        ("vl_convert", lambda a: a.plot().to_svg(), r"pip install 'confide\[charts\]'"),
    ],
)
def test_a_library_that_is_missing_is_a_mistake_that_says_how_to_come_by_it(answer, monkeypatch, absent, call, install):
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(confide.Mistake, match=f"needs {absent}, which is not installed: {install}"):
        call(answer)


def test_a_model_without_pandas_says_so_too(site, monkeypatch):
    fit = site["people"].correlation(["age", "income"])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(confide.Mistake, match="needs pandas"):
        fit.to_pandas()
