"""How far sums over protected records are off is measured when they are protected, as a multiple of their noise alone."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import confide
from confide.records.ingest import add
from confide.records.spreads.totals import measure_spread, squared_spread
from protecting import Protection, people, records_policy

NOISE_ONLY = records_policy(exchange=0.0, background=0.0, noise_exposed=0.15)


@pytest.fixture(scope="module")
def done() -> Protection:
    return Protection(people(6000, seed=1), policy=NOISE_ONLY)


def test_records_that_are_as_they_were_have_no_spread(done: Protection) -> None:
    found = measure_spread(done.true, done.true, done.dataset, {"income": 0.15, "tax": 0.15})
    assert list(found) == ["income", "tax"]
    np.testing.assert_allclose(list(found.values()), 0, atol=1e-12)


def test_numbers_without_noise_are_left_out(done: Protection) -> None:
    assert set(measure_spread(done.true, done.protected, done.dataset, {"tax": 0.15, "income": 0.0})) == {"tax"}


def test_balance_takes_most_of_the_noise_out_of_large_tables(done: Protection) -> None:
    for name in ("income", "tax"):
        one, two, three, *_ = done.protected.facts.spread[name]
        assert one < 0.3 and one < two < three < 1.2, name


def test_what_is_not_balanced_has_the_spread_of_its_noise() -> None:
    """Three records of each unit share its factor and are not balanced: sums are off by the root of three times as much.

    Over 20 secrets and tables by two variables, within a tenth.
    """
    thrice = people(500, seed=6).take(pa.array(np.arange(500).repeat(3)))
    found = [Protection(thrice, policy=NOISE_ONLY, number=n).protected.facts.spread["tax"][1] for n in range(20)]
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(np.sqrt(3), rel=0.1)


def test_exchanges_add_to_the_spread_of_totals(done: Protection) -> None:
    """Whoever changes class takes the whole contribution along: more in tables of classes that few exchange within."""
    busy = records_policy(exchange=0.0, background=0.5, noise_exposed=0.15)
    moved = Protection(done.table, policy=busy).protected.facts.spread["tax"]
    assert moved[2] > 1.2 * done.protected.facts.spread["tax"][2]


@pytest.mark.parametrize("size", [80, 200, 400])
def test_a_small_file_states_nearly_the_same_under_every_secret(size: int) -> None:
    """No more than what is measured scatters with as many units as are `ENOUGH`; measured alone it scatters by up to 0.18."""
    table = people(size, seed=7)
    found = [Protection(table, policy=NOISE_ONLY, number=n).protected.facts.spread for n in range(12)]
    for name in ("income", "tax"):
        assert np.std([one[name] for one in found], axis=0).max() < 0.1, name


def test_a_small_file_of_units_with_several_records_states_the_noise_that_these_share() -> None:
    twice = people(60, seed=8).take(pa.array(np.arange(60).repeat(2)))
    found = [Protection(twice, policy=NOISE_ONLY, number=n).protected.facts.spread["tax"][0] for n in range(8)]
    assert np.mean(found) == pytest.approx(np.sqrt(2), rel=0.1)


def test_one_cell_in_thousands_does_not_make_all_look_uncertain() -> None:
    """Where numbers are next to nothing one exchange outweighs all noise; the others are off as normal numbers are."""
    squares = np.random.default_rng(1).standard_normal((2, 10_000, 1)) ** 2
    squares[:, 0], squares[:, 1] = 1e8, np.nan
    np.testing.assert_allclose(np.sqrt(squared_spread(squares)), 1, rtol=0.03)


@pytest.mark.parametrize("classes", [1, 2])
def test_a_file_of_one_or_two_classes_has_totals_and_means_in_universes(tmp_path: Path, classes: int) -> None:
    """There is no table by three variables to measure on: what independent noise would do is stated."""
    rng = np.random.default_rng(3)
    columns = {f"c{place}": rng.choice(["a", "b"], 2000) for place in range(classes)}
    (tmp_path / "secret").touch(0o600)
    (tmp_path / "secret").write_text("5eed" * 16 + "\n")
    add(pa.table({**columns, "n": rng.gamma(2, 1000, 2000).round()}), tmp_path, name="d")
    with confide.open(tmp_path) as site:
        for where in (None, {"c0": "a"}, [{f"c{classes - 1}": "b"}, {"c0": "a"}]):
            answer = site["d"].table(rows=list(columns), measure=["total", "mean"], of="n", where=where)
            assert np.isfinite(answer.to_arrow()["mean_noise_sd"].drop_null().to_numpy()).all()
