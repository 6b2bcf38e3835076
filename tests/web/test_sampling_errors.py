"""Standard errors of a survey, by every door in the same words: Python, HTTP, the command line, the page."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import confide
from confide import demo
from confide.demo.texts import catalog_text, policy_text
from confide.model.choices import CoefficientErrors
from confide.records.ingest import add
from confide.spelling.url import read_url
from confide.spelling.words import write_words

ANSWERED = [
    "survey/table?rows=sex&measure=weighted_count,total,mean&of=income&error=se,cv,reliability&interval=95",
    "survey/table?rows=education&columns=sex&measure=weighted_count,total&of=income&percent=column&error=se&interval=90",
    "survey/table?rows=sex&columns=region&measure=mean,median&of=income&error=cv&where=region=N,S",
]


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a survey of people in 90 sampling units within 9 strata."""
    people = demo.people(6000)
    psu = np.random.default_rng(1).integers(0, 90, people.num_rows)
    people = people.append_column("stratum", pa.array(psu // 10)).append_column("psu", pa.array(psu))
    head, variables = catalog_text("people").split("[variables", 1)
    catalog = f'{head}[sampling]\nstrata = "stratum"\npsu = "psu"\n\n[variables{variables}'
    site = tmp_path_factory.mktemp("surveyed") / "site"
    add(people, site, name="survey", catalog=catalog, policy=policy_text("people"))
    return site


def test_every_door_gives_the_same_errors(surveyed: Path, serve: Any, run: Any, tmp_path: Path) -> None:
    one, two, three = (shutil.copytree(surveyed, tmp_path / name) for name in ("one", "two", "three"))
    server = serve(two)
    with confide.open(one) as here, confide.open(server.url) as there:
        for address in ANSWERED:
            request = read_url(address)
            answer = confide.Answer(here.ask(request))
            assert here.ask(request) == there.ask(request)
            for ending, content in (("csv", answer.to_csv().encode()), ("xlsx", answer.to_xlsx())):
                assert server.get("/" + address.replace("table", f"table.{ending}", 1)).content == content
            assert server.get("/" + address.replace("table", "table.json", 1)).json() == answer.to_json()
            done = run("table", three, *write_words(request), "--format", "csv")
            assert done.stdout.decode().strip() == answer.to_csv().strip()


def test_an_answer_has_what_was_asked_for_and_no_more(surveyed: Path, tmp_path: Path) -> None:
    with confide.open(shutil.copytree(surveyed, tmp_path / "site")) as site:
        survey = site["survey"]
        assert "Taylor" in survey.codebook["sampling"]
        table = survey.table(rows="sex", measure=["weighted_count", "mean"], of="income", error=["cv"], interval="95")
        named = ["weighted_count", "mean"]
        assert list(table.release.columns) == [f"{n}{e}" for n in named for e in ("", "_cv", "_low", "_high")]
        shares = survey.table(rows="sex", measure="weighted_count", percent="total", error="se")
        assert list(shares.release.columns) == ["weighted_count_percent", "weighted_count_percent_se"]
        plain = survey.table(rows="sex", measure="weighted_count")
        assert plain.receipt != table.receipt
        with pytest.raises(confide.Mistake, match="se, cv, reliability"):
            survey.table(rows="sex", measure="weighted_count", error="vc")


def test_the_page_offers_errors_and_shows_them(surveyed: Path, serve: Any, tmp_path: Path) -> None:
    server = serve(shutil.copytree(surveyed, tmp_path / "site"))
    page = server.get("/survey/table?rows=sex&measure=weighted_count").text
    assert "error=se" in page and "Standard error" in page
    shown = server.get("/" + ANSWERED[0]).text
    assert ">Standard error</th>" in shown and ">Reliability</th>" in shown
    counted = server.get("/survey/table?rows=sex").text
    assert "error=se" not in counted  # a plain count of a weighted sample has none
    assert server.get("/survey/table?rows=sex&error=se").status_code == 422


MODELS = [
    "survey/regression?formula=log(income) ~ age%2Bsex&errors=design&also=covariance",
    "survey/regression?formula=employment=unemployed ~ age%2Bsex&family=binomial&errors=design&also=effects",
    "survey/regression?formula=employment ~ sex&family=multinomial&errors=design&also=effects",
]


def test_every_door_gives_models_the_same_errors_by_the_design(
    surveyed: Path, serve: Any, run: Any, tmp_path: Path
) -> None:
    one, two, three = (shutil.copytree(surveyed, tmp_path / name) for name in ("one", "two", "three"))
    server = serve(two)
    with confide.open(one) as here, confide.open(server.url) as there:
        for address in MODELS:
            request = read_url(address)
            release = here.ask(request)
            assert release == there.ask(request)
            assert "design-based" in release.grids["coefficients"].title
            assert any("Taylor" in note for note in release.notes)
            done = run("regression", three, *write_words(request), "--format", "csv")
            csv = server.get("/" + address.replace("regression", "regression.csv", 1)).text
            assert done.stdout.decode().strip() == csv.strip()
            plain = here.ask(replace(request, errors=CoefficientErrors.MODEL))
            told, by_model = (each.grids["coefficients"].rows for each in (release, plain))
            assert [row[0] for row in told] == [row[0] for row in by_model]
            assert [row[2] for row in told] != [row[2] for row in by_model]


def test_the_page_of_a_model_offers_errors_by_the_design_where_there_is_one(
    surveyed: Path, serve: Any, tmp_path: Path
) -> None:
    site = shutil.copytree(surveyed, tmp_path / "site")
    add(demo.people(2000), site, name="people", catalog=catalog_text("people"), policy=policy_text("people"))
    server = serve(site)
    build, box = "/regression/build?response=gaussian+income&term=age", 'type="checkbox" name="errors" value="design"'
    assert f"{box}>" in server.get(f"/survey{build}").text
    assert f"{box} checked" in server.get(f"/survey{build}&errors=design").text
    assert box not in server.get(f"/people{build}").text
    shown = server.get("/" + MODELS[0]).text
    assert "Standard errors are by Taylor linearisation" in shown and "errors=design" in shown
    assert "Wald tests of each term" in shown and "sum of squares" not in shown.lower()
    undeclared = server.get("/people/regression?formula=income ~ age&errors=design")
    assert (
        undeclared.status_code == 422 and "is not declared" in undeclared.text and f"{box} checked" in undeclared.text
    )
    assert server.get("/survey/regression?formula=income ~ age&errors=sample").status_code == 422
    sent = server.get("/survey/regression/build?formula=income~age%2Bsex&against=income~age&errors=design&do=show").text
    assert "take every unit as drawn by itself" in sent
