"""L1 to L4: whoever knows keys and nothing of the method. Each attack succeeds on a weak file and fails on a better one."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from confide.measures.risk import distance_linkage, interval_disclosure, k_anonymity, probabilistic_linkage
from confide.microdata import AdditiveNoise, Microaggregation, Rounding

NUMBERS = ["v0", "v1", "v2", "v3"]


@pytest.mark.parametrize("name", ["distance-linkage", "rank-linkage", "probabilistic-linkage"])
def test_linkage_finds_records_with_little_noise_and_not_those_in_groups_of_twenty(name, firms_of, tried):
    original = firms_of(400, 4)
    weak = AdditiveNoise(k=0.0001).protect(original, columns=NUMBERS, teaching_seed=8).frame
    strong = Microaggregation(k=20).protect(original, columns=NUMBERS).frame
    assert tried(name, original, weak, keys=NUMBERS).success > 0.6
    found = tried(name, original, strong, keys=NUMBERS)
    # one in twenty of a group is found by chance: 0.05, and three standard errors of 400 targets
    assert found.success < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400) and found.guess == 1 / 400


def test_links_are_as_many_as_the_measures_say(firms_of, tried):
    original = firms_of(400, 4)
    released = AdditiveNoise(k=0.02).protect(original, columns=NUMBERS, teaching_seed=8).frame
    measured = distance_linkage(original, released, columns=NUMBERS).percent / 100
    found = tried("distance-linkage", original, released, keys=NUMBERS)
    # the measure looks from the released records to the original ones, the intruder the other way: near, not the same
    assert found.success == pytest.approx(measured, abs=0.06) and 0.2 < measured < 0.9
    weighed = tried("probabilistic-linkage", original, released, keys=NUMBERS)
    assert weighed.success == pytest.approx(
        probabilistic_linkage(original, released, columns=NUMBERS).percent / 100, abs=1e-9
    )


def test_ties_are_broken_by_chance_and_not_by_the_order_of_the_file(tried):
    original = pd.DataFrame({"town": ["a"] * 200 + ["b"] * 200})
    found = tried("distance-linkage", original, original, keys="town")
    assert found.right <= 12  # 2 on average, a binomial count; 12 has a chance below one in a million


def test_uniqueness_claims_those_who_are_alone_and_recoding_leaves_nobody_alone(people_of, tried):
    original = people_of(600)
    keys = ["age", "sex", "town"]
    alone = int((k_anonymity(original, keys=keys).frequency == 1).sum())
    found = tried("uniqueness", original, original, keys=keys)
    assert (found.claimed, found.right) == (alone, alone) and alone > 200
    coarse = original.assign(age=np.where(original["age"] < 50, "young", "old"), town="somewhere")
    assert tried("uniqueness", original, coarse, keys=keys).claimed == 0


def test_looking_up_learns_from_exact_keys_and_no_more_from_groups_than_from_others(people_of, tried):
    original = people_of(1200)
    about = {"keys": ["age", "sex", "town"], "confidential": "ill"}
    exact = tried("looking-up", original, original, **about)
    assert exact.success > 0.8 and exact.lift > 0.3
    assert exact.others == pytest.approx(0.4, abs=0.12)  # neighbours tell something: that is statistics
    coarse = original.assign(age=original["age"] // 40 * 40, town="somewhere")
    grouped = tried("looking-up", original, coarse, **about)
    assert grouped.lift < 0.05 and grouped.success < exact.success - 0.3


def test_looking_up_follows_a_recoding_of_the_keys(people_of, tried):
    """An age that became a class of ages: the intruder recodes their own list."""
    original = people_of(600)
    recoded = original.assign(age=[f"{age // 10}0s" for age in original["age"]])
    found = tried("looking-up", original, recoded, keys=["age", "sex", "town"], confidential="ill")
    assert found.applies and found.targets == 600 and found.others is not None


def test_intervals_hold_true_values_of_a_rounded_file_and_not_of_a_noisy_one(firms_of, tried):
    original = firms_of(500, 2)
    about = {"keys": "v0", "confidential": "v1"}
    rounded = Rounding(base=1).protect(original, columns="v1").frame
    weak = tried("interval-disclosure", original, rounded, **about)
    assert weak.success > 0.95 and weak.guess == pytest.approx(0.022, abs=0.004)
    noisy = AdditiveNoise(k=2.0).protect(original, columns="v1", teaching_seed=9).frame
    strong = tried("interval-disclosure", original, noisy, **about)
    assert strong.success < 0.1
    measured = interval_disclosure(original, noisy, columns="v1", percent=[1]).percent / 100
    assert strong.success == pytest.approx(measured)


def test_missing_values_and_words_in_any_script_are_attacked_like_others(tried):
    rng = np.random.default_rng(3)
    size = rng.normal(50, 20, 300).round(3)
    size[::7] = np.nan
    original = pd.DataFrame(
        {"größe": size, "市": rng.choice(["東京", "Malmö", None], 300), "ill": rng.choice(["да", "нет"], 300)}
    )
    about = {"keys": ["größe", "市"], "confidential": "ill"}
    found = tried("distance-linkage", original, original, **about)
    assert found.targets == 300 and found.success > 0.8  # who lacks a size is one of 43
    assert tried("uniqueness", original, original, **about).right > 200
    assert tried("looking-up", original, pa.Table.from_pandas(original), **about).success > 0.85


def test_a_sample_is_attacked_by_an_identifier(people_of, tried):
    original = people_of(500).assign(id=np.arange(500))
    sample = original.iloc[np.random.default_rng(1).permutation(500)[:200]].reset_index(drop=True)
    found = tried("uniqueness", original, sample, keys=["age", "sex", "town"], identifier="id")
    assert found.targets == 200 and found.claimed == found.right > 50
