"""Targeted record swapping: who is at risk changes places, households whole, with others alike elsewhere."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from confide.errors import Mistake
from confide.microdata import DataSwapping, RecordSwapping, Shuffling
from confide.microdata.search.exchange import partners_elsewhere

AREAS = ["region", "district"]


def persons(households: int = 800, seed: int = 1) -> pd.DataFrame:
    """Persons in households in 12 districts of 3 regions."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, households)
    district = rng.integers(0, 12, households)
    home = np.repeat(np.arange(households), size)
    return pd.DataFrame(
        {
            "home": home,
            "region": district[home] // 4,
            "district": [f"d{one}" for one in district[home]],
            "tenure": np.array(["owner", "tenant"])[rng.integers(0, 2, households)][home],
            "age": np.minimum(rng.geometric(0.08, len(home)), 90),
            "job": rng.choice(["a", "b", "c"], len(home), p=[0.7, 0.28, 0.02]),
        }
    )


def rare(frame: pd.DataFrame, areas: list[str], keys: list[str], k: int) -> set[int]:
    """Households with a member whose values in keys fewer than k persons of the area share: in plain pandas."""
    size = frame.groupby([*areas, *keys])["home"].transform("size")
    return set(frame.loc[size < k, "home"])


def test_households_at_risk_move_and_all_keep_their_place_in_other_tables() -> None:
    before = persons()
    method = RecordSwapping(keys=["age"], k=2, match=["tenure"])
    released = method.protect(before, columns=AREAS, household="home", teaching_seed=1)
    after = released.frame
    moved = after.groupby("home")["district"].first() != before.groupby("home")["district"].first()
    at_risk = rare(before, AREAS, ["age"], 2)
    assert released.report["at_risk"] == len(at_risk) > 50
    assert released.report["alone"] == sum(not moved[home] for home in at_risk) < 10
    assert released.report["swapped"] == moved.sum() <= 2 * len(at_risk)
    assert after.groupby("home")[AREAS].nunique().max().max() == 1  # households stay whole
    others = [name for name in before if name not in AREAS]
    assert after[others].equals(before[others])
    firsts = [
        frame.assign(size=frame.groupby("home")["age"].transform("size")).groupby("home").first()
        for frame in (before, after)
    ]
    tables = [first.value_counts([*AREAS, "tenure", "size"]).sort_index() for first in firsts]
    assert tables[0].equals(tables[1])


def test_those_who_stand_out_only_nearby_stay_in_the_larger_area() -> None:
    before = persons()
    after = RecordSwapping(keys=["age"], k=2).protect(before, columns=AREAS, household="home", teaching_seed=1).frame
    crossed = set(before.loc[after["region"] != before["region"], "home"])
    in_region = rare(before, ["region"], ["age"], 2)
    assert in_region <= set(before.loc[after["district"] != before["district"], "home"])
    # who crosses a region is at risk there, or the partner of one who is
    assert len(in_region) / 2 <= len(crossed & in_region) and len(crossed) <= 2 * len(in_region)


def test_a_share_is_swapped_whoever_is_at_risk() -> None:
    frame = persons()
    homes = frame["home"].nunique()
    for share in (0.1, 0.5):
        released = RecordSwapping(share=share).protect(frame, columns=AREAS, household="home", teaching_seed=1)
        assert share * homes <= released.report["swapped"] <= share * homes + 2
        assert (released.frame["region"] == frame["region"]).all()
    both = (
        RecordSwapping(keys=["age"], k=3, share=0.9)
        .protect(frame, columns=AREAS, household="home", teaching_seed=1)
        .report
    )
    assert both["swapped"] >= 0.9 * homes


def test_without_households_persons_move() -> None:
    frame = persons()
    released = RecordSwapping(keys=["job"], k=12, match=["age"]).protect(frame, columns=AREAS, teaching_seed=1)
    assert released.report["at_risk"] > 0
    table = ["district", "age"]
    assert released.frame.value_counts(table).sort_index().equals(frame.value_counts(table).sort_index())


def test_where_nobody_is_elsewhere_those_at_risk_stay_and_are_counted() -> None:
    frame = pa.table({"town": ["a"] * 5, "job": list("wwwwk")})
    released = RecordSwapping(keys=["job"], k=2).protect(frame, columns="town", teaching_seed=1)
    assert released.frame.equals(frame) and released.report == {"at_risk": 1, "alone": 1, "swapped": 0}


def test_strata_exchange_among_themselves() -> None:
    frame = persons()
    after = (
        RecordSwapping(share=0.5)
        .protect(frame, columns="district", by="region", household="home", teaching_seed=1)
        .frame
    )
    pairs = ["region", "district"]
    assert set(map(tuple, after[pairs].to_numpy())) == set(map(tuple, frame[pairs].to_numpy()))


def plain_partners(wanting: list[int], classes: list[int], areas: list[int], rng: np.random.Generator) -> list[int]:
    partner = [-1] * len(classes)
    for i in wanting:
        if partner[i] < 0:
            free = [
                j for j in range(len(classes)) if partner[j] < 0 and classes[j] == classes[i] and areas[j] != areas[i]
            ]
            if free:
                j = int(rng.choice(free))
                partner[i], partner[j] = j, i
    return partner


def test_partners_are_drawn_as_the_plain_procedure_draws_them() -> None:
    classes, areas = np.array([0, 0, 0, 1, 1, 0, 1, 0]), np.array([0, 0, 1, 0, 2, 2, 2, 0])
    wanting, times = np.array([7, 0, 3, 1]), 3000
    counts = np.zeros((2, 8, 9))
    for seed in range(times):
        partner = np.full(8, -1)
        partners_elsewhere(wanting, 8, classes, areas, partner, np.random.default_rng([0, seed]))
        plain = plain_partners(list(wanting), list(classes), list(areas), np.random.default_rng([1, seed]))
        for which, found in enumerate((partner, np.array(plain))):
            counts[which, np.arange(8), found] += 1
    share = counts.mean(axis=0) / times
    assert np.all(np.abs(counts[0] - counts[1]) <= 5 * np.sqrt(2 * times * share * (1 - share)) + 1e-9)


def test_many_in_one_place_and_few_elsewhere_are_found() -> None:
    areas = np.zeros(5000, np.int64)
    areas[:3] = 1
    partner = np.full(5000, -1)
    assert (
        partners_elsewhere(np.arange(5000), 5000, np.zeros(5000, np.int64), areas, partner, np.random.default_rng(1))
        == 3
    )
    assert np.all(partner[:3] >= 3) and np.sum(partner >= 0) == 6


@pytest.mark.parametrize(
    ("given", "about", "complaint"),
    [
        ({}, {}, "say who changes places"),
        ({"keys": ["region"]}, {}, "'region' is an area"),
        ({"share": 0.1, "match": ["age"]}, {"household": "home"}, "'age' differs within"),
        ({"keys": ["aeg"]}, {}, "'aeg'.*'age'"),
    ],
)
def test_what_does_not_fit_is_a_mistake(given: dict, about: dict, complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        RecordSwapping(**given).protect(persons(20), columns=AREAS, teaching_seed=1, **about)


def test_what_is_looked_at_of_households_is_the_same_for_all_members() -> None:
    for method in (DataSwapping(match=["age"]), Shuffling(given=["age"])):
        with pytest.raises(Mistake, match="'age' differs within"):
            method.protect(persons(20), columns="region", household="home", teaching_seed=1)
