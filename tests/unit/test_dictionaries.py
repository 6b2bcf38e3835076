"""Codebooks beside the data: each kind says the same, and one that is of other data is said to be."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import confide
from confide.cli.main import app
from confide.errors import Mistake
from confide.model.toml import toml_value
from confide.site.drafting.draft import draft
from confide.sources.dictionaries.dictionary import read_dictionary
from confide.sources.source import Source

ROWS = [
    ("variable", "label", "code", "meaning", "missing", "universe"),
    ("sex", "Sex of person", "1", "Man", "", ""),
    ("", "", "2", "Woman", "", ""),
    ("smokes", "Smokes", "1", "Yes", "", "Adults"),
    ("smokes", "", "2", "No", "", ""),
    ("smokes", "", "-9", "No answer", "yes", ""),
    ("income", "Income a year", "", "", "-1;-2", ""),
]
TABLE = pa.table(
    {
        "sex": ["01", "02"] * 60,
        "SMOKES": [1, 2, -9, 1] * 30,
        "income": [*range(100, 219), -1],
        "region": ["n", "s", "w"] * 40,
    }
)
DDI = """<?xml version="1.0"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5"><dataDscr>
<var name="sex"><labl>Sex of
 person</labl><catgry><catValu>1</catValu><labl>Man</labl></catgry>
<catgry><catValu>2</catValu><labl>Woman</labl></catgry></var>
<var name="smokes"><labl>Smokes</labl><universe>Adults</universe>
<catgry><catValu>1</catValu><labl>Yes</labl></catgry><catgry><catValu>2</catValu><labl>No</labl></catgry>
<catgry missing="Y"><catValu>-9</catValu><labl>No answer</labl></catgry></var>
<var name="income"><invalrng><item VALUE="-1"/><item VALUE="-2"/></invalrng>
<qstn><qstnLit>Income a year</qstnLit></qstn></var>
</dataDscr></codeBook>"""


def as_csv(path: Path) -> None:
    path.write_text("\n".join(",".join(row) for row in ROWS))


def as_xlsx(path: Path) -> None:
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append([int(cell) if re.fullmatch(r"-?\d+", cell) else cell for cell in row])
    book.save(path)


def as_json(path: Path) -> None:
    entries = {
        "sex": {"description": "Sex of person", "values": {"1": "Man", "2": "Woman"}},
        "smokes": {
            "label": "Smokes",
            "values": [{"code": 1, "label": "Yes"}, {"value": 2, "label": "No"}, {"code": -9, "label": "No answer"}],
            "missing": [-9],
            "universe": "Adults",
        },
        "income": {"label": "Income a year", "values": {"min": 0, "max": 9}, "missing": ["-1", "-2"]},
    }
    path.write_text(json.dumps(entries))


def as_ddi(path: Path) -> None:
    path.write_text(DDI)


@pytest.mark.parametrize(
    ("name", "write"), [("c.csv", as_csv), ("c.xlsx", as_xlsx), ("c.json", as_json), ("c.xml", as_ddi)]
)
def test_labels_missing_codes_and_universes_arrive_from_every_kind(tmp_path: Path, name: str, write: Any) -> None:
    write(tmp_path / name)
    drafted = draft(Source(TABLE), name="d", dictionary=tmp_path / name)
    found = tomllib.loads(drafted.catalog)["variables"]
    assert (found["sex"]["label"], found["sex"]["codes"]) == ("Sex of person", {"01": "Man", "02": "Woman"})
    assert (found["SMOKES"]["label"], found["SMOKES"]["missing"]) == ("Smokes", ["-9"])
    assert found["SMOKES"]["asked_of"] == "Adults"
    assert (found["income"]["label"], found["income"]["kind"]) == ("Income a year", "numeric")
    assert set(found["income"]["missing"]) == {"-1", "-2"}
    assert found["income"]["minimum"] == 0
    assert any("says nothing of region" in line for line in drafted.lines)


def test_codes_may_stand_in_one_field(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("name;description;values\nsex;Sex of person;1=Man | 2=Woman\n")
    assert read_dictionary(tmp_path / "c.csv").variables["sex"].values == {"1": "Man", "2": "Woman"}


def test_labels_of_a_labelled_file_describe_another(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = TABLE.select(["SMOKES"]).to_pandas()
    labels = {"SMOKES": {1: "Yes", 2: "No"}}
    pyreadstat.write_sav(frame, str(tmp_path / "c.sav"), column_labels=["Smokes"], variable_value_labels=labels)
    found = tomllib.loads(draft(Source(TABLE), name="d", dictionary=tmp_path / "c.sav").catalog)["variables"]["SMOKES"]
    assert (found["label"], found["codes"]["1"]) == ("Smokes", "Yes")


def test_a_codebook_of_other_data_is_a_mistake_and_one_that_fits_in_part_is_said_to(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("variable,label\nfarm,Farm\n")
    with pytest.raises(Mistake, match="describes other data.*farm"):
        confide.add(TABLE, tmp_path / "site", name="d", dictionary=tmp_path / "c.csv")
    assert not (tmp_path / "site").exists()
    (tmp_path / "c.csv").write_text("variable,code,meaning\nfarm,1,Yes\nregion,10,North\nregion,20,South\n")
    told = " ".join(draft(Source(TABLE), name="d", dictionary=tmp_path / "c.csv").lines)
    assert "describes farm, which the data do not have" in told
    assert "lists none of the codes that the data have of region" in told


BOMB = '<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx">]><codeBook><var name="a"><labl>&x;</labl></var></codeBook>'
OUTSIDE = (
    '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><codeBook><var name="a"><labl>&x;</labl></var></codeBook>'
)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("c.xml", BOMB, "document type"),
        ("c.xml", OUTSIDE, "document type"),
        ("c.xml", "<a>" * 1000 + "</a>" * 1000, "nested too deep"),
        ("c.xml", "<codeBook>", "cannot be read as XML"),
        ("c.xml", "<codeBook/>", "no DDI-Codebook"),
        ("c.json", "[[[", "cannot be read as JSON"),
        ("c.json", "[" * 100_000, "cannot be read as JSON"),
        ("c.json", "[1]", "no dictionary of variables"),
        ("c.csv", "a,b\n1,2\n", "must name the columns of a codebook"),
        ("c.csv", "variable,label\n", "no records"),
        ("c.xlsx", "no workbook", "cannot be read as a workbook"),
        ("c.pdf", "x", "Cannot tell what codebook"),
    ],
)
def test_a_codebook_that_cannot_be_read_is_a_mistake(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(Mistake, match=words):
        read_dictionary(tmp_path / name)


def test_a_codebook_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="no file"):
        read_dictionary(tmp_path / "c.csv")


def test_what_is_written_as_ddi_is_read_back(tmp_path: Path) -> None:
    as_json(tmp_path / "c.json")
    confide.add(TABLE, tmp_path / "site", name="d", dictionary=tmp_path / "c.json")
    asked = ["codebook", str(tmp_path / "site"), "d", "--format"]
    written = CliRunner().invoke(app, [*asked, "ddi"])
    assert CliRunner().invoke(app, [*asked, "ddi", "-o", str(tmp_path / "out.xml")]).output == ""
    assert (tmp_path / "out.xml").read_text() == written.output
    book = json.loads(CliRunner().invoke(app, [*asked, "json"]).output)
    assert [v["name"] for v in book["variables"] if v["label"] == "Smokes"] == ["SMOKES"]
    back = read_dictionary(tmp_path / "out.xml").variables
    assert (back["SMOKES"].label, back["SMOKES"].universe, back["SMOKES"].missing) == ("Smokes", "Adults", ("-9",))
    assert back["sex"].values == {"01": "Man", "02": "Woman"}
    wrong = CliRunner().invoke(app, ["codebook", str(tmp_path / "site"), "d", "--format", "pdf"])
    assert isinstance(wrong.exception, Mistake) or "not written as" in wrong.output


def test_a_description_comes_back_from_its_ddi_as_it_was(tmp_path: Path) -> None:
    """Written, and drafted from it once more: codes, labels, missing codes, universes and what the data are called."""
    table = TABLE.append_column("answer", pa.array(["ja", None, "nein", "ä <&>"] * 30))
    as_json(tmp_path / "c.json")
    first = draft(Source(table), name="d", dictionary=tmp_path / "c.json").catalog
    study = {"title": 'People & "others" <1>', "source": "Statistik Österreich", "period": "2025"}
    for key, text in study.items():
        first = re.sub(rf"(?m)^{key} = .*$", lambda _, key=key, text=text: f"{key} = {toml_value(text)}", first)
    confide.add(table, tmp_path / "site", name="d", catalog=first)
    with confide.open(tmp_path / "site") as site:
        (tmp_path / "d.xml").write_text(site["d"].to_ddi())
        told = site["d"].codebook
    confide.add(table, tmp_path / "again", name="d", dictionary=tmp_path / "d.xml")
    with confide.open(tmp_path / "again") as site:
        assert site["d"].codebook == told
    assert {key: told[key] for key in study} == study


def test_ddi_tells_nothing_of_the_records_but_what_is_declared(tmp_path: Path) -> None:
    """Of data with the same codes, whatever their numbers and counts, it is the same to the letter."""
    written = []
    for times in (20, 35):
        table = pa.table({"sex": ["f", "m", "m"] * times, "age": [x % (2 * times) for x in range(3 * times)]})
        catalog = 'title = "d"\n[variables.sex.codes]\nf = "F"\nm = "M"\n[variables.age]\nkind = "numeric"\ncutpoints = [10]\n'
        confide.add(table, tmp_path / str(times), name="d", catalog=catalog)
        with confide.open(tmp_path / str(times)) as site:
            written.append(site["d"].to_ddi())
    assert written[0] == written[1] and "range" not in written[0] and "catStat" not in written[0]


def test_counts_and_ranges_of_an_archives_ddi_do_not_become_public(tmp_path: Path) -> None:
    (tmp_path / "c.xml").write_text(
        '<codeBook><dataDscr><var name="income"><labl>Income</labl><valrng><range min="100" max="218"/></valrng>'
        '<sumStat type="max">218</sumStat></var></dataDscr></codeBook>'
    )
    found = tomllib.loads(draft(Source(TABLE), name="d", dictionary=tmp_path / "c.xml").catalog)["variables"]["income"]
    assert "maximum" not in found and found["minimum"] != 100


@pytest.mark.parametrize(("towns", "drafted"), [(40, 3), (16, 3), (12, 12)])
def test_a_codebook_of_a_larger_file_brings_no_classes_that_nobody_is_in(
    tmp_path: Path, towns: int, drafted: int
) -> None:
    """Of a list of which most codes are in no record those are drafted that are; of one that is nearly whole all are."""
    codes = {f"t{n}": f"Town {n}" for n in range(towns)}
    here = list(codes)[:3] if drafted == 3 else list(codes)[: towns - 5]
    table = pa.table({"town": here * 60, "sex": ["f", "m"] * (30 * len(here))})
    (tmp_path / "c.json").write_text(json.dumps({"town": {"label": "Town", "values": {**codes, "x": "Not stated"}}}))
    done = draft(Source(table), name="d", dictionary=tmp_path / "c.json")
    found = tomllib.loads(done.catalog)["variables"]["town"]
    assert len(found["codes"]) == drafted + 1 and found["missing"] == ["x"] and found["codes"]["t0"] == "Town 0"
    assert any("those are listed that records have" in line for line in done.lines) == (drafted == 3)


def test_a_code_that_no_record_has_is_not_drafted_where_codes_have_a_level_above(tmp_path: Path) -> None:
    """Nobody knows which county a district without records lies in; drafted without one it would be no description."""
    districts = [f"d{n:02}" for n in range(12)]
    table = pa.table({"district": districts * 30, "county": [f"c{n // 4}" for n in range(12)] * 30})
    listed = {code: f"District {code}" for code in [*districts, "d99"]} | {"x": "Not stated"}
    (tmp_path / "c.json").write_text(json.dumps({"district": {"label": "District", "values": listed}}))
    done = draft(Source(table), name="d", dictionary=tmp_path / "c.json")
    found = tomllib.loads(done.catalog)["variables"]["district"]
    assert found["parent"] == "county" and list(found["codes"]) == districts and "missing" not in found
    assert found["codes"]["d05"] == {"label": "District d05", "parent": "c1"}
    assert any("those are listed that records have" in line for line in done.lines)
    confide.add(table, tmp_path / "site", name="d", dictionary=tmp_path / "c.json")


def test_a_codebook_of_ours_in_json_describes_the_data_again(tmp_path: Path) -> None:
    table = TABLE.append_column("age", pa.array([x % 40 for x in range(len(TABLE))]))
    as_json(tmp_path / "c.json")
    confide.add(table, tmp_path / "site", name="d", dictionary=tmp_path / "c.json")
    written = CliRunner().invoke(app, ["codebook", str(tmp_path / "site"), "d", "--format", "json"]).output
    (tmp_path / "ours.json").write_text(written)
    back = read_dictionary(tmp_path / "ours.json").variables
    assert (back["SMOKES"].missing, back["SMOKES"].universe, back["sex"].universe) == (("-9",), "Adults", "")
    assert back["sex"].values == {"01": "Man", "02": "Woman"} and not back["age"].values
