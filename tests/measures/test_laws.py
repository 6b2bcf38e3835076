"""Laws that every measure keeps: order does not matter, nothing changed is nothing lost, kinds of frames are alike."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide.measures import risk, score, utility

NUMBERS, CODES, KEYS = ["age", "income"], ["sex", "region"], ["age", "sex", "region"]

OF_ONE = {
    "k-anonymity": lambda f: risk.k_anonymity(f, keys=KEYS).unique,
    "k-anonymity, blank matches": lambda f: risk.k_anonymity(f, keys=KEYS, blank="anything").unique,
    "l-diversity": lambda f: risk.l_diversity(f, keys=CODES, confidential="income").entropy_level,
    "t-closeness": lambda f: 100 * risk.t_closeness(f, keys=CODES, confidential="income").level,
    "individual risk": lambda f: risk.individual_risk(f, keys=KEYS, weight="weight").percent,
    "household risk": lambda f: risk.household_risk(f, keys=KEYS, household="home", weight="weight").percent,
    "log-linear risk": lambda f: risk.model_risk(f, keys=KEYS, weight="weight").expected,
    "suda": lambda f: risk.suda(f, keys=KEYS).score.mean(),
    "dis-suda": lambda f: 100 * risk.suda(f, keys=KEYS, weight="weight").dis.max(),
}
LINKS = {
    "distance linkage": lambda a, b: risk.distance_linkage(a, b, columns=KEYS).percent,
    "linkage by ranks": lambda a, b: risk.distance_linkage(a, b, columns=NUMBERS, scaling="ranks").percent,
    "one-to-one linkage": lambda a, b: risk.one_to_one_linkage(a, b, columns=NUMBERS).percent,
    "probabilistic linkage": lambda a, b: risk.probabilistic_linkage(a, b, columns=KEYS).percent,
    "interval disclosure": lambda a, b: risk.interval_disclosure(a, b, columns=NUMBERS).percent,
    "attribute disclosure": lambda a, b: risk.attribute_disclosure(a, b, keys=KEYS, confidential="income").percent,
}
PAIRED_LOSSES = {
    "information loss": lambda a, b: utility.discrepancies(a, b, columns=NUMBERS, weight="weight").loss,
    "changes": lambda a, b: utility.changes(a, b, columns=CODES, weight="weight").percent,
    "entropy loss": lambda a, b: utility.entropy_loss(a, b, columns=CODES).percent,
}
LOSSES = {
    "probabilistic loss": lambda a, b: utility.probabilistic_loss(a, b, columns=NUMBERS, weight="weight").percent,
    "tables": lambda a, b: utility.table_distance(a, b, columns=CODES, weight="weight"),
    "hellinger": lambda a, b: utility.hellinger(a, b, columns=KEYS, weight="weight").percent,
    "propensity": lambda a, b: utility.propensity(a, b, columns=KEYS).percent,
    "regression": lambda a, b: (
        100 - utility.regression_overlap(a, b, response="income", predictors=KEYS, weight="weight").percent
    ),
    "subdomains": lambda a, b: utility.subdomains(a, b, by="sex", columns=NUMBERS, weight="weight").percent,
}
OF_TWO = {**LINKS, **PAIRED_LOSSES, **LOSSES, "score": lambda a, b: score(a, b, columns=NUMBERS).value}
BOUNDED = {
    **LINKS,
    **{name: m for name, m in {**PAIRED_LOSSES, **LOSSES}.items() if name not in ("information loss", "subdomains")},
}


@pytest.fixture(scope="module")
def files(people_of, masked_of):
    original = people_of(160).assign(home=np.arange(160) // 2)
    return original, masked_of(original)


@pytest.mark.parametrize("name", OF_ONE)
def test_the_order_of_records_does_not_matter_to_a_measure_of_one_file(files, name):
    order = np.random.default_rng(1).permutation(160)
    assert OF_ONE[name](files[1].iloc[order]) == pytest.approx(OF_ONE[name](files[1]))


@pytest.mark.parametrize("name", OF_TWO)
def test_the_order_of_pairs_does_not_matter(files, name):
    order = np.random.default_rng(2).permutation(160)
    assert OF_TWO[name](*(f.iloc[order] for f in files)) == pytest.approx(OF_TWO[name](*files), abs=1e-7)


@pytest.mark.parametrize("name", LOSSES)
def test_the_order_of_each_file_does_not_matter_where_there_are_no_pairs(files, name):
    order = np.random.default_rng(3).permutation(160)
    assert LOSSES[name](files[0], files[1].iloc[order]) == pytest.approx(LOSSES[name](*files), abs=1e-7)


@pytest.mark.parametrize("name", {**PAIRED_LOSSES, **LOSSES})
def test_nothing_changed_is_nothing_lost(files, name):
    assert OF_TWO[name](files[0], files[0]) == pytest.approx(0, abs=1e-6)
    assert OF_TWO[name](*files) > 0


@pytest.mark.parametrize("name", LINKS)
def test_nothing_changed_is_the_highest_risk(files, name):
    assert OF_TWO[name](files[0], files[0]) >= OF_TWO[name](*files)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", BOUNDED)
def test_percentages_are_between_0_and_100_whatever_the_files(people_of, name, seed):
    assert -1e-9 <= BOUNDED[name](people_of(60, seed), people_of(60, seed + 10)) <= 100 + 1e-9


@pytest.mark.parametrize("name", [*OF_ONE, *OF_TWO])
def test_frames_of_all_kinds_are_alike(files, name):
    kinds = [files, [pl.from_pandas(f) for f in files], [pa.Table.from_pandas(f, preserve_index=False) for f in files]]
    found = [OF_ONE[name](kind[1]) if name in OF_ONE else OF_TWO[name](*kind) for kind in kinds]
    assert found[1] == pytest.approx(found[0]) and found[2] == pytest.approx(found[0])


@pytest.mark.parametrize("name", [*OF_ONE, *OF_TWO])
def test_names_and_categories_of_any_script_and_codes_of_any_length_are_nothing_special(files, name):
    strange = {
        "f": "ž" * 50,
        "m": "99999999999999999999999999",
        "north": "北 ",
        "south": "",
        "east": "-999",
        "west": "NA",
    }
    odd = [f.assign(sex=f["sex"].map(strange), region=f["region"].map(strange)) for f in files]
    plain = OF_ONE[name](files[1]) if name in OF_ONE else OF_TWO[name](*files)
    assert (OF_ONE[name](odd[1]) if name in OF_ONE else OF_TWO[name](*odd)) == pytest.approx(plain, abs=1e-7)


@pytest.mark.parametrize("name", [n for n in [*OF_ONE, *OF_TWO] if n != "subdomains"])
def test_a_single_record_can_be_measured(files, name):
    one = files[0].iloc[:1]
    assert np.isfinite(OF_ONE[name](one) if name in OF_ONE else OF_TWO[name](one, one))


@pytest.mark.parametrize("name", OF_TWO)
def test_constant_columns_can_be_measured(files, name):
    flat = files[0].assign(age=40, sex="f", region=pd.Series([None] * 160, dtype=object), income=100.0)
    assert np.isfinite(OF_TWO[name](flat, flat))
