"""What names, labels and codes say, in the languages that they are written in, and what is told of a file as a whole."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from confide.site.drafting.draft import draft
from confide.site.profiling import codes, names
from confide.site.profiling.profile import Decision, profile
from confide.sources.source import Source, read_source

ROWS = 600
RNG = np.random.default_rng(3)


def decided(name: str, values: Any, label: str = "") -> Decision:
    table = pa.table({"sex": RNG.choice(["f", "m"], ROWS), name: values})
    return profile(Source(table, labels={name: label})).decisions[name]


@pytest.mark.parametrize("label", ["Person weight", "Gewichtungsfaktor", "Pondération finale", "Final sampling weight"])
def test_a_weight_is_known_by_its_label(label: str) -> None:
    assert decided("v100", RNG.uniform(1, 3, ROWS), label).kind == "weight"


@pytest.mark.parametrize(
    ("name", "label"), [("v100", "Weight at birth"), ("body_weight", ""), ("v100", "Weight in kg")]
)
def test_what_people_weigh_is_no_weight(name: str, label: str) -> None:
    assert decided(name, RNG.uniform(1, 99, ROWS), label).kind == "numeric"


@pytest.mark.parametrize("name", ["hweight", "hhwt", "perwt", "gewicht", "poids", "fexp"])
def test_a_weight_is_known_by_its_name(name: str) -> None:
    assert names.of_weight(name)


@pytest.mark.parametrize(("name", "label"), [("v3", "Alter in Jahren"), ("v3", "Age at last birthday"), ("edad", "")])
def test_an_age_is_known_by_its_label(name: str, label: str) -> None:
    assert str(decided(name, RNG.integers(0, 95, ROWS), label).role) == "key"


@pytest.mark.parametrize(
    ("label", "role"),
    [("Geschlecht", "key"), ("Gesundheitszustand", "confidential"), ("Revenu annuel", "confidential")],
)
def test_roles_are_proposed_by_labels_in_other_languages(label: str, role: str) -> None:
    assert str(decided("v1", RNG.choice(list("abc"), ROWS), label).role) == role


def test_codes_say_in_other_languages_that_nothing_is_known() -> None:
    labels = {"1": "gut", "2": "schlecht", "8": "weiß nicht", "9": "k.A."}
    assert codes.sentinels(list(labels), labels) == ["8", "9"]
    assert codes.says_not_asked("Trifft nicht zu") and not codes.says_not_asked("Keine Angabe")


def test_a_first_line_that_is_a_record_is_told(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("34,m,N\n" + "35,m,N\n22,f,S\n" * 40)
    told = " ".join(draft(read_source(tmp_path / "people.csv"), name="d").lines)
    assert "The first line looks like a record, not like names of columns: 'm', 'N'" in told
    (tmp_path / "named.csv").write_text("age,sex,area\n" + "35,m,N\n22,f,S\n" * 40)
    assert "first line" not in " ".join(draft(read_source(tmp_path / "named.csv"), name="d").lines)


@pytest.mark.parametrize(("twice", "told"), [(0, False), (3, True)])
def test_units_with_several_records_are_told(twice: int, told: bool) -> None:
    keys = [*range(ROWS), *range(twice)]
    table = pa.table({"person_id": keys, "sex": RNG.choice(["f", "m"], len(keys))})
    said = "3 of 600 units, by 'person_id', have several records: jobs or visits of theirs, or the same record twice?"
    assert (said in draft(Source(table), name="d").lines) == told
