"""Masking files on the command line."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from confide.cli.main import app
from confide.errors import Mistake
from confide.microdata import METHODS, Microaggregation

CSV = 'id,code,age,größe,income\n1,007,17,"a, b",1.50\n2,008,39,ü,2000\n3,009,40,ü,-999\n4,010,64,,NA\n'

GATE = ("--identifiers", "id,code", "--keep", "age,income")

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a folder with a file and a plan; gives what it prints, or raises."""
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(CSV, encoding="utf-8")
    Path("plan.toml").write_text('[[step]]\nmethod = "sampling"\nshare = 0.5\n', encoding="utf-8")

    def command(*words: str) -> str:
        result = CliRunner().invoke(app, ["mask", *words])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.output

    return command


def text(file: str) -> str:
    return Path(file).read_text(encoding="utf-8")


def test_one_method_masks_its_columns_and_leaves_every_other_letter_alone(run: Run) -> None:
    said = run("apply", "microaggregation", "--k", "2", "--columns", "age", "in.csv", "out.csv", "--as-is")
    assert text("out.csv") == (
        'id,code,age,größe,income\n1,007,28,"a, b",1.50\n2,008,28,ü,2000\n3,009,52,ü,-999\n4,010,52,,NA\n'
    )
    assert said.startswith("microaggregation: age; groups 2; loss 0.479204\nThis report is for the custodian only.\n")
    assert "4 records are in out.csv" in said and "Not for release" in said


def test_a_plan_is_run_with_or_without_its_word(run: Run) -> None:
    run("plan", "plan.toml", "in.csv", "one.csv", *GATE)
    run("plan.toml", "in.csv", "two.csv", *GATE)
    run(*GATE, "plan.toml", "in.csv", "three.csv")
    assert text("one.csv") == text("two.csv") == text("three.csv") and len(text("one.csv").splitlines()) == 3


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_other_endings_hold_numbers_as_numbers_and_codes_as_text(run: Run, ending: str) -> None:
    run("apply", "rounding", "--columns", "age", "in.csv", f"out.{ending}", "--missing", "NA", "--as-is")
    table = pa.parquet.read_table("out.parquet") if ending == "parquet" else pa.feather.read_table("out.arrow")
    assert table["age"].to_pylist() == [20, 40, 40, 60]
    assert table["code"].to_pylist()[0] == "007" and table["income"].to_pylist() == [1.5, 2000.0, -999.0, None]


def test_a_parquet_file_goes_in_as_well(run: Run) -> None:
    pa.parquet.write_table(pa.table({"x": [1, 9], "naïve": ["a", "b"]}), "in.parquet")
    run("apply", "rounding", "--columns", "x", "in.parquet", "out.csv", "--as-is")
    assert text("out.csv") == "x,naïve\n0,a\n10,b\n"


def test_lists_are_written_with_commas_and_the_rest_in_toml(run: Run) -> None:
    Path("trade.hrc").write_text("A\n@ü\n@a, b\n", encoding="utf-8")
    run("apply", "global-recoding", "--columns", "age, größe", "--cutpoints", "{ age = [18, 40] }",
        "--hierarchies", '{ "größe" = "trade.hrc" }', "in.csv", "out.csv", "--as-is")  # fmt: skip
    assert [line.split(",")[2:4] for line in text("out.csv").splitlines()[1:]] == [
        ["<18", "A"], ["18-39", "A"], ["40+", "A"], ["40+", ""],
    ]  # fmt: skip


def test_a_threshold_is_a_number_or_a_word(run: Run) -> None:
    order = pa.DictionaryArray.from_arrays([0, 2, 1], ["low", "middle", "high"], ordered=True)
    pa.parquet.write_table(pa.table({"x": order, "y": [1, 5, 9]}), "in.parquet")
    run("apply", "top-bottom-coding", "--top", "middle", "--columns", "x", "in.parquet", "one.csv", "--as-is")
    run("apply", "top-bottom-coding", "--top", "5", "--columns", "y", "in.parquet", "two.csv", "--as-is")
    assert text("one.csv") == "x,y\nlow,1\nmiddle,5\nmiddle,9\n" and text("two.csv").splitlines()[3] == "middle,5"


def test_every_method_has_a_command_that_names_all_its_parameters(run: Run) -> None:
    listed = run("apply", "--help")
    for word, method in METHODS.items():
        assert word in listed
        said = run("apply", word, "--help")
        assert "Example: confide mask apply" in said
        for f in fields(method):
            assert f"--{f.name.replace('_', '-')}" in said


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("apply rounding --columns income in.csv out.csv", "'income' has 'NA'.*--missing NA"),
        ("apply rounding --columns aeg in.csv out.csv", "'aeg'.*'age'"),
        ("apply rounding --columns age --base 0 in.csv out.csv", "base must be more than 0"),
        ("apply rounding --columns age in.csv in.csv", "replace the confidential one"),
        ("apply rounding --columns age in.csv out.xls", "Cannot write 'out.xls'.*csv, .parquet, .arrow"),
        ("apply rounding --columns age in.csv no/out.csv", "'no/out.csv' cannot be written"),
        ("apply rounding --columns age none.csv out.csv", "no file 'none.csv'"),
        ("apply global-recoding --columns age --cutpoints 18 in.csv out.csv", "cutpoints must be a table"),
        (
            "apply global-recoding --columns age --cutpoints {age in.csv out.csv",
            "--cutpoints must be written as in a plan",
        ),
        ("plan.toml in.csv out.csv", "'id' has a value of its own for every record.*--identifiers id;.*--keep id"),
        ("plan.toml in.csv out.csv --identifiers idd", "No column called 'idd'.*'id'"),
        ("plan.toml in.csv out.csv --key k --teaching-seed 1", "not both"),
        ("plan.toml in.csv out.csv --teaching-seed -1", "seed must be a whole number"),
        ("plan.toml in.csv out.csv --key no/k", "The key no/k cannot be written.*--key"),
        ("none.toml in.csv out.csv", "no file 'none.toml'"),
        ("in.csv plan.toml out.csv", "In in.csv: The plan is not valid TOML"),
    ],
)
def test_what_cannot_be_done_says_why(run: Run, words: str, complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        run(*words.split())
    assert not Path("out.csv").exists()


def test_a_column_without_values_is_masked_as_the_numbers_it_might_have_held(run: Run) -> None:
    Path("in.csv").write_text("age,empty\n1,\n1,\n", encoding="utf-8")
    assert "changed 0" in run("apply", "rounding", "--columns", "empty", "in.csv", "out.csv")
    assert text("out.csv") == "age,empty\n1,\n1,\n"


def test_the_command_gives_what_python_gives(run: Run) -> None:
    run("apply", "microaggregation", "--k", "2", "--columns", "age", "in.csv", "out.parquet", "--as-is")
    ages = pa.table({"age": [17, 39, 40, 64]})
    assert pa.parquet.read_table("out.parquet")["age"].equals(
        Microaggregation(k=2).protect(ages, columns="age").frame["age"]
    )
