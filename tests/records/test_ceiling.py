"""The ceiling: how often a perfect reconstruction of the protected file would be right about the exposed."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.model.policy import PRESETS
from confide.records.ceilings.ceiling import WITHIN, Ceiling, best_guess, ceiling_note, find_ceilings, read_ceilings
from protecting import CATALOG, Protection, people, records_policy

SIZE = 3000
LOOSE = {"mean_cell": 1.0}
"""One unit a cell is enough, so that some hundred of the population are exposed."""


@pytest.fixture(scope="module")
def done() -> Protection:
    return Protection(people(SIZE, seed=1), policy=records_policy(**LOOSE))


def classes(ceilings: list[Ceiling]) -> list[Ceiling]:
    return [ceiling for ceiling in ceilings if not ceiling.number]


def test_of_records_that_are_not_protected_everything_is_known_about_the_exposed(done: Protection) -> None:
    bare = find_ceilings(done.true, done.true, done.dataset, done.exposure)
    assert {(c.variable, c.right) for c in bare} == {("ill", 1.0), ("income", 1.0), ("tax", 1.0)}
    assert all(c.guess < 0.7 and c.others < 0.8 and c.lift > 0.2 for c in bare)


def test_of_protected_records_hardly_more_is_known_than_others_tell(done: Protection) -> None:
    """Of those exposed on three keys or fewer: at most three standard errors above what statistics on others tell."""
    ceilings = classes(read_ceilings(done.protected.facts))
    assert [c.keys for c in ceilings] == [2, 3]
    for ceiling in ceilings:
        told = max(ceiling.guess, ceiling.others)
        assert ceiling.right <= told + 3 * np.sqrt(told * (1 - told) / ceiling.exposed), ceiling
    assert ceilings[1].exposed >= done.exposure.exposed.sum()


def test_who_is_not_exchanged_is_known() -> None:
    """Of the exposed, half exchange: the ceiling lies halfway between what is guessed and certainty, or above."""
    half = Protection(people(SIZE, seed=1), policy=records_policy(exchange=0.5, background=0.0, **LOOSE))
    (most,) = [c for c in classes(read_ceilings(half.protected.facts)) if c.keys == 3]
    assert 0.6 < most.right < 0.95


@pytest.mark.parametrize(("noise", "expected"), [(0.15, 0.55), (0.5, 0.25)])
def test_the_ceiling_of_a_number_follows_from_the_law_of_its_noise(noise: float, expected: float) -> None:
    """Logarithms of income have a variance of .36, those of tax by income of .1. With noise of variance v in both, precisions add to
    1/v + 1/(v + .1) + 1/.36, and 2 Phi(.1 root of that) - 1 are within ten per cent; the ceiling is the best of some hundred."""
    policy = records_policy(exchange=0.0, background=0.0, noise=noise, noise_exposed=noise, **LOOSE)
    done = Protection(people(SIZE, seed=1), policy=policy)
    ceilings = [c for c in read_ceilings(done.protected.facts) if c.number and c.keys == 3]
    assert {c.variable for c in ceilings} == {"income", "tax"}
    for ceiling in ceilings:
        assert expected - 0.05 < ceiling.right < expected + 0.1 and ceiling.guess < ceiling.right, ceiling


def test_nobody_exposed_on_two_keys_has_no_ceiling_there() -> None:
    """Three keys of three classes: the one who has all of xxx shares every pair of them with nine others."""
    text = 'unit = "id"\n[variables.id]\nrole = "identifier"\n'
    text += "".join(f'[variables.{k}]\nrole = "key"\n[variables.{k}.codes]\nx = "X"\ny = "Y"\nz = "Z"\n' for k in "abc")
    text += '[variables.s]\nrole = "confidential"\n[variables.s.codes]\nno = "No"\nyes = "Yes"\n'
    rows = [*["xxy"] * 9, *["xyx"] * 9, *["yxx"] * 9, "xxx"]
    table = pa.table({"id": range(28), **{k: [row[i] for row in rows] for i, k in enumerate("abc")}, "s": ["no"] * 28})
    done = Protection(table, text, policy=records_policy(mean_cell=0.0, background=0.0))
    assert [(c.keys, c.exposed) for c in read_ceilings(done.protected.facts)] == [(3, 1)]


def test_without_exposed_or_secrets_there_is_no_ceiling_and_no_note() -> None:
    for catalog in (CATALOG.replace('"key"', '"other"'), CATALOG.replace('"confidential"', '"other"')):
        done = Protection(people(500, seed=1), catalog)
        assert classes(read_ceilings(done.protected.facts)) == []
    assert ceiling_note([]) == ""


def test_the_note_says_the_worst_class_and_the_worst_number() -> None:
    some = [
        Ceiling("ill", 2, False, 10, 0.5, 0.4, 0.45),
        Ceiling("ill", 3, False, 90, 0.6, 0.4, 0.3),
        Ceiling("job", 3, False, 90, 0.7, 0.4, 0.65),
        Ceiling("income", 0, True, 90, 0.25, 0.2, 0.2),
    ]
    assert ceiling_note(some) == (
        "Even who had all protected records would know of a person who is exposed by their keys the class of 'ill' in 60% "
        "of cases (40% by a good guess), and 'income' to within 10 % in 25% of cases (20% by a good guess)."
    )


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=25))
def test_the_best_guess_is_right_as_often_as_any(values: list[float]) -> None:
    true = np.array(values)

    def right(claim: float) -> int:
        return int((np.abs(claim - true) <= WITHIN * true * (1 + 1e-12)).sum())

    # every claim that just reaches a value from above or below
    tried = np.concatenate([true, true * (1 + WITHIN), true * (1 - WITHIN)])
    assert right(best_guess(true)) == max(right(claim) for claim in tried)


def test_a_store_of_true_records_has_no_ceiling() -> None:
    bare = Protection(people(500, seed=1), policy=PRESETS["drop-q"])
    assert read_ceilings(bare.protected.facts) == [] and bare.protected is bare.true
    assert bare.protected.facts.records == "" and replace(bare.protected.facts) == bare.true.facts
