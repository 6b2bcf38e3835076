"""Attacks on files from the command line."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from confide.cli.attack_files import attack_file_command, read_bytes
from confide.errors import Mistake
from confide.microdata import RankSwapping

app = typer.Typer()
app.command()(attack_file_command)


@pytest.fixture
def files(firms_of, tmp_path):
    """A file, and what became of it by rank swapping with a seed that can be guessed."""
    original = firms_of(200, 4)
    released = RankSwapping(p=10).protect(original, columns=list(original), teaching_seed=7).frame
    original.to_csv(tmp_path / "firms.csv", index=False)
    released.to_csv(tmp_path / "public.csv", index=False)
    return [str(tmp_path / "firms.csv"), "--released", str(tmp_path / "public.csv"), "--keys", "v0,v1,v2"]


def run(*words: str):
    return CliRunner().invoke(app, list(words))


def test_attacks_are_shown_as_a_table_with_what_they_do(files):
    done = run(*files, "--confidential", "v3", "--method", "rank-swapping:p=10")
    assert done.exit_code == 0, done.output
    assert "rank-windows" in done.stdout and "The seed is 7." in done.stdout
    assert "pram-posteriors: not tried. Against PRAM only." in done.stdout


def test_json_and_a_limit_for_continuous_integration(files, tmp_path):
    words = [
        *files,
        "--method",
        "rank-swapping:p=10",
        "--only",
        "rank-windows",
        "--json",
        str(tmp_path / "out.json"),
    ]
    assert run(*words, "--fail-above", "0.05").exit_code == 4
    [found] = json.loads((tmp_path / "out.json").read_text())
    assert found["attack"] == "rank-windows" and found["success"] - found["guess"] > 0.05  # the limit, as it says
    assert run(*words, "--fail-above", "1").exit_code == 0


@pytest.mark.parametrize("method", ["rank-swapping:p=10,15", "rank-swaping"])
def test_a_method_that_is_none_is_a_mistake(files, method):
    assert isinstance(run(*files, "--method", method).exception, Mistake)


def test_a_file_that_is_no_parquet_is_a_mistake(tmp_path):
    (tmp_path / "broken.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(Mistake, match="cannot be read as Parquet"):
        read_bytes(tmp_path / "broken.parquet")
    pq.write_table(pa.table({"x": ["a", "b"]}), tmp_path / "plain.parquet")
    assert pa.types.is_dictionary(read_bytes(tmp_path / "plain.parquet").schema.field("x").type)
