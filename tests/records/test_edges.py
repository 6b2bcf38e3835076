"""Protection at its edges: few people, odd codes, nothing to protect. Never an error, and nothing invented."""

import numpy as np
import pyarrow as pa
import pytest

from confide.errors import Mistake
from confide.model.policy import PRESETS
from confide.records.report import RecordsReport
from protecting import CATALOG, Protection, people, records_policy

HARSH = records_policy(
    mean_cell=0.0, keys=6, alone=20, background=0.5, partners=2, noise=1.0, noise_exposed=1.0, dominance=0.0
)


def alike(size: int) -> pa.Table:
    return people(1, seed=1).take(pa.array([0] * size)).set_column(0, "id", pa.array([str(i) for i in range(size)]))


def without_numbers(table: pa.Table) -> pa.Table:
    nothing = pa.array([None] * table.num_rows, pa.float64())
    zeros = pa.array(np.zeros(table.num_rows))
    table = table.set_column(table.column_names.index("income"), "income", nothing)
    return table.set_column(table.column_names.index("tax"), "tax", zeros)


TABLES = {
    "one": people(1, seed=1),
    "two": people(2, seed=1),
    "eleven": people(11, seed=1),
    "all alike": alike(50),
    "no numbers": without_numbers(people(200, seed=1)),
    "one person many times": people(1, seed=1).take(pa.array([0] * 30)),
    "some hundred": people(300, seed=1),
}
PLAIN = CATALOG.replace('role = "confidential"\n', "")
CATALOGS = {
    "as declared": CATALOG,
    "no keys": CATALOG.replace('role = "key"\n', ""),
    "nothing confidential": PLAIN,
    "neither": PLAIN.replace('role = "key"\n', ""),
}


@pytest.mark.parametrize("policy", [PRESETS["standard"], HARSH], ids=["standard", "harsh"])
@pytest.mark.parametrize("catalog", CATALOGS.values(), ids=CATALOGS)
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_kind_of_file_is_protected_without_losing_a_record(table: pa.Table, catalog: str, policy: object) -> None:
    done = Protection(table, catalog, policy)  # type: ignore[arg-type]
    true, shown = done.true, done.protected
    assert shown.records.num_rows == true.records.num_rows
    assert shown.records["unit"].equals(true.records["unit"]) and shown.records["key"].equals(true.records["key"])
    for column in true.records.column_names:
        assert shown.records[column].null_count == true.records[column].null_count
    for name, column in true.facts.classes.items():
        assert shown.records.schema.field(column) == true.records.schema.field(column)
        assert set(shown.places(name)) <= set(true.places(name)) or done.dataset.variables[name].numeric
    assert shown.facts.records == done.policy.records_mark and shown.facts.classes == true.facts.classes
    assert RecordsReport.read(done.report.write()) == done.report and done.report.lines()


def test_who_is_alike_in_all_keys_has_nothing_to_exchange() -> None:
    done = Protection(alike(50), policy=records_policy(background=0.5))
    assert not done.exposure.exposed.any() and done.report.touched_at_all == 0


def test_a_file_too_small_for_partners_is_left_as_it_is() -> None:
    """Nine people and ten partners to draw from: nobody finds one."""
    done = Protection(people(9, seed=1), policy=records_policy(mean_cell=0.0, background=0.5))
    assert sum(done.report.sought.values()) > 0 and done.report.touched_at_all == 0


def test_codes_in_any_script_and_of_any_length_are_exchanged() -> None:
    names = {"a1": "Łódź 🏭", "a2": "東京" * 20, "b1": "x" * 500, "b2": '"', "c1": "-9"}
    codes = "".join(
        f'"{name.replace(chr(34), chr(92) + chr(34))}" = "{number}"\n' for number, name in enumerate(names.values())
    )
    catalog = f"""
[variables.town]
role = "key"
[variables.town.codes]
{codes}
[variables.job]
role = "key"
[variables.job.codes]
a = "A"
b = "B"
[variables.ill]
role = "confidential"
[variables.ill.codes]
no = "No"
yes = "Yes"
"""
    rng = np.random.default_rng(3)
    town = rng.choice(list(names.values()), 500, p=[0.5, 0.3, 0.15, 0.048, 0.002])
    table = pa.table({"town": town, "job": rng.choice(["a", "b"], 500), "ill": rng.choice(["no", "yes"], 500)})
    done = Protection(table, catalog, records_policy(background=0.2))
    before, after = done.counts("town")
    assert done.moved("town").any() and before.tolist() == after.tolist()


def test_a_key_of_many_thousand_codes_is_coded_and_protected() -> None:
    codes = "".join(f'c{number} = "{number}"\n' for number in range(40_000))
    catalog = (
        f'[variables.place]\nrole = "key"\n[variables.place.codes]\n{codes}'
        '[variables.sex]\nrole = "key"\n[variables.sex.codes]\nf = "F"\nm = "M"\n'
        '[variables.ill]\nrole = "confidential"\n[variables.ill.codes]\nno = "No"\nyes = "Yes"\n'
    )
    rng = np.random.default_rng(3)
    place = [f"c{number}" for number in rng.integers(0, 40_000, 2000)]
    table = pa.table({"place": place, "sex": rng.choice(["f", "m"], 2000), "ill": rng.choice(["no", "yes"], 2000)})
    done = Protection(table, catalog, records_policy(background=0.2))
    before, after = done.counts("place")
    assert done.moved("place").any() and before.tolist() == after.tolist()


def test_numbers_of_any_size_keep_exact_sums() -> None:
    table = people(500, seed=1)
    huge = np.random.default_rng(2).lognormal(30, 2, 500).round()
    table = table.set_column(table.column_names.index("tax"), "tax", pa.array(huge))
    done = Protection(table)
    column = done.protected.records[done.protected.facts.numbers["tax"]].to_numpy()
    assert sum(map(int, np.abs(column))) < 2**62
    ratio = done.protected.numbers("tax") / huge
    assert 0.2 < ratio.min() < 0.8 and 1.2 < ratio.max() < 4


def test_an_empty_file_is_a_mistake() -> None:
    with pytest.raises(Mistake, match="no records"):
        _ = Protection(people(1, seed=1).slice(0, 0)).protected
