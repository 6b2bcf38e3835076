"""L10: seeds that can be guessed."""

import numpy as np
import pandas as pd
import pytest

from confide.microdata import AdditiveNoise, RankSwapping

SECRET = 0x5D1F0C7E2B9A4466
"""A seed that nobody counts up to."""


def test_rank_swapping_is_undone_exactly_if_the_seed_is_small_and_not_if_it_is_secret(firms_of, tried):
    original = firms_of(500, 3)
    method, names = RankSwapping(p=15), list(original)
    about = {"keys": names[:2], "confidential": "v2", "method": method}
    shuffled = np.random.default_rng(1).permutation(500)  # the order of the records is of no use as a defence
    weak = method.protect(original, columns=names, teaching_seed=42).frame
    found = tried("guessable-seeds", original.iloc[shuffled], weak.iloc[shuffled], **about)
    assert found.notes == ("The seed is 42.",)
    assert found.precision == 1 and found.claim_rate > 0.9  # a few equal values stay open
    secret = method.protect(original, columns=names, teaching_seed=SECRET).frame
    assert tried("guessable-seeds", original, secret, **about).claimed == 0


@pytest.mark.parametrize("kind", ["uncorrelated", "correlated", "linear", "covariance-preserving"])
def test_noise_is_undone_to_the_last_digits(kind, firms_of, tried):
    original = firms_of(300, 3)
    method = AdditiveNoise(k=0.3, kind=kind)
    released = method.protect(original, columns=list(original), teaching_seed=17).frame
    found = tried("guessable-seeds", original, released, keys="v0", confidential="v1", method=method)
    assert found.notes == ("The seed is 17.",) and (found.targets, found.right) == (900, 900)


@pytest.mark.parametrize("k", [0.3, 1.5])
def test_exact_noise_is_undone_too_and_missing_values_do_not_help(k, firms_of, tried):
    original = firms_of(400, 3).mask(np.random.default_rng(2).random((400, 3)) < 0.03)
    method = AdditiveNoise(k=k, exact=True)
    released = method.protect(original, columns=list(original), teaching_seed=3).frame
    found = tried("guessable-seeds", original, released, keys="v0", method=method)
    assert found.claimed == int(original.notna().sum().sum()) and found.precision > 0.99


@pytest.mark.parametrize("defence", ["a secret seed", "another order"])
def test_a_secret_seed_or_another_order_of_records_keeps_noise(defence, firms_of, tried):
    original = firms_of(300, 3)
    method, order = AdditiveNoise(k=0.3), np.random.default_rng(1).permutation(300)
    secret = defence == "a secret seed"
    released = method.protect(original, columns=list(original), teaching_seed=SECRET if secret else 17).frame
    rows = np.arange(300) if secret else order
    found = tried("guessable-seeds", original.iloc[rows], released.iloc[rows], keys="v0", method=method)
    assert found.claimed == 0 and found.targets == 900 and "None of the seeds" in found.notes[0]


def test_equal_values_are_claimed_only_where_all_of_them_came_from_one(tried):
    rng = np.random.default_rng(5)
    original = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400), "years": rng.integers(0, 9, 400)})
    method = RankSwapping(p=5)
    released = method.protect(original, columns=list(original), teaching_seed=9).frame
    found = tried("guessable-seeds", original, released, keys=["a", "b"], method=method)
    assert found.notes == ("The seed is 9.",) and found.precision == 1 and found.claimed >= 800


def test_a_seed_is_not_recognised_by_one_key(firms_of, tried):
    original = firms_of(100, 2)
    method = RankSwapping(p=15)
    released = method.protect(original, columns=["v0", "v1"], teaching_seed=1).frame
    found = tried("guessable-seeds", original, released, keys="v0", method=method)
    assert not found.applies and "two keys" in found.stopped
