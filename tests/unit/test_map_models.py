"""The risk-utility map of a site: what it maps, what it chooses, and that a written choice is a rule."""

import json
import shutil
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import confide
from confide import demo
from confide.answering import service as answering
from confide.answering.frontier.frontier import ReleaseChoice
from confide.answering.service import FrontierQuestion, Mapped, read_weights, write_choice
from confide.cli.main import app
from confide.errors import Mistake, Refused
from confide.model.policy import read_policy
from confide.spelling.where import read_where

FEW = ["age", "sex", "education", "employment"]
CHOICE = ReleaseChoice("income", ("sex", "education"), ("age", "region"), 0.2, 0.4, 0.2, 0.0)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return demo.people(5_000)


@pytest.fixture(scope="module")
def made(people: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that answers from the true records, so that the figures can be had from the file."""
    folder = tmp_path_factory.mktemp("map") / "site"
    text = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    confide.add(people, folder, name="people", catalog=text, preset="drop-q")
    return folder


@pytest.fixture
def site(made: Path, tmp_path: Path) -> Path:
    """A copy of the site, to write into."""
    return Path(shutil.copytree(made, tmp_path / "site"))


def r_squared(table: pa.Table, numbers: list[str], classes: list[str]) -> float:
    """Weighted least squares on the records themselves."""
    root = np.sqrt(table["weight"].to_numpy().astype(float))
    columns = [np.ones(len(root)), *(table[name].to_numpy().astype(float) for name in numbers)]
    for name in classes:
        values = np.array(table[name].to_pylist())
        columns += [(values == code).astype(float) for code in np.unique(values)[1:]]
    x, y = np.stack(columns, axis=1) * root[:, None], table["income"].to_numpy().astype(float) * root
    left = y - x @ np.linalg.lstsq(x, y)[0]
    middle = y - root * (root @ y) / (root @ root)
    return float(1 - left @ left / (middle @ middle))


def frontier(
    site: Path, dataset: str, *, threshold: float | None = None, slope: float | None = None, **wanted: Any
) -> Mapped:
    if wanted.get("variables") is not None:
        wanted["variables"] = tuple(wanted["variables"])
    return answering.frontier(site, dataset, FrontierQuestion(**wanted), threshold=threshold, slope=slope)


def test_every_split_is_mapped_and_its_r_squared_is_that_of_the_records(made: Path, people: pa.Table) -> None:
    found = frontier(made, "people", sensitive="income", variables=FEW).map
    assert found.free.shape == (2**4, 4)
    whole = found.released[found.free.all(axis=1)][0]
    assert whole == pytest.approx(r_squared(people, ["age"], ["sex", "education", "employment"]), abs=1e-9)
    only = found.free[:, found.others.index("education")] & (found.volume == 1)
    assert found.released[only][0] == pytest.approx(r_squared(people, [], ["education"]), abs=1e-9)


def test_by_default_one_level_of_each_variable_is_mapped_and_the_rest_is_named(made: Path) -> None:
    mapped = frontier(made, "people", sensitive="income")
    expected = {
        "region",
        "age",
        "sex",
        "marital",
        "children",
        "education",
        "occupation_major",
        "hours",
        "wages",
        "taxes",
    }
    assert set(mapped.map.others) == expected
    assert len(mapped.map.risk) == 2 ** len(expected)
    # employment is constant where hours are given; the other two have more than 12 classes
    assert mapped.left_out == ("country_of_birth", "employment", "industry")
    assert "industry" in mapped.text and mapped.release is None


def test_a_threshold_and_a_slope_choose(made: Path) -> None:
    chosen = frontier(made, "people", sensitive="income", variables=FEW, threshold=0.25).release
    assert chosen is not None and chosen.risk <= 0.25 and chosen.gap == 0
    mapped = frontier(made, "people", sensitive="income", variables=FEW, threshold=0.25)
    assert chosen.utility == mapped.map.utility[mapped.map.risk <= 0.25].max()
    everything = frontier(made, "people", sensitive="income", variables=FEW, slope=100).release
    nothing = frontier(made, "people", sensitive="income", variables=FEW, slope=0).release
    assert everything is not None and everything.suppressed == ()
    assert nothing is not None and nothing.free == ()


def test_the_chart_draws_a_thinned_cloud_the_frontier_and_the_choice(made: Path) -> None:
    names = [*FEW, "marital", "children", "region", "country_of_birth", "wages", "taxes", "hours", "occupation_major"]
    mapped = frontier(made, "people", sensitive="income", variables=names, threshold=0.3)
    cloud, line, choice = (layer["data"]["values"] for layer in mapped.chart["layer"])
    assert len(mapped.map.risk) == 2**11 and len(cloud) == 2000
    assert len(line) == len(mapped.rows) and {"utility", "risk", "free"} <= set(line[0])
    assert mapped.release is not None and choice[0]["risk"] == mapped.release.risk
    json.dumps(mapped.chart, allow_nan=False)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sensitive": "incom"}, "Did you mean 'income'"),
        ({"sensitive": "sex"}, "is not a number"),
        ({"sensitive": "age_group"}, "Did you mean 'age'"),
        ({"variables": ["agee"]}, "Did you mean 'age'"),
        ({"variables": ["person_id"]}, "No variable called 'person_id'"),
        ({"variables": ["age", "age_group"]}, "suppressed together"),
        ({"variables": ["region", "county"]}, "suppressed together"),
        ({"variables": ["income"]}, "sensitive variable itself"),
        ({"variables": []}, "no variable besides"),
        ({"variables": ["occupation_major", "industry"]}, "determine"),
        ({"risk": "relesed"}, "Did you mean 'released'"),
        ({"risk": "residual"}, "target"),
        ({"target": read_where("sex=female")}, "target"),
        ({"risk": "residual", "target": read_where("sex=femal")}, "Did you mean 'female'"),
        ({"weights": {"agee": 0.1}}, "Did you mean 'age'"),
        ({"weights": {"county": 0.1}}, "is not mapped"),
        ({"weights": {"age": float("nan")}}, "finite"),
        ({"utility": "x"}, "Choose from rsq"),
        ({"threshold": 0.1, "slope": 1.0}, "Give one of them"),
        ({"threshold": -1.0}, "so little risk"),
    ],
)
def test_what_does_not_fit_is_said(made: Path, given: dict[str, object], words: str) -> None:
    with pytest.raises(Mistake, match=words):
        frontier(made, "people", **{"sensitive": "income", "variables": ["age", "sex"], **given})


def test_a_target_is_predicted_as_closely_as_its_residuals_say(made: Path, people: pa.Table) -> None:
    found = frontier(
        made, "people", sensitive="income", variables=["age"], risk="residual", target=read_where("sex=female")
    ).map
    weight, age, income = (people[name].to_numpy().astype(float) for name in ("weight", "age", "income"))
    x = np.stack([np.ones(len(age)), age], axis=1) * np.sqrt(weight)[:, None]
    residual = income - x @ np.linalg.lstsq(x, income * np.sqrt(weight))[0] / np.sqrt(weight)
    women = np.array(people["sex"].to_pylist()) == "female"
    variance = np.average((income - np.average(income, weights=weight)) ** 2, weights=weight)
    mean_square = (weight * residual**2)[women].sum() / weight[women].sum() / variance
    assert found.risk[found.free[:, 0]][0] == pytest.approx(mean_square**-0.5, rel=1e-6)


def test_weights_say_what_freeing_is_worth(made: Path) -> None:
    plain = frontier(made, "people", sensitive="income", variables=["age", "sex"], utility="rsq").map
    found = frontier(made, "people", sensitive="income", variables=["age", "sex"], weights={"sex": 3.0}).map
    worth = 3.0 * found.free[:, found.others.index("sex")]
    assert np.allclose(found.utility, plain.utility + worth) and read_weights("") is None
    for text in ("age", "age=", "age=much", "=="):
        with pytest.raises(Mistake, match="Cannot read the weight"):
            read_weights(text)


def test_the_choice_comes_with_bounds_that_hold_the_true_correlations(made: Path) -> None:
    mapped = frontier(made, "people", sensitive="income", variables=FEW, threshold=0.1)
    assert mapped.release is not None and mapped.release.suppressed and mapped.bounds
    scale = np.sqrt(np.diag(mapped.setting.cross))
    true = mapped.setting.cross[0] / scale / scale[0]
    for name, low, high in mapped.bounds:
        assert -1 <= low < true[mapped.columns.index(name)] < high <= 1, name
        assert f"{name} {low:.2f} to {high:.2f}" in mapped.text
    assert not mapped.choose(slope=100.0).bounds


def test_a_data_set_that_is_not_there_is_said(made: Path) -> None:
    with pytest.raises(Mistake, match="Did you mean 'people'"):
        frontier(made, "peple", sensitive="income")


@pytest.mark.parametrize(
    ("formula", "where"),
    [
        ("income ~ age", None),
        ("income ~ sex + age", None),
        ("income ~ log(age)", None),
        ("log(income) ~ age^2 + age", None),
        ("hours ~ income + age", None),
        ("income ~ age_group", None),
        ("income ~ county", None),
        ("income ~ sex", {"age_group": ["30-39", "40-49"]}),
        ("income ~ sex", {"county": ["C1"]}),
        ("hours ~ age", {"income": ["20000-29999"]}),
    ],
)
def test_a_written_choice_is_a_rule(site: Path, formula: str, where: object) -> None:
    write_choice(site, CHOICE, dataset="people")
    with confide.open(site) as opened, pytest.raises(Refused) as raised:
        opened["people"].regression(formula, where=where)
    assert "models.suppressed" in [reason.rule for reason in raised.value.reasons]


def test_what_was_freed_is_not_refused_for_being_suppressed(site: Path) -> None:
    write_choice(site, CHOICE, dataset="people")
    with confide.open(site) as opened:
        opened["people"].regression("income ~ sex + education")
        opened["people"].regression("hours ~ age + sex")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "preset = 'standard'\nname = 'mine'",
        "# mine\r\nversion = 7 # seven\r\n[drop]\r\nk = 4\r\n",
        "version = 2\n\n[models]\n# why\nsuppressed = ['sex']\nunits = 60\n\n[output]\ndigits = 3\n",
        "[output]\ndigits = 3\n[ models ]\nunits = 60\n".replace("[ models ]", "  [models]  # ours"),
    ],
)
def test_only_the_choice_and_the_version_are_edited(site: Path, text: str) -> None:
    (site / "policy.toml").write_bytes(text.encode())
    before = read_policy(text)
    after = write_choice(site, CHOICE, dataset="people")
    written = (site / "policy.toml").read_bytes().decode()
    models = replace(before.models, sensitive="income", suppressed=("age", "region"))
    assert read_policy(written) == after == replace(before, version=before.version + 1, models=models)
    kept = [line for line in text.split("\n") if line and not line.startswith(("version", "suppressed"))]
    assert [line for line in written.split("\n") if line.rstrip("\r") in {k.rstrip("\r") for k in kept}] == [
        line + ("\r" if "\r\n" in text and not line.endswith("\r") else "") for line in kept
    ]
    assert ("\r\n" in text) == ("\r\n" in written)
    assert not list(site.glob("*.partial"))


@pytest.mark.parametrize(
    "text", ["models.units = 60\n", "models = {units = 60}\n", "[models]\nsuppressed = [\n 'sex',\n]\n"]
)
def test_a_policy_of_another_layout_is_left_alone(site: Path, text: str) -> None:
    (site / "policy.toml").write_text(text)
    with pytest.raises(Mistake, match='suppressed = \\["age", "region"\\]'):
        write_choice(site, CHOICE, dataset="people")
    assert (site / "policy.toml").read_text() == text


def test_the_command_prints_writes_and_draws(site: Path, tmp_path: Path) -> None:
    words = ["frontier", str(site), "people", "--sensitive", "income", "--variables", ",".join(FEW)]
    chart = tmp_path / "map.json"
    done = CliRunner().invoke(app, [*words, "--threshold", "0.25", "--write", "-o", str(chart)])
    assert done.exit_code == 0, done.output
    assert "of 16 releases" in done.stdout and "Choice: free" in done.stdout and "version 2" in done.stdout
    assert json.loads(chart.read_text())["layer"]
    rules = read_policy((site / "policy.toml").read_text()).models
    assert rules.sensitive == "income" and set(rules.suppressed) < set(FEW)
    again = CliRunner().invoke(app, [w.replace("income", "wages") for w in words] + ["--slope", "0.5", "--write"])
    assert "replaces the choice for 'income'" in again.stdout and "version 3" in again.stdout


def test_there_must_be_a_choice_to_write(site: Path) -> None:
    before = (site / "policy.toml").read_bytes()
    words = ["frontier", str(site), "people", "--sensitive", "income", "--write"]
    assert isinstance(CliRunner().invoke(app, words).exception, Mistake)
    assert (site / "policy.toml").read_bytes() == before


def test_beyond_twenty_variables_the_gap_is_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    numbers = {f"x{i}": rng.integers(0, 100, 800) for i in range(22)}
    table = pa.table({**numbers, "y": sum(numbers.values()) + rng.integers(0, 100, 800)})
    catalog = "title = 'Many'\n" + "".join(f"[variables.{name}]\nkind = 'numeric'\n" for name in table.column_names)
    confide.add(table, tmp_path / "site", name="many", catalog=catalog)
    few = frontier(tmp_path / "site", "many", sensitive="y", variables=["x0", "x1"])
    assert len(few.left_out) == 20
    mapped = frontier(tmp_path / "site", "many", sensitive="y", variables=list(numbers), threshold=0.3)
    assert mapped.map.ceiling is not None and mapped.release is not None
    assert f"at most {mapped.release.gap:.4f}" in mapped.text
