"""How far standard deviations of protected records are off is measured when they are protected, in standard errors."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from confide.data.deviation_error import CELL_SIZES, deviation_error
from confide.records.spreads.deviations import measure_deviation_spread
from protecting import Protection, people, records_policy

NOISE_ONLY = records_policy(exchange=0.0, background=0.0, noise_exposed=0.15)
EXCHANGES_ONLY = records_policy(exchange=0.0, background=0.3, noise=0.0, noise_exposed=0.0)


@pytest.fixture(scope="module")
def noisy() -> Protection:
    return Protection(people(6000, seed=1), policy=NOISE_ONLY)


def test_records_that_are_as_they_were_have_none(noisy: Protection) -> None:
    found = measure_deviation_spread(noisy.true, noisy.true, noisy.dataset, {}, exchanges=False)
    assert set(found) == {"age", "income", "tax"}
    assert found == {name: [0.0, 0.0, 0.0] for name in found}


def test_numbers_without_noise_that_nobody_exchanges_have_none(noisy: Protection) -> None:
    found = noisy.protected.facts.deviations
    assert found["age"] == [0.0, 0.0, 0.0]
    assert min(found["income"] + found["tax"]) > 0


def test_exchanges_move_deviations_of_numbers_without_noise() -> None:
    found = Protection(people(6000, seed=1), policy=EXCHANGES_ONLY).protected.facts.deviations
    assert all(0.05 < multiple < 3 for name in ("income", "tax") for multiple in found[name])


def deviations(done: Protection, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By town and job: the true standard deviations, those of protected records, and the noise that is stated of these."""
    true, now = done.true, done.protected
    squares = (
        now.records[now.facts.forms[f"square({name})"]].to_numpy() / 10.0 ** now.facts.value_decimals[f"square({name})"]
    )
    found = []
    for town in range(12):
        for job in range(8):
            was = true.numbers(name)[(true.places("town") == town) & (true.places("job") == job)]
            here = (now.places("town") == town) & (now.places("job") == job)
            values, size = now.numbers(name)[here], int(here.sum())
            if size >= 10 and len(was) > 1:
                deviation = np.sqrt(max(np.mean(squares[here] ** 2) - values.mean() ** 2, 0.0) * size / (size - 1))
                error = deviation_error(
                    np.array([deviation]), np.array([size]), np.array([values.max() - values.mean()])
                )
                multiple = now.facts.deviations[name][np.searchsorted(CELL_SIZES, size, side="right")]
                found.append((was.std(ddof=1), deviation, error[0] * multiple))
    was, deviation, noise = np.array(found).T
    return was, deviation, noise


@pytest.mark.parametrize("number", [0, 1])
def test_most_are_off_by_at_most_twice_the_noise_that_is_stated(number: int) -> None:
    """Few make up most of a standard deviation. Of 60 cells 95 % should be, so 85 % are but for one draw in a thousand."""
    rng = np.random.default_rng(4)
    table = people(6000, seed=1)
    heavy = pa.array((rng.pareto(1.6, 6000) * 1000).round(2))
    table = table.set_column(table.column_names.index("tax"), "tax", heavy)
    was, deviation, noise = deviations(Protection(table, number=number), "tax")
    within = np.abs(deviation - was) <= 2 * noise
    assert len(within) > 50 and within.mean() > 0.85
    assert np.mean(np.abs(deviation - was) <= noise / 4) < 0.8  # and it is not stated so large that all are


def test_a_small_file_states_what_noise_alone_would_make() -> None:
    """Of 40 units next to nothing is measured: twice the noise, with half a standard error where there are exchanges."""
    small = Protection(people(40, seed=2), policy=NOISE_ONLY)
    found = small.protected.facts.deviations["tax"]
    assert found == pytest.approx([0.3] * 3, rel=0.2)
    noise = small.protected.facts.noise
    exchanged = measure_deviation_spread(small.true, small.protected, small.dataset, noise, exchanges=True)["tax"]
    assert exchanged == pytest.approx([np.hypot(0.3, 0.5)] * 3, rel=0.2)


def test_a_file_without_classes_or_without_records_states_noise_alone(noisy: Protection) -> None:
    keys = {name: v for name, v in noisy.dataset.variables.items() if name in ("id", "income", "tax")}
    plain = replace(noisy.dataset, variables=keys)
    found = measure_deviation_spread(noisy.true, noisy.protected, plain, {}, exchanges=True)
    assert found["income"] == [0.5] * 3
    none = replace(noisy.true, records=noisy.true.records.slice(0, 0))
    assert measure_deviation_spread(none, none, noisy.dataset, {}, exchanges=False)["tax"] == [0.0] * 3
