"""Protected tables as τ-ARGUS writes them: the pattern is read with the values, and what cannot be judged is a mistake."""

import csv
from pathlib import Path

import pytest

from confide.errors import Mistake
from confide.tables import Status
from confide.tables.files.asc import read_asc
from confide.tables.files.rda import read_rda
from confide.tables.files.safe_table import read_safe_table

DATA = Path(__file__).parents[3] / "shared" / "data" / "tauargus_oracle"

LINES = [
    '"Total","Total",60.50,1',
    '"Total","ä",40.50,1',
    '"Total","b",20,1',
    '"1","Total",25.50,1',
    '"1","ä",20.50,3',
    '"1","b",5,11',
    '"2","Total",35,1',
    '"2","ä",20,11',
    '"2","b",15,11',
]


def written(folder: Path, lines: list[str]) -> Path:
    path = folder / "safe.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_codes_values_and_statuses_are_read(tmp_path):
    table = read_safe_table(written(tmp_path, LINES), by=["size", "region"])
    assert table.variables == ("size", "region") and len(table) == 9
    cell = {table.name(at): at for at in range(9)}
    assert table.value[cell["size=1, region=ä"]] == 20.5
    assert table.status[cell["size=1, region=ä"]] == Status.PRIMARY
    assert table.status[cell["size=2, region=b"]] == Status.SECONDARY
    assert int(table.suppressed.sum()) == 4
    table.check()


def test_a_dash_is_a_cell_that_nobody_is_in(tmp_path):
    lines = ['"Total",5,1', '"a",5,1', '"b",-,14']
    table = read_safe_table(written(tmp_path, lines), by=["u"])
    assert table.value.tolist() == [5, 5, 0] and table.status[2] == Status.EMPTY


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "does not have 2 codes"),
        ([*LINES[:3], '"1","Total",25.50'], "Line 4 of safe.txt does not have 2 codes"),
        ([*LINES[:8], '"2","b",15,spam'], "no status 'spam'"),
        ([*LINES[:8], '"2","b",16,11'], "not add up"),
        ([*LINES[:8], '"2","b",x,11'], "number"),
    ],
    ids=["empty", "a short line", "a strange status", "a wrong value", "no number"],
)
def test_what_is_no_protected_table_is_a_mistake(tmp_path, lines, says):
    with pytest.raises(Mistake, match=says):
        read_safe_table(written(tmp_path, lines), by=["size", "region"])


def test_suppressed_cells_without_their_values_cannot_be_judged(tmp_path):
    with pytest.raises(Mistake):
        read_safe_table(written(tmp_path, [*LINES[:4], '"1","ä",,3', *LINES[5:]]), by=["size", "region"])


@pytest.mark.reference
def test_an_answer_of_tau_argus_is_read_with_its_hierarchy():
    """Scenario Simple2D: size by region, with regions in parts of the country as digits of their codes."""
    rda = read_rda(DATA / "Tau_TestW.rda")
    records = read_asc(DATA / "tau_testW.asc.gz", rda=rda)
    hierarchies = {name: rda.hierarchy(name, records[name].unique().to_pylist()) for name in ("Size", "Region")}
    table = read_safe_table(DATA / "Simple2D.txt", by=["Size", "Region"], hierarchies=hierarchies)
    with open(DATA / "Simple2D.txt", newline="") as file:
        statuses = [row[3] for row in csv.reader(file)]
    assert len(table) == len(statuses)
    assert (table.status == Status.PRIMARY).sum() == statuses.count("3") > 0
    assert (table.status == Status.SECONDARY).sum() == statuses.count("11") > 0
