"""Peers' tables in excerpts that may be shipped: their primaries, their instance format, our methods on them."""

import csv
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest

from confide import tables
from confide.errors import Mistake
from confide.tables import Dominance, Table, read_jj, write_jj

FIXTURES = Path(__file__).parents[1] / "fixtures"
PIZZAS = {
    "by": ["treff", "cj", "type_distrib"],
    "value": "pizzas_tot",
    "frequency": "nb_obs_rnd",
    "top": ["pizzas_max"],
}


@pytest.mark.parametrize(("branch", "primaries"), [("kz", 18), ("az", 9)])
def test_the_primaries_of_rtauargus_are_those_of_its_dominance_rule(branch: str, primaries: int) -> None:
    """The package marks what its largest contributor has 85 percent of; one cell of AZ is negative and means something else."""
    file = FIXTURES / f"rtauargus_pizzas_{branch}.csv"
    theirs = Table.from_cells(file, **PIZZAS, status="is_secret_dom")
    ours = Table.from_cells(file, **PIZZAS, absolute="pizzas_tot_abs").flag(Dominance(1, 85))
    plain = ours.value >= 0
    assert (~plain).sum() == (branch == "az") and theirs.primary.sum() == primaries
    assert ours.primary[plain].tolist() == theirs.primary[plain].tolist()


def test_a_negative_cell_without_its_absolute_value_is_a_mistake() -> None:
    with pytest.raises(Mistake, match="the negative cell"):
        Table.from_cells(FIXTURES / "rtauargus_pizzas_az.csv", **PIZZAS).flag(Dominance(1, 85))


@pytest.fixture(scope="module")
def services() -> Table:
    return read_jj(FIXTURES / "rtauargus_services.jj")


def test_a_jj_instance_is_the_table_it_was_made_of(services: Table, tmp_path: Path) -> None:
    """Levels are written to six decimals."""
    with open(FIXTURES / "rtauargus_services_cells.csv", encoding="utf-8", newline="") as file:
        listed = list(csv.DictReader(file))
    assert [row["status"] == "u" for row in listed] == services.primary.tolist()
    assert [float(row["upl"]) for row in listed] == pytest.approx(services.upper_protection.tolist(), abs=1e-5)
    write_jj(services, tmp_path / "again.jj")
    again = read_jj(tmp_path / "again.jj")
    for column in ("value", "cost", "status", "lower_bound", "upper_bound", "lower_protection", "sliding_protection"):
        assert getattr(again, column).tolist() == getattr(services, column).tolist()


def test_the_instance_is_suppressed_and_adjusted(services: Table) -> None:
    """Ten primaries of 61 cells. Adjusted, every primary is at least its protection level away."""
    tables.suppress(services, time_limit=None).table.check()
    moved = tables.adjust(services, time_limit=None, teaching_seed=1)
    moved.table.check()
    apart = np.abs(moved.deviations[services.primary])
    levels = np.minimum(services.lower_protection, services.upper_protection)[services.primary]
    assert moved.finished and (apart >= levels * (1 - 1e-9)).all()  # rounding of the solver


def test_small_counts_are_rounded_with_a_small_largest_difference() -> None:
    """The peer (SmallCountRounding) has a largest difference of 4 on the whole file; an excerpt is sparser, not harder."""
    frame = pyarrow.csv.read_csv(FIXTURES / "bench_table3d.csv")
    rounded = tables.round(
        Table.from_microdata(frame, by=["county", "ind", "siz"], hierarchies={"ind": ["sector"]}),
        method="small",
        teaching_seed=1,
    )
    rounded.table.check()
    assert rounded.largest <= 4
