"""Standard errors of quantiles and of standard deviations: against the textbook, against repeated samples, and for what they tell."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import python_table
from confide.answering.rounding import significant
from confide.answering.tables.quantiles import Distributions, QuantileBins

BARE = {
    "universe": {"gamma": 0, "gamma_star": 0, "marginals": False, "complement": False, "decide_on": "true"},
    "tables": {"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False},
    "drop": {"k": 0},
    "counts": {"mechanism": "none"},
    "totals": {"mechanism": "none", "units": 0, "dominance_k": 100.0, "p_percent": 0.0, "risk_limit": 1.0},
    "records": {"noise": 0.0, "noise_exposed": 0.0, "exchange": 0.0, "background": 0.0, "background_exposed": 0.0},
}
LENIENT = {name: BARE[name] for name in ("universe", "tables", "drop")}
SCORE = f'\n[variables.score]\nkind = "numeric"\nminimum = 0\nmaximum = 200\ndecimals = 1\ncutpoints = {list(range(5, 200, 5))}\n'
SIZE = 1200


def scored(town: Any, score: Any, design: str, psu: Any = None, **policy: Any) -> Any:
    """The town, unweighted, with a number and how its people were drawn."""
    head, rest = town.catalog.replace('weight = "w"\n', "").split("[variables.id]", 1)
    catalog = f"{head}\n[sampling]\n{design}\n[variables.id]{rest}{SCORE}"
    people = town.people.append_column("score", pa.array(np.clip(score, 0, 200).round(1)))
    people = people if psu is None else people.append_column("psu", pa.array(psu))
    return replace(town, catalog=catalog, people=people).under(**policy)


def columns_of(place: Any, secret: int = 0, **words: Any) -> Any:
    request = python_table("people", **{"rows": "sex", "of": "score", "error": "se", **words})
    outcome = place.desk(secret).consider(request)
    assert not outcome.reasons
    return outcome.columns


def test_of_a_simple_sample_they_are_those_of_the_textbook(town: Any) -> None:
    """The median of n normal numbers has the error 1.253 s / sqrt(n), their quartile 1.362, their deviation 0.707."""
    place = scored(town, np.random.default_rng(3).normal(100, 20, SIZE), "", **BARE)
    found = columns_of(place, measure=["median", "p25", "sd", "mean"])
    unit = 20 / np.sqrt(SIZE)
    assert found["mean_se"].values[-1] == pytest.approx(unit, rel=0.1)
    # a tenth of a bin of five, which reading between cutpoints may be off by, is in both: 0.5 beside 0.72 and 0.79
    reading = found["median"].noise[-1]
    assert found["median_se"].values[-1] == pytest.approx(np.hypot(1.253 * unit, reading), rel=0.12)
    assert found["p25_se"].values[-1] == pytest.approx(np.hypot(1.362 * unit, reading), rel=0.12)
    # the kurtosis is taken from the largest number, and so may be put at up to twice as much
    assert 0.7 * unit < found["sd_se"].values[-1] < 1.4 * 0.71 * unit


def test_they_hold_the_truth_in_samples_of_clusters(town: Any) -> None:
    """Sixty samples of 60 clusters of 20 whose members are alike: errors of simple samples would be less than half of what they
    should be. With 95 in 100 expected, fewer than 52 or so of 60 would be found once in two thousand times."""
    psu = np.arange(SIZE) // 20
    normal = {"median": 100.0, "p75": 100 + 0.6745 * 20}
    held, simple = dict.fromkeys(normal, 0), 0
    for sample in range(60):
        rng = np.random.default_rng(sample)
        score = 100 + 20 * (np.sqrt(0.5) * rng.normal(size=60)[psu] + np.sqrt(0.5) * rng.normal(size=SIZE))
        found = columns_of(scored(town, score, 'psu = "psu"', psu, **BARE), measure=list(normal))
        for name, true in normal.items():
            held[name] += abs(found[name].values[-1] - true) <= 1.96 * found[f"{name}_se"].values[-1]
        simple += abs(found["median"].values[-1] - 100) <= 1.96 * 1.253 * 20 / np.sqrt(SIZE)
    assert min(held.values()) >= 52
    assert simple < 45, "the clusters must matter, else nothing is tried"


def test_the_error_of_a_deviation_holds_the_truth_in_simple_samples(town: Any) -> None:
    held = 0
    for sample in range(30):
        score = np.random.default_rng(sample).gamma(4, 10, SIZE)  # of which two in a million are above 200
        found = columns_of(scored(town, score, "", **BARE), measure="sd")
        held += abs(found["sd"].values[-1] - 20) <= 1.96 * found["sd_se"].values[-1]
    assert held >= 26


def test_the_noise_of_protection_is_in_them(town: Any) -> None:
    score = np.random.default_rng(3).normal(100, 20, SIZE)
    found = columns_of(scored(town, score, "", **LENIENT), measure=["median", "sd", "p90"], rows="trade")
    for name in ("median", "sd", "p90"):
        told = found[f"{name}_se"].marks == ""
        assert told.any() and (found[f"{name}_se"].values[told] >= 0.94 * found[name].noise[told]).all()


def test_numbers_are_the_same_with_errors_and_without(town: Any) -> None:
    place = scored(
        town, np.random.default_rng(3).normal(100, 20, SIZE), 'psu = "psu"', np.arange(SIZE) // 10, **LENIENT
    )
    words = {"measure": ["median", "sd", "p90"], "rows": "trade", "columns": "sex"}
    found, plain = columns_of(place, **words), columns_of(place, **words, error=())
    assert list(plain) == words["measure"]
    assert all(found[name] == column for name, column in plain.items())
    assert {name for name in found if name.endswith("_se")} == {"median_se", "sd_se", "p90_se"}


def test_of_a_simple_sample_the_error_of_a_quantile_follows_from_the_published_table(town: Any) -> None:
    """Anybody can compute it from the counts and means by bins: so it tells nothing of what stands behind them."""
    place = scored(town, np.random.default_rng(3).normal(100, 20, SIZE), "", **LENIENT)
    for secret in range(3):
        binned = columns_of(place, secret, measure=["count", "mean"], rows=["trade", "score"], error=())
        shown = columns_of(place, secret, measure=["median", "p90"], rows="trade")
        counts, noise, means = binned["count"].values, binned["count"].noise, binned["mean"].values
        bins = QuantileBins.of(place.dataset.variables["score"])
        kept = (slice(None), slice(0, len(bins.low)))
        units = counts[kept].sum(axis=-1)
        found = Distributions(bins, counts[kept], noise[kept], means[kept], units, 0.0)
        for name, share in (("median", 0.5), ("p90", 0.9)):
            told = shown[f"{name}_se"].marks == ""
            expected = significant(found.standard_error(share, np.ones(len(units))), 2)
            assert told.any() and shown[f"{name}_se"].values[told].tolist() == expected[told].tolist()


def test_the_effect_of_the_design_on_a_quantile_carries_noise_of_the_same_units(town: Any) -> None:
    """How the people of a town live together would be told by an error without: with other secrets it is another, with one it is the
    same in whatever table, but for the counts by bins."""
    score = np.random.default_rng(3).normal(100, 20, SIZE)
    place = scored(town, score, 'psu = "psu"', np.arange(SIZE) // 10, **LENIENT)
    alone = columns_of(place, measure="median", rows="town")["median_se"].values
    beside = columns_of(place, measure="median", rows="town", columns="sex")["median_se"].values
    assert alone.tolist()[:2] == pytest.approx(beside[:2, -1].tolist(), rel=0.25)
    errors = {columns_of(place, secret, measure="median", rows="town")["median_se"].values[0] for secret in range(6)}
    assert len(errors) > 2


def test_where_an_interval_ends_in_open_bins_or_nobody_is_there_no_error_is_told(town: Any) -> None:
    score = np.where(np.arange(SIZE) % 2 == 0, 1.0, 199.0)
    place = scored(town, score, "", **BARE)
    catalog = place.catalog.replace("minimum = 0\nmaximum = 200\ndecimals", "decimals")
    found = columns_of(replace(place, catalog=catalog), measure=["median", "sd"], rows="town")
    assert set(found["median_se"].marks) <= {"x", "z"}
    assert found["sd_se"].marks[2] == "z" and found["sd_se"].marks[-1] == ""
