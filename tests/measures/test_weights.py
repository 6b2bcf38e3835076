"""Laws of weights and order, on files drawn at random: weight 2 is a doubled record wherever a measure describes the file.

Some measures are about the records and not about the file, and for those the law does not hold, and should not: sampling errors
(probabilistic loss, the intervals of regressions) fall with records, not with weights; risks count the records of the sample
beside the people they stand for; and bins of numbers are cut on records. What holds for them is said below.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.measures import risk, score, utility

NUMBERS, CODES, KEYS = ["age", "income"], ["sex", "region"], ["age", "sex", "region"]
RECORDS = 24

DESCRIBE = {
    "changes": lambda a, b, w: utility.changes(a, b, columns=CODES, weight=w).percent,
    "entropy loss": lambda a, b, w: utility.entropy_loss(a, b, columns=CODES, weight=w).percent,
    "tables": lambda a, b, w: utility.table_distance(a, b, columns=CODES, weight=w),
    "information loss": lambda a, b, w: utility.discrepancies(a, b, columns=NUMBERS, weight=w).loss,
    "hellinger of codes": lambda a, b, w: utility.hellinger(a, b, columns=CODES, weight=w).percent,
    "means of subdomains": lambda a, b, w: (
        utility.subdomains(a, b, by="sex", columns=NUMBERS, weight=w, minimum=2).means
    ),
    "coefficients": lambda a, b, w: (
        utility.regression_overlap(a, b, response="income", predictors=["age", "sex"], weight=w).released
    ),
}
"""Utility that describes both files: weight 2 is a doubled record."""

UTILITY = {
    **DESCRIBE,
    "hellinger of numbers": lambda a, b, w: utility.hellinger(a, b, columns=NUMBERS, weight=w).percent,
    "probabilistic loss": lambda a, b, w: utility.probabilistic_loss(a, b, columns=NUMBERS, weight=w).percent,
    "overlap": lambda a, b, w: (
        utility.regression_overlap(a, b, response="income", predictors=["age", "sex"], weight=w).percent
    ),
    "subdomains": lambda a, b, w: utility.subdomains(a, b, by="sex", columns=NUMBERS, weight=w, minimum=2).percent,
}
"""All that takes weights."""

RISK = {
    "individual risk": lambda f, w: risk.individual_risk(f, keys=CODES, weight=w).risk,
    "household risk": lambda f, w: risk.household_risk(f, keys=CODES, household="home", weight=w).risk,
}
WEIGHTED_RISK = {
    **RISK,
    "model risk": lambda f, w: risk.model_risk(f, keys=CODES, weight=w).expected,
    "dis-suda": lambda f, w: risk.suda(f, keys=KEYS, weight=w).dis,
}
UNWEIGHTED = {
    "k-anonymity": lambda a, b: risk.k_anonymity(b, keys=KEYS).unique,
    "l-diversity": lambda a, b: risk.l_diversity(b, keys=CODES, confidential="income").entropy_level,
    "t-closeness": lambda a, b: risk.t_closeness(b, keys=CODES, confidential="income").level,
    "suda": lambda a, b: np.sort(risk.suda(b, keys=KEYS).score),
    "distance linkage": lambda a, b: risk.distance_linkage(a, b, columns=KEYS).percent,
    "one-to-one linkage": lambda a, b: risk.one_to_one_linkage(a, b, columns=NUMBERS).percent,
    "probabilistic linkage": lambda a, b: risk.probabilistic_linkage(a, b, columns=KEYS).percent,
    "intervals": lambda a, b: risk.interval_disclosure(a, b, columns=NUMBERS).percent,
    "attributes": lambda a, b: risk.attribute_disclosure(a, b, keys=KEYS, confidential="income").percent,
    "membership": lambda a, b: risk.membership(a, b, a.iloc[:8], columns=NUMBERS).auc,
    "propensity": lambda a, b: utility.propensity(a, b, columns=KEYS).percent,
    "score": lambda a, b: score(a, b, columns=NUMBERS).value,
}

weights = st.lists(st.integers(1, 3), min_size=RECORDS, max_size=RECORDS)
seeds = st.integers(0, 2**16)
drawn = settings(max_examples=5)


def files(people_of: Any, masked_of: Any, seed: int, given: list[int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    original = people_of(RECORDS, seed).assign(weight=np.array(given, float), home=np.arange(RECORDS) // 2)
    original.loc[[0, 1], "sex"] = ["f", "m"]  # both sexes are there, in every file
    original.loc[[2, 3], "sex"] = ["f", "m"]
    masked = masked_of(original, seed + 1)
    masked.loc[[0, 1, 2, 3], "sex"] = ["f", "m", "f", "m"]
    return original, masked


def close(found: Any, expected: Any) -> None:
    """Sums in another order: within rounding, of which 1e-7 is a generous bound."""
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", DESCRIBE)
@drawn
@given(seed=seeds, given=weights)
def test_weight_2_is_a_doubled_record(people_of: Any, masked_of: Any, name: str, seed: int, given: list[int]) -> None:
    a, b = files(people_of, masked_of, seed, given)
    rows = np.repeat(np.arange(RECORDS), given)
    again = [frame.iloc[rows].reset_index(drop=True) for frame in (a, b)]
    close(DESCRIBE[name](a, b, "weight"), DESCRIBE[name](*again, None))


@pytest.mark.parametrize("name", UTILITY)
@drawn
@given(seed=seeds, given=weights, times=st.sampled_from([0.001, 7, 1000]))
def test_only_the_ratios_of_weights_matter_to_utility(
    people_of: Any, masked_of: Any, name: str, seed: int, given: list[int], times: float
) -> None:
    a, b = files(people_of, masked_of, seed, given)
    scaled = [frame.assign(weight=times * frame["weight"]) for frame in (a, b)]
    close(UTILITY[name](*scaled, "weight"), UTILITY[name](a, b, "weight"))


@pytest.mark.parametrize("name", [*UTILITY, *RISK])
@drawn
@given(seed=seeds)
def test_weights_of_1_are_no_weights(people_of: Any, masked_of: Any, name: str, seed: int) -> None:
    a, b = files(people_of, masked_of, seed, [1] * RECORDS)
    if name in RISK:
        close(RISK[name](b, "weight"), RISK[name](b, None))
    else:
        close(UTILITY[name](a, b, "weight"), UTILITY[name](a, b, None))


@pytest.mark.parametrize("name", WEIGHTED_RISK)
@drawn
@given(seed=seeds, given=weights)
def test_who_stands_for_more_people_is_at_less_risk(
    people_of: Any, masked_of: Any, name: str, seed: int, given: list[int]
) -> None:
    _, b = files(people_of, masked_of, seed, given)
    once, twice = (WEIGHTED_RISK[name](b.assign(weight=times * b["weight"]), "weight") for times in (1, 2))
    assert np.all(np.asarray(twice) <= np.asarray(once) + 1e-12)  # rounding
    assert name not in RISK or np.sum(twice) < np.sum(once)


@pytest.mark.parametrize("name", [*UTILITY, *WEIGHTED_RISK, *UNWEIGHTED])
@drawn
@given(seed=seeds, given=weights, data=st.data())
def test_the_order_of_records_changes_nothing(
    people_of: Any, masked_of: Any, name: str, seed: int, given: list[int], data: st.DataObject
) -> None:
    """Risks of each record move with it."""
    a, b = files(people_of, masked_of, seed, given)
    order = np.array(data.draw(st.permutations(range(RECORDS))))
    moved = [frame.iloc[order].reset_index(drop=True) for frame in (a, b)]
    if name in WEIGHTED_RISK:
        found, expected = (np.asarray(WEIGHTED_RISK[name](f, "weight")) for f in (moved[1], b))
        close(found, expected[order] if expected.ndim else expected)
    elif name == "membership":
        close(UNWEIGHTED[name](a, moved[1]), UNWEIGHTED[name](a, b))
    elif name in UNWEIGHTED:
        close(UNWEIGHTED[name](*moved), UNWEIGHTED[name](a, b))
    else:
        close(UTILITY[name](*moved, "weight"), UTILITY[name](a, b, "weight"))
