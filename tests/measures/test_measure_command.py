"""`confide measure` and `confide map`."""

import json
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from confide.cli.main import app, main
from confide.cli.measure import read_file, read_ways
from confide.errors import Mistake
from confide.measures.maps import LOSSES, RISKS
from confide.microdata import Microaggregation, Rounding

DATA = Path(__file__).parents[3] / "shared" / "data"
ROLES = ["--keys", "age,sex", "--confidential", "income", "--other", "wealth"]


@pytest.fixture
def folder(tmp_path, people_of, masked_of, monkeypatch):
    original = people_of(120)
    original.to_csv(tmp_path / "original.csv", index=False)
    masked_of(original).to_csv(tmp_path / "released.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, words)


def wrong(*words):
    """The Mistake that a command ends in."""
    error = run(*words).exception
    assert isinstance(error, Mistake), error
    return str(error)


def test_a_report_is_printed_and_a_page_written(folder):
    done = run("measure", "original.csv", "released.csv", *ROLES, "--weight", "weight", "--report", "out.html")
    assert done.exit_code == 0 and "k-anonymity" in done.stdout and "The page is out.html." in done.stderr
    page = (folder / "out.html").read_text()
    assert page.startswith("<!doctype html>") and "<img" in page


def test_every_format_has_the_same_findings(folder):
    asked = ["measure", "original.csv", "released.csv", *ROLES]
    data = json.loads(run(*asked, "--format", "json").stdout)
    lines = run(*asked, "--format", "csv").stdout.splitlines()
    assert len(lines) == 1 + len(data["findings"])
    run(*asked, "--format", "html", "-o", "page.html")
    for finding in data["findings"]:
        assert finding["name"] in (folder / "page.html").read_text()


def test_exit_status_2_is_a_mistake_in_one_sentence(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["confide", "measure", "original.csv", "released.csv", "--keys", "aeg"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    said = capsys.readouterr()
    assert said.err == "Mistake: In the original file: No column called 'aeg'. Did you mean 'age'?\n" and not said.out


def test_files_that_do_not_match_are_a_mistake(folder):
    pd.read_csv("released.csv").head(50).to_csv("short.csv", index=False)
    assert "120 records, the released one 50" in wrong("measure", "original.csv", "short.csv", *ROLES)
    pd.read_csv("released.csv").drop(columns="income").to_csv("narrow.csv", index=False)
    assert "In the released file: No column called 'income'" in wrong("measure", "original.csv", "narrow.csv", *ROLES)
    assert "There is no file 'none.csv'" in wrong("measure", "original.csv", "none.csv", *ROLES)
    assert "There is no format 'xml'" in wrong("measure", "original.csv", "released.csv", *ROLES, "--format", "xml")
    assert "cannot be written" in wrong("measure", "original.csv", "released.csv", *ROLES, "-o", "none/out.txt")


def test_a_synthetic_file_is_measured_unpaired_with_a_holdout(folder, people_of):
    people_of(90, 5).to_csv("synthetic.csv", index=False)
    people_of(90, 6).to_csv("holdout.csv", index=False)
    done = run("measure", "original.csv", "synthetic.csv", *ROLES, "--unpaired", "--holdout", "holdout.csv")
    assert done.exit_code == 0 and "membership" in done.stdout and "distance linkage" not in done.stdout


def test_a_csv_holds_numbers_codes_and_what_was_said_to_be_missing(tmp_path, capsys):
    file = tmp_path / "a.csv"
    file.write_text("id,n,x,zip,s,m\n1,1,1.5,007,a,-999\n2,2,+2,012,b,NA\n3,,1e3,123,,5\n")
    table = read_file(file)
    assert [str(t) for t in table.schema.types] == ["int64", "int64", "double", "string", "string", "string"]
    assert table["x"].to_pylist() == [1.5, 2.0, 1000.0] and table["n"].to_pylist() == [1, 2, None]
    assert "'m' has 'NA', so it holds categories. If that means missing: --missing NA" in capsys.readouterr().err
    assert read_file(file, missing=["NA"])["m"].to_pylist() == [
        -999,
        None,
        5,
    ]  # -999 is a number until it is said not to be
    assert read_file(file, missing=["NA", "-999"])["m"].to_pylist() == [None, None, 5]


def test_parquet_columns_are_what_they_are(tmp_path):
    pa.parquet.write_table(pa.table({"s": ["1", "2"], "n": [1, 2]}), tmp_path / "a.parquet")
    assert [str(t) for t in read_file(tmp_path / "a.parquet").schema.types] == ["int64", "int64"]


def test_a_map_names_the_frontier_and_the_choice(folder):
    ways = ["rounding:base=10,1000", "microaggregation:k=3,10"]
    done = run("map", "original.csv", *ways, "--columns", "income,age", "--risk-at-most", "30")
    assert done.exit_code == 0 and "microaggregation:k=10" in done.stdout
    assert "With a risk of at most 30: " in done.stdout
    points = json.loads(run("map", "original.csv", *ways, "--columns", "income,age", "--format", "json").stdout)[
        "points"
    ]
    assert [p["name"] for p in points] == [
        "rounding:base=10",
        "rounding:base=1000",
        "microaggregation:k=3",
        "microaggregation:k=10",
    ]


def test_a_map_takes_plans(folder):
    (folder / "plan.toml").write_text('[[step]]\nmethod = "rounding"\ncolumns = ["income"]\nbase = 100\n')
    plain = run(
        "map", "original.csv", "plan.toml", "rounding:base=100", "--columns", "income", "--format", "csv"
    ).stdout
    _, plan, method = plain.splitlines()
    assert plan.removeprefix("plan.toml") == method.removeprefix("rounding:base=100")


@pytest.mark.parametrize("risk", RISKS)
def test_every_risk_can_be_mapped(folder, risk):
    assert run("map", "original.csv", "rounding:base=500", "--columns", "income,age", "--risk", risk).exit_code == 0


@pytest.mark.parametrize("utility", LOSSES)
def test_every_loss_can_be_mapped(folder, utility):
    assert (
        run("map", "original.csv", "rounding:base=500", "--columns", "income,age", "--utility", utility).exit_code == 0
    )


def test_ways_are_read_with_all_their_combinations():
    assert read_ways(["rounding:base=1,2.5", "microaggregation"]) == {
        "rounding:base=1": Rounding(base=1.0),
        "rounding:base=2.5": Rounding(base=2.5),
        "microaggregation": Microaggregation(),
    }


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("roundin:base=1", "Did you mean 'rounding'"),
        ("zzz", "Methods: "),
        ("rounding:bas=1", "no parameter 'bas'. Did you mean 'base'"),
        ("rounding:base", "Say what 'base' of rounding is. As in rounding:base=1,2"),
        ("rounding:base=", "Say what 'base' of rounding is"),
        ("rounding:base=many", "base must be a number"),
        ("rounding:base=-1", "base must be more than 0"),
        ("none.toml", "none.toml"),
    ],
)
def test_ways_that_make_no_sense_are_a_mistake(way, words):
    with pytest.raises(Mistake, match=words):
        read_ways([way])


@pytest.mark.reference
def test_a_real_survey_is_measured_by_one_command(tmp_path, monkeypatch):
    """157 sample uniques of 4,580 records are 3.428 percent, rounded."""
    monkeypatch.chdir(tmp_path)
    done = run(
        "measure", str(DATA / "ihsn_testdata_sdcmicro.csv.gz"), str(DATA / "ihsn_testdata_sdcmicro.csv.gz"),
        "--keys", "urbrur,roof,walls,water,electcon,relat,sex", "--categorical", "urbrur,roof,walls,water,electcon,relat,sex",
        "--confidential", "income", "--weight", "sampling_weight", "--household", "ori_hid", "--format", "json",
    )  # fmt: skip
    found = {f["name"]: f["value"] for f in json.loads(done.stdout)["findings"]}
    assert (
        found["k-anonymity"] == 1
        and found["information loss"] == 0
        and found["sample uniques"] == pytest.approx(3.428, abs=1e-3)
    )
