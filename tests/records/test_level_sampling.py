"""The design of a sample of households: errors at their level are those of the textbook, whatever engine adds up."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import confide
from confide.answering.tables.sampling import SampledSums, variances_of
from confide.engines import CLUSTER, Coded, Engine
from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset
from confide.model.catalog.level import read_level
from confide.model.catalog.toml import read_dataset
from confide.model.evidence import Tally
from confide.model.policy import Policy
from confide.records.ingest import protect_again
from confide.records.levels.protecting import ProtectedLevel, protect_levels
from confide.site.coding.encode import encode
from confide.site.secret import Secret

PEOPLE = """
unit = "id"
household = "home"
weight = "w"
weight_decimals = 0
[variables.area]
role = "key"
codes = { n = "North", s = "South" }
[variables.sex]
role = "key"
codes = { f = "Female", m = "Male" }
[variables.pay]
kind = "numeric"
role = "confidential"
minimum = 0
"""

LEVEL = """
weight = "hw"
weight_decimals = 0
DESIGN
[variables.area]
[variables.people]
take = "size"
cutpoints = [2, 3, 4]
[variables.all_pay]
take = "sum"
from = "pay"
"""

TAYLOR = '[sampling]\nstrata = "stratum"\npsu = "psu"\npopulation = "size"'
JACKKNIFE = f'[sampling]\nreplicates = {[f"rep{r}" for r in range(8)]}\nmethod = "jackknife"'.replace("'", '"')


def living(homes: int = 900) -> pd.DataFrame:
    """People in homes of one to five, drawn in villages (numbered anew in each stratum) with all of their home."""
    rng = np.random.default_rng(5)
    home = np.repeat(np.arange(homes), rng.integers(1, 6, homes))
    stratum, weight = rng.integers(0, 3, homes), rng.integers(1, 9, homes)
    group = rng.integers(0, 8, homes)
    people = len(home)
    return pd.DataFrame(
        {
            "id": np.arange(people),
            "home": [f"h{n}" for n in home],
            "w": rng.integers(1, 9, people),
            "hw": weight[home],
            "area": rng.choice(["n", "s"], homes)[home],
            "stratum": stratum[home],
            "psu": rng.integers(0, 60 + stratum)[home],
            "size": np.array([200, 300, 400])[stratum][home],
            "sex": rng.choice(["f", "m"], people),
            "pay": rng.integers(0, 60_000, people),
            **{f"rep{r}": np.where(group == r, 0.0, weight * 8 / 7)[home] for r in range(8)},
        }
    )


def book(design: str = TAYLOR) -> Dataset:
    people = read_dataset(PEOPLE, name="people", read_file=str)
    return read_level(LEVEL.replace("DESIGN", design), people, name="people.homes", read_file=str)[1]


def levels(frame: pd.DataFrame, design: str = TAYLOR, policy: Policy | None = None) -> list[ProtectedLevel]:
    dataset, secret = book(design), Secret(b"s" * 32)
    coded = encode(dataset, pa.Table.from_pandas(frame, preserve_index=False), secret=secret)
    return protect_levels(coded, dataset, policy or Policy(), secret)


def plain_variance(z: Any, homes: pd.DataFrame) -> float:
    """The textbook's sum over strata of (1 - f) n / (n - 1) sum (z - mean)^2, z summed by sampling unit."""
    found = 0.0
    for _, here in homes.assign(z=z).groupby("stratum"):
        totals = here.groupby("psu")["z"].sum()
        n = len(totals)
        found += (1 - n / here["size"].iloc[0]) * n / (n - 1) * float(((totals - totals.mean()) ** 2).sum())
    return found


def test_every_engine_has_the_errors_of_the_textbook(engine_of: Callable[[Coded], Engine]) -> None:
    frame = living()
    _, level = levels(frame)
    homes = frame.groupby("home").agg(
        {"hw": "first", "area": "first", "stratum": "first", "psu": "first", "size": "first"}
    )
    pay = frame.groupby("home")["pay"].sum()
    coded = level.records
    cells = engine_of(coded).tally(Tally(("area", CLUSTER), of="all_pay", weighted=True))
    variances = variances_of(coded.facts.sampling)
    sums = SampledSums.of(cells, [3], variances.clusters, weight=0, total=coded.facts.decimals["all_pay"])
    for place, area in enumerate("ns"):
        here = (homes["area"] == area) * homes["hw"]
        assert variances.sums(sums.weight)[place] == pytest.approx(plain_variance(here, homes))
        assert variances.sums(sums.total)[place] == pytest.approx(plain_variance(here * pay, homes))
    assert variances.sums(sums.weight)[2] == pytest.approx(plain_variance(homes["hw"], homes))


def test_replicate_weights_of_households_give_the_spread_of_what_they_estimate() -> None:
    frame = living()
    homes = frame.drop_duplicates("home")
    coded = levels(frame, JACKKNIFE)[1].records
    variances = variances_of(coded.facts.sampling)
    weight = np.bincount(coded.places(CLUSTER), coded.weights, minlength=variances.clusters)
    deviations = [homes[f"rep{r}"].sum() - homes["hw"].sum() for r in range(8)]
    assert variances.covariance(weight[:, None])[0, 0] == pytest.approx(7 / 8 * np.square(deviations).sum(), rel=1e-3)


def test_without_sampling_units_each_household_was_drawn_by_itself() -> None:
    people, level = levels(living(), "[sampling]")
    assert len(set(level.records.places(CLUSTER))) == level.records.records.num_rows == 900
    assert CLUSTER not in people.records.facts.classes, "people have no design of their own"


@pytest.mark.parametrize(
    ("design", "change", "message"),
    [
        (
            TAYLOR,
            lambda f: f.assign(psu=f["id"] % 7),
            "'psu', which .sampling. of 'people.homes' names, differs within",
        ),
        (
            TAYLOR,
            lambda f: f.assign(stratum=f["id"] % 3),
            "'stratum', which .sampling. of 'people.homes' names, differs",
        ),
        (TAYLOR, lambda f: f.drop(columns="psu"), "names the column 'psu'; the data have none"),
        (TAYLOR, lambda f: f.assign(stratum=f["home"]), "have one sampling unit only"),
        ("[sampling]\nstrat = 'x'", lambda f: f, "Unknown key 'strat' in .sampling. of dataset.toml of 'people.homes'"),
        (
            JACKKNIFE,
            lambda f: f.assign(rep3=f["id"]),
            "'rep3', which .sampling. of 'people.homes' names, differs within",
        ),
    ],
)
def test_a_design_that_households_do_not_fit_is_a_mistake(design: str, change: Any, message: str) -> None:
    with pytest.raises(Mistake, match=message):
        levels(change(living(60)), design)


@pytest.fixture(scope="module", params=["duckdb", "columns"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("design") / "site"
    frame = living()
    confide.add(frame, made, name="people", catalog=f'engine = "{request.param}"\n{PEOPLE}')
    (made / "people" / "homes").mkdir()
    (made / "people" / "homes" / "dataset.toml").write_text(LEVEL.replace("DESIGN", TAYLOR))
    confide.ingest(frame, made, name="people")
    return made


def test_tables_and_models_of_households_have_errors_by_the_design(site: Path) -> None:
    frame = living()
    homes = frame.drop_duplicates("home")
    for _ in range(2):
        with confide.open(site) as opened:
            asked = opened["people.homes"]
            table = asked.table(rows="area", measure="weighted_count", error=["se", "cv", "reliability"]).to_pandas()
            model = asked.regression("all_pay ~ people", errors="design").coefficients.to_pandas()
            with pytest.raises(Mistake, match="not declared"):
                opened["people"].table(rows="area", measure="weighted_count", error="se")
        error = plain_variance(homes["hw"] * (homes["area"] == "n"), homes) ** 0.5
        assert table["weighted_count_se"][0] == pytest.approx(error, rel=0.25), "but for the noise of protection"
        assert (model["standard_error"] > 0).all() and len(model) == 2
        protect_again(site, name="people")  # from the true records that were kept


def test_a_change_of_the_design_asks_for_loading_people_anew(site: Path) -> None:
    file = site / "people" / "homes" / "dataset.toml"
    before = file.read_text()
    file.write_text(before.replace('population = "size"', ""))
    try:
        with pytest.raises(Mistake, match="ingest"), confide.open(site):
            pass
    finally:
        file.write_text(before)
