"""Files that are no microdata, or hardly: what `confide init`, `add`, `ingest` and `check` say, and that nothing is half-made."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

import confide
from confide.cli.main import app
from confide.errors import Mistake

PLAIN = "id,sex,work\n" + "".join(f"{n},{'fm'[n % 2]},{'abc'[n % 3]}\n" for n in range(200))


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def said(done: Result) -> str:
    return f"{done.output} {done.exception or ''}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty. Its first line must name the columns"),
        ("a,b\n", "have no records"),
        ("a,b\n" + ",\n" * 50, "no values: every column is empty"),
        ("a,b\n" + "NA,.\n" * 50, "no values: every column is empty"),
        ("id,note\n" + "".join(f"{n},{n}-{n * 7} words\n" for n in range(300)), "nothing but identifiers"),
        (",".join(f"c{n}" for n in range(10_000)) + "\n" + ",".join("1" * 10_000) + "\n", "at most 500"),
        ("a,a\n1,2\n", "appears twice"),
        ("a,\n1,2\n", "has no name"),
    ],
)
@pytest.mark.parametrize("added", [False, True])
def test_a_file_of_which_no_site_can_be_made_leaves_nothing_behind(
    tmp_path: Path, text: str, words: str, added: bool
) -> None:
    site = tmp_path / "site"
    if added:
        (tmp_path / "first.csv").write_text(PLAIN)
        assert run("init", tmp_path / "first.csv", "-o", site, "--name", "first").exit_code == 0
    before = sorted(site.rglob("*"))
    (tmp_path / "bad.csv").write_text(text)
    done = run("init", tmp_path / "bad.csv", "-o", site, "--name", "bad")
    assert done.exit_code != 0 and words in said(done)
    assert sorted(site.rglob("*")) == before and site.exists() == added


def test_a_column_without_values_is_left_out_and_one_category_is_said_to_be_constant(tmp_path: Path) -> None:
    rows = "".join(f"{'fm'[n % 2]},,NA,x\n" for n in range(200))
    (tmp_path / "d.csv").write_text("sex,nothing,unknown,country\n" + rows)
    done = run("init", tmp_path / "d.csv", "-o", tmp_path / "site", "--name", "d")
    assert done.exit_code == 0 and "Empty: nothing, unknown." in done.output
    assert "Constant: leave it out, or list the other codes: country." in done.output
    with confide.open(tmp_path / "site") as site:
        assert site["d"].variables == ["sex", "country"]
        assert site["d"].table(rows="country").to_arrow()["country"].to_pylist() == ["x", "_T"]
    checked = run("check", tmp_path / "site")
    assert checked.exit_code == 0


def test_one_category_in_one_column_makes_a_site_that_says_little(tmp_path: Path) -> None:
    confide.add(pa.table({"a": ["x"] * 100}), tmp_path / "site", name="d")
    assert run("check", tmp_path / "site").exit_code == 0
    with confide.open(tmp_path / "site") as site, pytest.raises(Mistake):
        site["d"].correlation(["a", "a"])


def test_a_codebook_of_other_data_makes_no_site(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(PLAIN)
    (tmp_path / "c.csv").write_text("variable,label\nfarm,Farm\n")
    done = run("init", tmp_path / "d.csv", "-o", tmp_path / "site", "--dictionary", tmp_path / "c.csv")
    assert done.exit_code != 0 and "describes other data" in said(done) and not (tmp_path / "site").exists()


DESIGNED = "id,sex,stratum,psu,w\n" + "".join(
    f"{n},{'fm'[n % 2]},{n // 50},{n // 50 if n < 50 else n // 10},{1 + n % 3}\n" for n in range(400)
)


@pytest.fixture
def designed(tmp_path: Path) -> Path:
    """A survey whose first stratum has one sampling unit; its site, as drafted."""
    (tmp_path / "d.csv").write_text(DESIGNED)
    done = run("init", tmp_path / "d.csv", "-o", tmp_path / "site", "--name", "d")
    assert done.exit_code == 0 and "Sample design, never shown: stratum, psu." in done.output
    return tmp_path


def declare_design(folder: Path, *lines: str) -> None:
    """Take the # away before the drafted design, as a custodian would, and add to it."""
    file = folder / "site" / "d" / "dataset.toml"
    text = re.sub(r"(?m)^# \[sampling\].*$", "\n".join(["[sampling]", *lines]), file.read_text())
    file.write_text(re.sub(r"(?m)^# (strata|psu) =", r"\1 =", text))


def test_a_stratum_of_one_sampling_unit_is_refused_and_the_data_stay(designed: Path) -> None:
    declare_design(designed)
    vintages = sorted((designed / "site" / "d" / "vintages").iterdir())
    done = run("ingest", designed / "d.csv", designed / "site", "d")
    assert done.exit_code != 0 and "Some strata of 'stratum' have one sampling unit only" in said(done)
    assert "no variation: 0. " in said(done) and 'single = "centre"' in said(done)
    assert sorted((designed / "site" / "d" / "vintages").iterdir()) == vintages


def test_a_stratum_of_one_may_be_compared_with_all(designed: Path) -> None:
    declare_design(designed, 'single = "centre"')
    assert run("ingest", designed / "d.csv", designed / "site", "d").exit_code == 0
    with confide.open(designed / "site") as site:
        errors = site["d"].table(rows="sex", measure="weighted_count", error="se").to_arrow()["weighted_count_se"]
    assert all(error > 0 for error in errors.to_pylist()[:2])
