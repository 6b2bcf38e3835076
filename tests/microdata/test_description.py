"""What is known of columns before a file is read: codes as codes, roles from a description or from a file beside the data."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import Result
from typer.testing import CliRunner

from confide.cli.main import app
from confide.data.writing import write_frame
from confide.errors import Mistake
from confide.microdata import Plan
from confide.microdata.description import FileDescription

Run = Callable[..., Result]

DATASET = """
weight = "w"
[variables.area]
role = "key"
codes = { 1 = "North", 2 = "South", 3 = "East" }
[variables.age]
kind = "numeric"
role = "key"
[variables.income]
kind = "numeric"
role = "confidential"
"""
ROLES = 'categorical = ["area"]\n[roles]\nkey = ["area", "age"]\nconfidential = ["income"]\nweight = ["w"]\n'


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a folder with a survey; a Mistake is raised."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    columns = {
        "area": rng.integers(1, 4, 120),
        "age": rng.integers(18, 90, 120),
        "income": rng.integers(500, 9000, 120),
    }
    survey = pa.table({**columns, "w": np.full(120, 2.5)})
    write_frame(survey, "survey.csv")
    write_frame(survey, "survey.parquet")

    def command(*words: str) -> Result:
        result = CliRunner().invoke(app, words)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return command


def averaged(run: Run, *words: str, file: str = "survey.csv") -> tuple[set[str], str]:
    """The areas after microaggregation by area and age, and what was remarked."""
    done = run("mask", "apply", "microaggregation", "--k", "4", file, "out.csv", *AS_IS, *words)
    areas = {line.split(",")[0] for line in Path("out.csv").read_text().splitlines()[1:]}
    return areas, done.stderr


COLUMNS = ("--columns", "area,age")
AS_IS = ("--as-is", "--replace")


def test_few_whole_numbers_that_would_be_averaged_are_remarked_on(run: Run) -> None:
    _, said = averaged(run, *COLUMNS)
    assert (
        said == "'area' has 3 different whole numbers and is read as a number. If they are codes: --categorical area\n"
    )


@pytest.mark.parametrize("file", ["survey.csv", "survey.parquet"])
def test_codes_are_masked_as_codes_where_that_is_said(run: Run, file: str) -> None:
    areas, said = averaged(run, *COLUMNS, "--categorical", "area", file=file)
    assert areas <= {"1", "2", "3"} and said == ""


def test_all_columns_that_were_masked_are_told_whatever_they_hold(run: Run) -> None:
    done = run(
        "mask", "apply", "microaggregation", *COLUMNS, "--categorical", "area", "survey.csv", "out.csv", "--as-is"
    )
    assert done.stdout.startswith("microaggregation: area, age; groups ")


def test_a_file_beside_the_data_says_what_columns_are(run: Run) -> None:
    Path("survey.roles.toml").write_text(ROLES)
    assert averaged(run, "--role", "key") == averaged(run, *COLUMNS, "--categorical", "area")
    Path("plan.toml").write_text('[[step]]\nmethod = "microaggregation"\nk = 4\nrole = "key"\n')
    run("mask", "plan.toml", "survey.csv", "other.csv", "--as-is")
    assert Path("other.csv").read_text() == Path("out.csv").read_text()


def test_a_data_sets_description_says_it_too(run: Run) -> None:
    Path("dataset.toml").write_text(DATASET)
    assert averaged(run, "--role", "key", "--dataset", "dataset.toml")[1] == ""
    found = FileDescription.read(Path("dataset.toml"))
    assert found == FileDescription({"key": ("area", "age"), "confidential": ("income",), "weight": ("w",)}, ("area",))


def test_measuring_takes_roles_and_codes_from_either(run: Run) -> None:
    averaged(run, *COLUMNS, "--categorical", "area")
    named = ("--keys", "area,age", "--confidential", "income", "--weight", "w")
    plain = run("measure", "survey.csv", "out.csv", *named)
    assert "'area' has 3 different whole numbers" in plain.stderr and "Numbers: area" in plain.stdout
    told = run("measure", "survey.csv", "out.csv", *named, "--categorical", "area")
    assert told.stderr == "" and "Categories: area" in told.stdout
    Path("dataset.toml").write_text(DATASET)
    assert run("measure", "survey.csv", "out.csv", "--dataset", "dataset.toml").stdout == told.stdout
    Path("survey.roles.toml").write_text(ROLES)
    assert run("measure", "survey.csv", "out.csv").stdout == told.stdout
    with pytest.raises(Mistake, match="not both"):
        run("measure", "survey.csv", "out.csv", *named, "--dataset", "dataset.toml")


def test_files_in_another_encoding_are_masked_and_measured(run: Run) -> None:
    text = "größe,town\n" + "".join(f"{i},Köln\n" for i in range(20))
    Path("old.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(Mistake, match="--encoding latin-1"):
        run("mask", "apply", "rounding", "--columns", "größe", "old.csv", "new.csv")
    run("mask", "apply", "rounding", "--columns", "größe", "old.csv", "new.csv", "--encoding", "latin-1", "--as-is")
    assert Path("new.csv").read_text(encoding="utf-8").splitlines()[1] == "0,Köln"
    done = run("measure", "old.csv", "new.csv", "--keys", "größe,town", "--encoding", "latin-1")
    assert "Keys: größe, town" in done.stdout


def test_codes_of_a_text_file_may_have_an_order(run: Run) -> None:
    Path("school.csv").write_text("level,n\n" + "none,1\ntrade,2\n,3\ndegree,4\n" * 3)
    words = ("mask", "apply", "top-bottom-coding", "--columns", "level", "--top", "trade", "--as-is", "school.csv")
    with pytest.raises(Mistake, match="without an order"):
        run(*words, "out.csv")
    Path("school.roles.toml").write_text('ordered = { level = ["none", "trade", "degree"] }')
    run(*words, "out.csv")
    run(*words, "out.parquet")
    assert Path("out.csv").read_text() == "level,n\n" + "none,1\ntrade,2\n,3\ntrade,4\n" * 3
    assert pa.parquet.read_table("out.parquet")["level"].to_pylist()[:4] == ["none", "trade", None, "trade"]
    Path("school.roles.toml").write_text('ordered = { level = ["none", "trade"] }')
    with pytest.raises(Mistake, match="The order of 'level' leaves out 'degree'"):
        run(*words, "more.csv")


def test_a_plan_keeps_which_columns_are_codes() -> None:
    plan = Plan.parse(
        f'ordered = {{ area = ["1", "2", "3"] }}\n{ROLES}\n[[step]]\nmethod = "rounding"\nrole = "confidential"\n'
    )
    assert plan.categorical == ("area",) and plan.ordered == {"area": ("1", "2", "3")}
    assert Plan.parse(plan.text()) == plan


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("role = 1", "Unknown key 'role' in d.toml.*'roles'"),
        ("roles = [", "d.toml is not valid TOML"),
        ('categorical = "area"', "'categorical' must be a list"),
        ('dataset = "x"\ncategorical = ["a"]', "not both"),
        ("ordered = { area = [1, 2] }", "Order of 'area' must be a list of codes, as text"),
        ('dataset = "none.toml"', "none.toml'"),
    ],
)
def test_a_description_that_cannot_be_read_says_why(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "d.toml").write_text(text)
    with pytest.raises(Mistake, match=complaint):
        FileDescription.read(tmp_path / "d.toml")
