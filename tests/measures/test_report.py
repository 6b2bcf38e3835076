"""The report of everything, and the map."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide import measures
from confide.errors import Mistake
from confide.measures.reports.findings import Measurement
from confide.microdata import Microaggregation, Rounding, Sampling, Synthesis

ROLES = {"age": "key", "sex": "key", "region": "key", "income": "confidential", "wealth": "confidential"}


@pytest.fixture(scope="module")
def files(people_of, masked_of):
    original = people_of(250).assign(id=np.arange(250), home=np.arange(250) // 3)
    return original, masked_of(original)


@pytest.fixture(scope="module")
def found(files):
    return measures.report(*files, roles={**ROLES, "weight": "weight", "home": "household"})


def test_roles_by_name_and_names_by_role_give_the_same(files, found):
    named = measures.report(
        *files, keys=["age", "sex", "region"], confidential=["income", "wealth"], weight="weight", household="home"
    )
    assert named.findings == found.findings


def test_every_measure_that_applies_is_there_and_finite(found):
    assert [f.name for f in found.findings if f.value is None] == []
    assert all(np.isfinite(f.value) for f in found.findings)
    names = {f.name for f in found.findings}
    assert names >= {
        "k-anonymity", "sample uniques", "individual risk", "special uniques", "household risk", "population uniques",
        "class disclosure", "l-diversity", "t-closeness", "dominance", "attribute disclosure", "distance linkage",
        "probabilistic linkage", "interval disclosure", "information loss", "probabilistic loss", "suppressed", "changed",
        "entropy loss", "tables", "Hellinger distance", "propensity", "pMSE ratio", "regression overlap",
        "valid subdomains", "score", "disclosure risk",
    }  # fmt: skip
    percents = [f for f in found.findings if f.unit == "percent" and f.part == "risk"]
    assert all(0 <= f.value <= 100 for f in percents)


def test_numbers_are_those_of_the_single_measures(files, found):
    original, released = files
    keys = ["age", "sex", "region"]
    assert found["k-anonymity"] == measures.risk.k_anonymity(released, keys=keys).k
    assert found["distance linkage"] == measures.risk.distance_linkage(original, released, columns=keys).percent
    assert found["score"] == measures.score(original, released, columns=["age", "income", "wealth"]).value
    before = next(f.before for f in found.findings if f.name == "sample uniques")
    assert before == measures.risk.k_anonymity(original, keys=keys).unique


def test_the_same_file_loses_nothing_and_risks_the_most(files):
    original, _ = files
    same = measures.report(original, original, roles=ROLES)
    for f in same.findings:
        if f.part == "utility" and f.name not in ("regression overlap", "valid subdomains"):
            assert f.value == pytest.approx(0, abs=1e-6), f.name
        if f.before is not None:
            assert f.before == f.value, f.name
    assert same["regression overlap"] == same["valid subdomains"] == 100


def test_a_report_is_a_table_for_any_tool(found):
    assert pl.DataFrame(found).shape == pa.table(found).to_pandas().shape == (len(found.findings), 7)
    assert found.to_csv().splitlines()[0] == "part,name,about,value,unit,meaning,before"
    assert len(found.to_csv().splitlines()) == 1 + len(found.findings)
    assert json.loads(json.dumps(found.to_json()))["findings"][0]["name"] == "k-anonymity"


def test_a_report_says_in_words_what_numbers_mean(found):
    text = found.to_text()
    assert text == repr(found)
    assert "k-anonymity: The smallest class of records with equal keys." in text
    assert "for the custodian, not for publication" in text
    assert all(len(line) < 160 for line in text.splitlines())


def test_a_page_stands_alone_and_shows_pictures_with_words(found):
    page = found.to_html()
    assert page == found._repr_html_()
    assert page.count("<img") == len(found.charts) >= 7 and page.count('alt="') == page.count("<img")
    assert not re.search(r"<script|(src|href)=.http|@import|url\(", page)
    assert "Histograms of income in both files" in page


def test_without_the_extra_a_sentence_stands_for_the_pictures(found, monkeypatch):
    monkeypatch.setattr("confide.data.report.find_spec", lambda name: None)
    page = found.to_html()
    assert "<img" not in page and "Install confide[charts]" in page


def test_texts_of_the_data_cannot_write_into_the_page():
    evil = "<script>alert(1)</script>"
    table = pa.table({evil: ["</svg><script>alert(2)</script>", "b"] * 6, "x": np.arange(12.0)})
    page = measures.report(table, table, keys=[evil], confidential="x").to_html()
    assert "<script" not in page


def test_charts_are_vega_lite_with_their_data_inside(found):
    for chart in found.charts.values():
        assert chart["$schema"].endswith("v5.json") and chart["description"] and chart["data"]["values"]
        assert "url" not in json.dumps(chart["data"])


def test_numbers_that_are_codes_are_compared_as_codes():
    original = pa.table({"sex": [1, 2, 1, 2], "x": [1.0, 2.0, 3.0, 4.0]})
    released = pa.table({"sex": [1.0, 2.0, 2.0, 2.0], "x": [1.0, 2.0, 3.0, 4.0]})
    found = measures.report(original, released, keys="sex", confidential="x", categorical="sex")
    assert found["changed"] == 25


def test_a_recoded_key_is_measured_for_risk_and_for_what_it_still_tells(people_of):
    original = people_of(200)
    released = original.assign(age=original["age"].map(lambda a: f"{a // 10 * 10}s"))
    found = measures.report(original, released, keys=["age", "sex"], confidential="income")
    assert 0 < found["distance linkage"] < 50
    assert 0 < found["entropy loss"] < 100
    assert found["k-anonymity"] > 1


def test_a_sample_is_paired_by_an_identifier(people_of):
    original = people_of(300).assign(id=np.arange(300))
    sample = Sampling(share=0.5).protect(original, teaching_seed=1).frame
    found = measures.report(original, sample, roles={**ROLES, "id": "identifier"})
    assert "paired by id" in found.facts["Records"] and found["information loss"] is not None
    with pytest.raises(Mistake, match="Name an identifier that both have"):
        measures.report(original, sample, roles=ROLES)


def test_a_synthetic_file_is_not_paired_and_a_holdout_tests_its_memory(people_of):
    original, synthetic, holdout = people_of(200, 1), people_of(150, 2), people_of(200, 3)
    found = measures.report(original, synthetic, roles=ROLES, paired=False, holdout=holdout)
    names = {f.name for f in found.findings}
    assert {"membership", "propensity", "attribute disclosure"} <= names
    assert not {"distance linkage", "information loss", "score", "entropy loss"} & names
    assert 40 < found["membership"] < 60


def test_an_intruder_who_knows_that_records_are_new_is_measured_by_membership(people_of):
    original, holdout = people_of(200, 1)[list(ROLES)], people_of(200, 3).astype({"sex": "category"})
    method = Synthesis(size=150)
    synthetic = method.protect(original, columns=list(ROLES), teaching_seed=1).frame
    for more in (None, holdout):
        found = measures.report(original, synthetic, roles=ROLES, paired=False, method=method, holdout=more)
        assert [f.about for f in found.findings if f.name == "aware attack"] == ["membership"]
        assert found["aware attack"] is not None and "worst attack" not in {f.name for f in found.findings}


def test_what_cannot_be_measured_says_why():
    table = pa.table({"k": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})
    found = measures.report(table, table, keys="k", confidential="x")
    reason = next(f for f in found.findings if f.name == "subdomains")
    assert reason.value is None and reason.meaning.startswith("Not measured: No part has 10 records.")
    assert found["subdomains"] is None
    assert "[x]" in found.to_html()


def test_one_record_and_constant_columns_are_reported():
    one = pa.table({"k": ["a"], "x": [1.0]})
    assert measures.report(one, one, keys="k", confidential="x")["k-anonymity"] == 1
    flat = pa.table({"k": ["a"] * 20, "x": [1.0] * 20, "y": [None] * 20})
    found = measures.report(flat, flat, keys="k", confidential=["x", "y"])
    assert found["k-anonymity"] == 20


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({}, "Say which columns are keys"),
        ({"keys": "agee"}, "In the original file: No column called 'agee'. Did you mean 'age'"),
        ({"keys": "age", "confidential": "age"}, "has two roles"),
        ({"roles": {"age": "kye"}}, "has no role 'kye'. Did you mean 'key'"),
        ({"roles": {"age": "key"}, "keys": "sex"}, "not both"),
        (
            {"roles": {"age": "key", "sex": "weight", "region": "weight"}},
            "'sex' and 'region' cannot both be the weight",
        ),
        (
            {"keys": "age", "categorical": "agee"},
            "'agee' is said to be categorical and has no role. Did you mean 'age'",
        ),
        ({"keys": [0]}, "named by text"),
        ({"key": "age"}, "There is no role 'key'. Did you mean 'keys'"),
    ],
)
def test_roles_that_make_no_sense_are_a_mistake(people_of, named, words):
    with pytest.raises(Mistake, match=words):
        measures.report(people_of(10), people_of(10), **named)


def test_an_empty_file_and_an_unknown_finding_are_a_mistake(people_of, found):
    with pytest.raises(Mistake, match="released file has no records"):
        measures.report(people_of(10), people_of(10).iloc[:0], roles=ROLES)
    with pytest.raises(Mistake, match="Did you mean 'distance linkage'"):
        found["distance linkag"]


def test_a_page_of_findings_without_charts_has_no_pictures():
    page = measures.Report({}, (Measurement("risk", "n", "a", 1.0, "percent", "m"),), {}).to_html()
    assert "<figure" not in page and "confide[charts]" not in page


def test_a_map_measures_every_way_and_marks_the_frontier(people_of):
    original = people_of(150).dropna()
    ways = [Rounding(base=b) for b in (10, 1000, 5000)] + [Microaggregation(k=k) for k in (3, 10)]
    found = measures.risk_utility_map(original, ways, columns=["income", "wealth"], risk="linkage", seed=3)
    assert [p.name for p in found.points][1:3] == ["Rounding(base=1000.0)", "Rounding(base=5000.0)"]
    for way, point in zip(ways, found.points, strict=True):
        released = way.protect(original, columns=["income", "wealth"], teaching_seed=3)
        assert point.risk == measures.risk.distance_linkage(original, released, columns=["income", "wealth"]).percent
        assert point.loss == measures.utility.discrepancies(original, released, columns=["income", "wealth"]).loss
        beaten = any(
            p.risk <= point.risk and p.loss <= point.loss and (p.risk, p.loss) != (point.risk, point.loss)
            for p in found.points
        )
        assert point.frontier == (not beaten)
    risks = [p.risk for p in found.frontier]
    assert risks == sorted(risks)


def test_the_choice_is_the_most_useful_with_little_enough_risk():
    points = [
        measures.maps.MapPoint(n, r, x, f)
        for n, r, x, f in [("a", 5.0, 50.0, True), ("b", 20.0, 10.0, True), ("c", 30.0, 60.0, False)]
    ]
    found = measures.MaskingMap("linkage", "variation", tuple(points))
    assert found.choose(risk=20).name == "b" and found.choose(risk=19).name == "a"
    with pytest.raises(Mistake, match="No release has so little risk"):
        found.choose(risk=1)


def test_a_map_can_use_any_measure_and_a_plan():
    class Doubling:
        name = "double"

        def protect(self, frame, *, teaching_seed):
            table = pa.table(frame)
            return table.set_column(0, "x", pa.array(np.array(table["x"]) * 2))

    file = pa.table({"x": [1.0, 2.0, 3.0]})
    found = measures.risk_utility_map(
        file, [Doubling(), Rounding(base=1)], columns="x", risk=lambda a, b, names: 1.0, utility="hellinger"
    )
    assert [p.name for p in found.points] == ["double", "Rounding(base=1.0)"]
    assert found.risk == "<lambda>" and found.points[1].frontier and not found.points[0].frontier


def test_a_map_of_samples_knows_where_records_come_from(people_of):
    original = people_of(200).dropna()
    found = measures.risk_utility_map(
        original, [Sampling(share=f) for f in (0.3, 0.9)], columns=["age", "income"], seed=2
    )
    assert [p.risk for p in found.points] == [100, 100]
    assert found.points[0].loss > found.points[1].loss


def test_a_map_is_a_table_a_text_and_a_page(people_of):
    found = measures.risk_utility_map(people_of(50), [Rounding(base=10), Rounding(base=900)], columns="income")
    assert pd.DataFrame(found.to_json()["points"]).shape == pa.table(found).to_pandas().shape == (2, 5)
    assert found.to_csv().splitlines()[0] == "name,risk,loss,frontier,attack"
    assert "*" in found.to_text() and repr(found) == found.to_text()
    page = found.to_html()
    assert page == found._repr_html_() and page.count("<img") == 1 and "<script" not in page
    assert not re.search(r"<th[^>]*></th>", page) and '<td class="">yes</td>' in page
    layers = json.loads(json.dumps(found.chart))["layer"]
    sides = {each["mark"]["align"]: each["data"]["values"] for each in layers if each["mark"]["type"] == "text"}
    assert sum(map(len, sides.values())) == len(found.points), "each name stands once"
    # a name to the right of the rightmost point would run out of the picture
    assert max(found.points, key=lambda point: point.loss).name in {row["way"] for row in sides["right"]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": []}, "nothing to map"),
        ({"methods": ["rounding"]}, "neither a method nor a plan"),
        ({"risk": "linkige"}, "No risk measure is called 'linkige'. Did you mean 'linkage'"),
        ({"utility": "zzz"}, "Choose from variation"),
        ({"frame": pa.table({"x": pa.array([], pa.float64())})}, "no records"),
    ],
)
def test_a_map_that_makes_no_sense_is_a_mistake(change, words):
    given = {"frame": pa.table({"x": [1.0]}), "methods": [Rounding(base=1)], "columns": "x"} | change
    with pytest.raises(Mistake, match=words):
        measures.risk_utility_map(given.pop("frame"), given.pop("methods"), **given)
