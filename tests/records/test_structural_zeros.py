"""Partners are alike in what stands in a structural zero with the key that they exchange, so that exchanges do not fill it."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from confide.arrays import Bools
from confide.data.scratch import IN_MEMORY
from confide.engines import Coded
from confide.model.catalog.dataset import Dataset
from confide.records.cells import UnitCells
from confide.records.exchanges.entities import entities_of
from confide.records.exchanges.exchange import _Plan
from protecting import CATALOG, Protection, people, records_policy, secret_of

SIZE = 3000
BUSY = records_policy(mean_cell=1.0, background=0.2, noise=0.0, noise_exposed=0.0)
MOODS = '[[structural_zeros]]\ntown = ["c1", "c2"]\nmood = ["bad"]\n'
PLACES = '[[structural_zeros]]\njob = ["mill"]\ntown = ["a1", "b1"]\n'
SECRETS = '[[structural_zeros]]\njob = ["farm"]\nill = ["once"]\n'


@cache
def population() -> pa.Table:
    """Nobody of two towns is in a bad mood, and there is no mill in two."""
    frame = people(SIZE, seed=1).to_pandas()
    frame.loc[frame["town"].isin(["c1", "c2"]), "mood"] = "good"
    frame.loc[(frame["job"] == "mill") & frame["town"].isin(["a1", "b1"]), "job"] = "shop"
    return pa.Table.from_pandas(frame, preserve_index=False)


@cache
def done(zeros: str, number: int = 0) -> Protection:
    return Protection(population(), CATALOG + zeros, policy=BUSY, number=number)


def inside(coded: Coded, dataset: Dataset, **classes: list[str]) -> Bools:
    found = np.ones(coded.records.num_rows, bool)
    for name, codes in classes.items():
        found &= np.isin(coded.places(name), [dataset.variables[name].place(code) for code in codes])
    return found


def filled(zeros: str, number: int = 0, **classes: list[str]) -> int:
    protection = done(zeros, number)
    assert not inside(protection.true, protection.dataset, **classes).any()
    return int(inside(protection.protected, protection.dataset, **classes).sum())


def test_exchanges_fill_no_declared_zero_of_a_key_and_what_is_none() -> None:
    moods = {"town": ["c1", "c2"], "mood": ["bad"]}
    assert filled("", **moods) >= 5 and filled(MOODS, **moods) == 0
    assert done(MOODS).moved("town").sum() > 0.9 * done("").moved("town").sum(), "keys are exchanged all the same"


def test_of_two_keys_fewer_are_filled_and_only_by_who_exchanges_both() -> None:
    """No exchange by itself fills one. Limits set after the result was seen: 39 without the declaration, 20 with it."""
    places = {"job": ["mill"], "town": ["a1", "b1"]}
    before, after = (sum(filled(zeros, number, **places) for number in range(4)) for zeros in ("", PLACES))
    assert before >= 20 and after <= 0.6 * before
    for number in range(4):
        protection = done(PLACES, number)
        there = inside(protection.protected, protection.dataset, **places)
        assert (protection.moved("job") & protection.moved("town"))[there].all()


def plan(zeros: str, name: str) -> _Plan:
    protection = done(zeros)
    coded, dataset, traits = protection.true, protection.dataset, protection.exposure.traits
    trait = next(trait for trait in traits if trait.name == name)
    cells = UnitCells(coded, dataset, cohorts=True)
    entity = entities_of(coded, None, [trait])[0]
    return _Plan(coded, dataset, cells, trait, entity, BUSY.records, secret_of(), IN_MEMORY)


def test_what_stands_in_a_zero_with_a_key_comes_first_and_is_never_left_out() -> None:
    by_job, by_town = plan(PLACES, "job"), plan(MOODS + PLACES, "town")
    assert by_job.alike[0] == "town" and len(by_job.alike) == len(plan("", "job").alike) == 3
    assert "town" not in by_job.loose and "county" not in by_job.alike, "who has the same town has the same county"
    assert by_town.alike[:2] == ["job", "mood"] and not {"job", "mood"} & set(by_town.loose)
    assert plan(MOODS, "age").alike == plan("", "age").alike


def test_confidential_variables_play_no_part_in_who_is_a_partner() -> None:
    assert plan(SECRETS, "job").alike == plan("", "job").alike


@pytest.mark.parametrize("zeros", [SECRETS, '[[structural_zeros]]\nmood = ["bad"]\nill = ["once"]\n'])
def test_zeros_of_no_two_keys_leave_the_records_as_they_are(zeros: str) -> None:
    assert done(zeros).protected.records.equals(done("").protected.records)
