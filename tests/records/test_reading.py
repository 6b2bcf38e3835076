"""Unlimited questions: an intruder who holds the whole protected file, learns as well as one can, and stays below the ceiling."""

from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier

from confide.arrays import Bools, Floats, Ints
from confide.records.ceilings.ceiling import WITHIN, Ceiling, read_ceilings
from confide.records.ceilings.reading import found_records, most_classes, most_within, read_together
from confide.records.cells import UnitCells
from confide.records.exposure import Exposed
from protecting import Protection, people, records_policy

SIZE = 3000
COARSE = ("sex", "county", "age", "job", "mood")
TREES = {"max_iter": 40, "max_leaf_nodes": 8, "random_state": 1}


@cache
def protection(**rules: float) -> Protection:
    return Protection(people(SIZE, seed=1), policy=records_policy(mean_cell=1.0, **rules))


def largest(crosses: tuple[Exposed, ...], keys: int, number: int = 6) -> list[Exposed]:
    some = [one for one in crosses if len(one.cross.traits) <= keys]
    return sorted(some, key=lambda one: -len(one.rows))[:number]


def ceiling(done: Protection, variable: str, *, keys: int, number: bool) -> Ceiling:
    found = read_ceilings(done.protected.facts)
    return next(c for c in found if (c.variable, c.keys, c.number) == (variable, keys, number))


def most(rate: float, size: int) -> float:
    """A ceiling and three standard errors of a share of so many."""
    return rate + 3 * float(np.sqrt(rate * (1 - rate) / size))


def taken(done: Protection, keys: int) -> tuple[Ints, Ints]:
    """Everybody alone in a cross, as often as they are, and the protected record under their keys, -1 for none."""
    known, seen = UnitCells(done.true, done.dataset), UnitCells(done.protected, done.dataset)
    crosses = largest(done.exposure.alone, keys)
    each = [found_records(known.of(one.cross.names, one.rows), seen, one.cross.names) for one in crosses]
    return np.concatenate([one.rows for one in crosses]), np.concatenate(each)


def learnt(done: Protection, rows: Ints, records: Ints, wanted: Floats) -> Floats:
    """What boosted trees tell of each unit by all that its record shows, learnt from the truth about half of the others."""
    places = [done.protected.places(name)[records] for name in COARSE]
    features = np.stack([*(np.nan_to_num(done.protected.numbers(n)[records]) for n in ("income", "tax")), *places], 1)
    half, found = rows % 2 == 0, np.empty(len(rows))
    for part in (half, ~half):
        model = HistGradientBoostingRegressor(loss="absolute_error", **TREES)
        found[part] = model.fit(features[~part], wanted[~part]).predict(features[part])
    return found


@pytest.mark.parametrize("rules", [{}, {"background_exposed": 0.35}, {"exchange": 0.0, "background": 0.0}])
@pytest.mark.parametrize("keys", [2, 3])
def test_who_holds_the_file_reads_no_number_better_than_the_ceiling(rules: dict[str, float], keys: int) -> None:
    done = protection(**rules)
    rows, records = taken(done, keys)
    tax = done.true.numbers("tax")[rows]
    seen = np.asarray(records >= 0) & (tax > 0)
    reading = learnt(done, rows[seen], records[seen], np.log(tax[seen]))
    right = int((np.abs(np.exp(reading) - tax[seen]) <= WITHIN * tax[seen]).sum())
    stated = ceiling(done, "tax", keys=keys, number=True)
    assert right / (tax > 0).sum() <= most(stated.right, stated.exposed)


@pytest.mark.parametrize("keys", [2, 3])
def test_who_holds_the_file_reads_no_class_better_than_the_ceiling(keys: int) -> None:
    """A forest learns from the protected file what goes with the keys of a cross, and is asked for the exposed by true keys."""
    done = protection()
    right, size = 0, 0
    for one in largest(done.exposure.found, keys):
        known, seen = (np.stack([c.places(n) for n in one.cross.names], 1) for c in (done.true, done.protected))
        forest = RandomForestClassifier(20, min_samples_leaf=3, random_state=1)
        claims = forest.fit(seen, done.protected.places("ill")).predict(known[one.rows])
        right, size = right + int((claims == done.true.places("ill")[one.rows]).sum()), size + len(one.rows)
    assert right / size <= most(ceiling(done, "ill", keys=keys, number=False).right, size)


def test_a_number_is_known_better_by_all_numbers_of_its_record_than_by_itself() -> None:
    """Tax is a share of income: each with noise of its own, both together tell more, and the ceiling knows."""
    done = protection(exchange=0.0, background=0.0)
    rows = np.flatnonzero(done.exposure.single & (np.nan_to_num(done.true.numbers("income")) > 0))
    true, shown = done.true.numbers("income")[rows], [done.protected.numbers(n)[rows] for n in ("income", "tax")]
    alone, together = (read_together(true, some, []) for some in (shown[:1], shown))
    assert np.std(together - np.log(true)) < 0.95 * np.std(alone - np.log(true))


def test_a_law_has_few_terms_where_there_are_few_units() -> None:
    """Of 30 units whose numbers are all noise, nothing is read but their level."""
    rng = np.random.default_rng(1)
    true, shown = rng.lognormal(size=30), [rng.lognormal(size=30) for _ in range(3)]
    assert len(np.unique(read_together(true, shown, []))) == 1


def test_units_with_patterns_of_zeros_of_their_own_have_one_law_together() -> None:
    """Of 8 units, each of which has other numbers above 0, nothing is read but their level: not each truth by a law of its own."""
    rng = np.random.default_rng(2)
    shown = [np.where((np.arange(8) >> bit) & 1, rng.lognormal(size=8), 0.0) for bit in range(3)]
    assert len(np.unique(read_together(rng.lognormal(size=8), shown, []))) == 1


def test_what_is_empty_is_claimed_for_itself() -> None:
    """Eight of class 0 show nothing; of the others the commonest class is claimed."""
    classes = np.array([0] * 8 + [1, 1, 2])
    nothing: Bools = classes == 0
    assert most_classes(classes, np.zeros(11), nothing) == 10
    assert most_classes(classes, np.zeros(11), np.zeros(11, bool)) == 8


def test_the_factor_that_brings_most_within_a_share_is_taken() -> None:
    true = np.array([10.0, 20.0, 30.0, 31.0])
    assert most_within(true, np.log(true * 3.0), 0.1) == 4
    assert most_within(true, np.zeros(4), 0.1) == 2
