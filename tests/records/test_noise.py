"""Noise of confidential numbers: its law, what it leaves alone, and how it cancels in large groups."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.data.noise_law import REACH, log_mean, log_variance, power_mean, unbiasing
from confide.model.catalog.dataset import Kind, Role, Variable
from confide.model.policy import RecordRules
from confide.records.lots import drawn, lots
from confide.records.noise import balance, projection
from confide.records.noise.balance import EFFECTIVE, STILL, SWEEPS, BalancedTables, balanced
from confide.records.noise.factors import noised
from confide.records.noise.projection import FARTHEST
from protecting import CATALOG, Protection, people, records_policy, secret_of

SIZE = 20_000
RULES = RecordRules(noise=0.15, noise_exposed=0.5)
MONEY = Variable("money", "Money", Kind.NUMERIC, Role.CONFIDENTIAL, decimals=2)
NOBODY = np.zeros(SIZE, bool)


def units(size: int = SIZE) -> Any:
    return np.random.default_rng(1).integers(-(2**63), 2**63 - 1, size)


def test_the_noise_has_its_law() -> None:
    """Mean, spread and reach of the factors: within four standard errors of 20,000 draws."""
    f = noised(np.full(SIZE, 1e6), units(), MONEY, NOBODY, RULES, secret_of()) / 1e6
    sd = np.sqrt(power_mean(2, 0.15) - 1)
    assert abs(f.mean() - 1) < 4 * sd / np.sqrt(SIZE)
    assert f.std() == pytest.approx(sd, rel=4 / np.sqrt(2 * SIZE))
    logs = (np.log(f) - log_mean(0.15)) / 0.15
    assert np.abs(logs).max() <= REACH + 1e-6
    assert logs.var() == pytest.approx(log_variance(1.0), rel=4 * np.sqrt(2 / SIZE))


def test_the_exposed_have_more_of_it() -> None:
    exposed = np.arange(SIZE) % 2 == 0
    f = noised(np.full(SIZE, 1e6), units(), MONEY, exposed, RULES, secret_of()) / 1e6
    for rows, spread in ((exposed, 0.5), (~exposed, 0.15)):
        assert np.log(f[rows]).std() == pytest.approx(np.sqrt(log_variance(spread)), rel=4 / np.sqrt(SIZE))


def test_numbers_of_one_unit_share_a_factor_and_two_variables_have_their_own() -> None:
    twice = units(SIZE // 2).repeat(2)
    f = noised(np.full(SIZE, 1e6), twice, MONEY, NOBODY, RULES, secret_of())
    assert (f[::2] == f[1::2]).all() and len(np.unique(f)) > SIZE / 3
    first, second = (
        np.log(noised(np.full(SIZE, 1e6), units(), replace(MONEY, name=name), NOBODY, RULES, secret_of()))
        for name in ("wages", "taxes")
    )
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(SIZE)


def test_lots_of_two_purposes_or_secrets_have_nothing_to_do_with_each_other() -> None:
    keys = units()
    some = [lots(keys, secret_of(0), "a"), lots(keys, secret_of(0), "b"), lots(keys, secret_of(1), "a")]
    assert (np.abs(np.corrcoef(some) - np.eye(3)) < 4 / np.sqrt(SIZE)).all()
    for lot in some:
        counts = np.histogram(lot, 20, (0, 1))[0]
        # chi square of 19 degrees of freedom: beyond 43.8 in one of a thousand draws
        assert ((counts - SIZE / 20) ** 2 / (SIZE / 20)).sum() < 43.8
    assert drawn(keys, secret_of(), "a", 0.0).sum() == 0 and drawn(keys, secret_of(), "a", 1.0).all()
    assert not (drawn(keys, secret_of(), "a", 0.2) & ~drawn(keys, secret_of(), "a", 0.3)).any()


NUMBERS = st.lists(st.one_of(st.just(0.0), st.just(float("nan")), st.integers(-(10**9), 10**9).map(float)), max_size=30)


@given(NUMBERS, st.integers(0, 3), st.booleans(), st.floats(0, 1), st.floats(0, 1))
def test_zero_and_missing_stay_signs_stay_and_decimals_and_domain_hold(
    values: list[float], decimals: int, bounded: bool, noise: float, more: float
) -> None:
    low, high = (-1000.0, 1000.0) if bounded else (None, None)
    true = np.array(values)
    if bounded:
        true = np.clip(true, low, high)
    variable = replace(MONEY, decimals=decimals, minimum=low, maximum=high)
    rules, exposed = RecordRules(noise=noise, noise_exposed=more), np.arange(len(true)) % 2 == 0
    got = noised(true, units(len(true)), variable, exposed, rules, secret_of())
    np.testing.assert_array_equal(np.isnan(got), np.isnan(true))
    there = ~np.isnan(true)
    assert (got[there & (true == 0)] == 0).all() and (got[there] * true[there] >= 0).all()
    np.testing.assert_allclose(got[there], np.round(got[there], decimals), rtol=1e-15)
    if bounded:
        assert (np.abs(got[there]) <= 1000).all()
    if not noise:
        np.testing.assert_array_equal(got[there & ~exposed], true[there & ~exposed])


def ready(*, groups: int, size: int, seed: int = 3) -> tuple[Any, Any, Any, Any]:
    """Logarithms of factors, their spreads, amounts and classes of equal size."""
    rng = np.random.default_rng(seed)
    spread = np.full(groups * size, 0.15)
    logs = rng.normal(0, 0.15, groups * size) + log_mean(0.15)
    return logs, spread, rng.lognormal(7, 0.6, groups * size), np.arange(groups).repeat(size)


def sums_off(logs: Any, amounts: Any, group: Any) -> Any:
    """How far the sum of each group is from the true one, as a share of it."""
    return np.bincount(group, amounts * np.exp(logs)) / np.bincount(group, amounts) - 1


@pytest.mark.parametrize("covered_from", [0, 10**9])
def test_balance_keeps_the_sums_of_large_groups(covered_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether each table is looked at alone, or several as parts of a larger one."""
    monkeypatch.setattr("confide.records.noise.balance.COVERED_FROM", covered_from)
    logs, spread, amounts, group = ready(groups=8, size=500)
    other = np.random.default_rng(4).integers(0, 3, len(group))
    even = balanced(logs, spread, amounts, np.ones(len(group)), BalancedTables.of([group, other]))
    for classes in (group, other, group * 3 + other):
        before, after = np.abs(sums_off(logs, amounts, classes)).max(), np.abs(sums_off(even, amounts, classes)).max()
        assert after < before / 5 and after < 0.002
        means = [
            np.abs(np.bincount(classes, one - log_mean(0.15)) / np.bincount(classes)).max() for one in (logs, even)
        ]
        assert means[1] < means[0] / 5 and means[1] < 0.002
    assert np.std(even - logs) < 0.02, "the noise of each is what it was but for a small share"


def test_balance_leaves_small_groups_alone() -> None:
    logs, spread, amounts, group = ready(groups=100, size=EFFECTIVE - 1)
    np.testing.assert_array_equal(
        balanced(logs, spread, amounts, np.ones(len(group)), BalancedTables.of([group])), logs
    )
    # of which none is in a group that is large enough: neither by one variable nor by two
    np.testing.assert_array_equal(
        balanced(logs, spread, amounts, np.ones(len(group)), BalancedTables.of([group, group])), logs
    )


def test_noise_gives_large_groups_back_the_means_that_exchanges_changed() -> None:
    """Of 4,000 people 200 are in another group than they were; groups differ, so that means would move towards each other."""
    logs, spread, amounts, group = ready(groups=8, size=500)
    amounts *= 1 + group / 20
    now = group.copy()
    now[::20] = np.random.default_rng(6).permutation(group[::20])
    even = balanced(logs, spread, amounts, np.ones(len(group)), BalancedTables.of([now], [group]))
    true = np.bincount(group, amounts) / np.bincount(group)
    off = [np.abs(np.bincount(now, amounts * f) / np.bincount(now) / true - 1).max() for f in (1.0, np.exp(even))]
    assert off[1] < off[0] / 5
    assert np.std(even - logs) < 0.03, "the noise of each is what it was but for a small share"


def test_noise_does_not_tell_of_somebody_large_who_left_a_group() -> None:
    """One of five hundred has as much as all others, and exchanged: those who stay are not raised by what left with it."""
    logs, spread, amounts, group = ready(groups=2, size=500)
    amounts[0] = amounts[1:500].sum()
    now = group.copy()
    now[[0, 500]] = 1, 0
    even = balanced(logs, spread, amounts, np.ones(len(group)), BalancedTables.of([now], [group]))
    assert np.abs(even - logs)[1:500].max() < 3 * 0.15 * 3 / np.sqrt(500)


def exchanged_sizes(seed: int, *, tail: float) -> tuple[np.ndarray, np.ndarray]:
    """The noise of 4,000 before and after balancing: a few large among many small ones, and the reverse."""
    rng = np.random.default_rng(seed)
    amounts, spread = rng.lognormal(5, tail, 4000), np.full(4000, 0.6)
    sizes = np.searchsorted(np.quantile(amounts, [0.3, 0.6, 0.8, 0.9, 0.95]), amounts)
    others = [rng.integers(0, classes, 4000) for classes in (5, 12, 8, 6)]
    logs = rng.normal(log_mean(0.6), 0.6, 4000).clip(-1.5, 1.5)
    weights = np.where(sizes > 3, 1.0, rng.uniform(1, 12, 4000))
    now, moved = sizes.copy(), rng.choice(4000, 500, replace=False)
    now[moved] = sizes[rng.permutation(moved)]
    return logs, balanced(logs, spread, amounts, weights, BalancedTables.of([now, *others], [sizes, *others]))


@pytest.mark.parametrize("seed", range(6))
def test_balance_moves_nobody_far_where_size_classes_were_exchanged(seed: int) -> None:
    """Balancing both sums once asked for factors of e^94 (seed 3)."""
    logs, even = exchanged_sizes(seed, tail=1.5)
    assert np.abs(even - logs).max() < FARTHEST * 0.6 + 1e-9


def test_a_sweep_that_leaves_nearly_what_it_found_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[float] = []
    monkeypatch.setattr(balance, "project", lambda *given: found.append(projection.project(*given)) or found[-1])
    _, even = exchanged_sizes(0, tail=2.2)
    assert 2 < len(found) < SWEEPS and found[-1] > STILL * found[-2], "it stopped as hardly less was left"
    assert all(later < STILL * before for before, later in itertools.pairwise(found[:-1]))
    monkeypatch.setattr(balance, "SWEEPS", len(found) - 1)
    np.testing.assert_array_equal(exchanged_sizes(0, tail=2.2)[1], even)


def test_units_of_several_records_keep_their_noise() -> None:
    logs, spread, amounts, group = ready(groups=4, size=500)
    loose = np.arange(len(group)) % 3 > 0
    even = balanced(logs, spread, amounts, np.ones(len(group)), BalancedTables.of([group], loose=loose))
    np.testing.assert_array_equal(even[~loose], logs[~loose])
    assert np.abs(sums_off(even, amounts, group)).max() < np.abs(sums_off(logs, amounts, group)).max() / 5


def test_balance_does_not_give_away_who_holds_most_of_a_group() -> None:
    """One of five hundred holds half of the sum: its noise stays in the sum, and stays its own."""
    logs, spread, amounts, group = ready(groups=1, size=500)
    amounts[0] = amounts[1:].sum()
    logs[0] = 0.3
    even = balanced(logs, spread, amounts, np.ones(500), BalancedTables.of([group]))
    assert even[0] == pytest.approx(0.3, abs=0.03)
    assert sums_off(even, amounts, group)[0] > 0.12


def test_balance_leaves_those_who_have_most_their_noise() -> None:
    """The largest of 600 has 7 per cent of the sum; over 60 draws its noise keeps nine tenths of its spread.

    Of 60 draws the ratio of the two spreads, which go together, is known to within a few hundredths.
    """
    _, spread, amounts, group = ready(groups=1, size=600)
    amounts[0] = 0.07 * amounts.sum()
    rng = np.random.default_rng(8)
    draws = [rng.normal(0, 0.15, 600) + log_mean(0.15) for _ in range(60)]
    kept = [balanced(logs, spread, amounts, np.ones(600), BalancedTables.of([group]))[0] for logs in draws]
    assert np.std(kept) > 0.9 * np.std([logs[0] for logs in draws])
    assert (amounts.sum() ** 2 / (amounts**2).sum()) > EFFECTIVE, "the group is balanced"


def test_sums_by_classes_hardly_change_on_a_site_and_numbers_do() -> None:
    done = Protection(people(SIZE, seed=2), policy=records_policy(exchange=0.0, background=0.0))
    true, shown = (coded.numbers("income") for coded in (done.true, done.protected))
    there = true > 0
    assert np.std(shown[there] / true[there] - 1) > 0.14
    for name in ("sex", "county", "mood"):
        places = done.true.places(name)
        before, after = (np.bincount(places[there], values[there]) for values in (true, shown))
        large = np.bincount(places[there]) > 1000
        assert large.sum() >= 2 and np.abs(after / before - 1)[large].max() < 0.003, name
    np.testing.assert_array_equal(np.isnan(true), np.isnan(shown))
    assert (shown[true == 0] == 0).all()


def test_forms_make_the_mean_of_a_transformed_number_right() -> None:
    """Square root, square and logarithm of the stored form: the means are the true ones within four standard errors."""
    done = Protection(people(SIZE, seed=2), policy=records_policy(exchange=0.0, background=0.0, noise=0.3))
    facts, true = done.protected.facts, done.true.numbers("income")
    there = true > 0
    assert set(facts.forms) == {f"{how}({name})" for how in ("log", "sqrt", "square") for name in ("income", "tax")}
    for how, power, transform in (("log", 0, np.log), ("sqrt", 0.5, np.sqrt), ("square", 2, np.square)):
        label = f"{how}(income)"
        form = done.protected.records[facts.forms[label]].to_numpy() / 10.0 ** facts.value_decimals[label]
        spread = np.where(done.exposure.numbers["income"], done.policy.records.noise_exposed, 0.3)
        np.testing.assert_allclose(
            form[there], (done.protected.numbers("income") * unbiasing(power, spread))[there], atol=0.001
        )
        off = transform(form[there]) - transform(true[there])
        assert abs(off.mean()) < 4 * off.std() / np.sqrt(there.sum()), how


def test_an_update_leaves_the_noise_of_almost_everybody_as_it_was() -> None:
    """One in a hundred is new. Balance moves everybody's noise a little: by less than a tenth of its spread, at the median,
    since it also makes up for exchanges with those who are new.

    Whoever becomes exposed, or is so no longer, has another spread: fewer than one in five are moved by a fifth of it.
    """
    before = Protection(people(3000, seed=1))
    after = Protection(pa.concat_tables([before.table, people(30, seed=2, first=3000)]))
    there = before.true.numbers("income") > 0
    first, second = (
        np.log(one.protected.numbers("income")[:3000][there] / one.true.numbers("income")[:3000][there])
        for one in (before, after)
    )
    assert np.median(np.abs(first - second)) < 0.15 / 10
    assert np.mean(np.abs(first - second) > 0.15 / 5) < 0.2


def test_records_of_one_unit_share_their_noise_on_a_site() -> None:
    once = people(400, seed=6)
    thrice = once.take(pa.array(np.arange(400).repeat(3)))
    done = Protection(thrice)
    shown = done.protected.numbers("tax").reshape(-1, 3)
    assert (shown == shown[:, :1]).all() and not np.array_equal(shown.ravel(), done.true.numbers("tax"))


def test_bins_and_recodes_follow_a_number_that_was_noised() -> None:
    recode = '\n[variables.rich]\nof = "income"\ncutpoints = [500, 1500]\nrole = "confidential"\n'
    done = Protection(people(3000, seed=1), CATALOG + recode)
    shown = done.protected.numbers("income")
    expected = np.where(np.isnan(shown), 3, np.searchsorted([500, 1500], shown, side="right"))
    np.testing.assert_array_equal(done.protected.places("rich"), expected)
    assert done.moved("rich").any()


def test_weighted_contributions_follow_a_number_that_was_noised() -> None:
    catalog = CATALOG.replace('unit = "id"', 'unit = "id"\nweight = "w"')
    weight = np.random.default_rng(7).integers(50, 200, 3000) / 100
    done = Protection(people(3000, seed=1).append_column("w", pa.array(weight)), catalog)
    facts, records = done.protected.facts, done.protected.records
    total = records[facts.numbers["tax"]].to_numpy() / 10.0 ** facts.decimals["tax"]
    np.testing.assert_allclose(total, weight * done.protected.numbers("tax"), atol=1e-9)
    assert facts.noise["tax"] == pytest.approx(0.2, abs=0.1)


def test_zeros_have_no_noise_that_the_others_would_have_to_balance() -> None:
    """One in twenty has an amount: sums by class stay, and what each of them has of noise is what the law gives."""
    rng = np.random.default_rng(5)
    group = rng.integers(0, 4, SIZE)
    values = np.where(rng.random(SIZE) < 0.05, 1e4, 0.0)
    some = values > 0
    f = with_balance(values, group)
    np.testing.assert_allclose(np.bincount(group, f), np.bincount(group, values), rtol=1e-3)
    logs = np.log(f[some] / values[some])
    assert abs(logs.mean() - log_mean(0.15)) < 4 * 0.15 / np.sqrt(some.sum())
    assert logs.std() == pytest.approx(np.sqrt(log_variance(0.15)), rel=4 / np.sqrt(2 * some.sum()))


def test_negative_numbers_keep_their_noise_beside_balanced_ones() -> None:
    values = np.where(np.arange(SIZE) % 10 == 0, -1e4, 1e4)
    f = with_balance(values, np.arange(SIZE) % 3)
    logs = np.log((f / values)[values < 0])
    assert logs.std() == pytest.approx(np.sqrt(log_variance(0.15)), rel=4 / np.sqrt(SIZE / 5))


def with_balance(values: Any, group: Any) -> Any:
    """Numbers with noise that is balanced by the classes of one variable."""

    def balance(logs: Any, spread: Any, amounts: Any) -> Any:
        return balanced(logs, spread, amounts, np.ones(len(group)), BalancedTables.of([group]))

    return noised(values, units(len(values)), MONEY, np.zeros(len(values), bool), RULES, secret_of(), balance)
