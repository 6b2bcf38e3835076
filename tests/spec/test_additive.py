"""`tables.additive`: protected counts whose totals are the sums of their parts."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking import Desk, python_table
from confide.answering.mechanisms import additive as module
from confide.answering.mechanisms.additive import additive, restores
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.engines.memory.engine import MemoryEngine
from confide.model.policy import CountRules, Policy, TableRules, preset_policy
from confide.site.coding.encode import encode
from confide.site.secret import Secret
from confide.tables.perturbation.transitions import transitions

SECRET = Secret(bytes(range(32)))


def cube(inner: np.ndarray) -> np.ndarray:
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis=axis, keepdims=True)], axis=axis)
    return inner


def adds_up(counts: np.ndarray) -> bool:
    inner = counts[tuple(slice(None, -1) for _ in counts.shape)]
    return bool((cube(inner) == counts).all())


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.integers(0, 2**32),
    st.sampled_from([(5, 2.0, 2), (3, 1.0, 0), (8, 6.5, 4)]),
)
@settings(max_examples=60, deadline=None)
def test_counts_add_up_without_small_counts_and_zeros_stay(shape: list[int], seed: int, rules: Any) -> None:
    D, V, js = rules
    random = np.random.default_rng(seed)
    true = cube(random.poisson(random.gamma(0.5, 8, shape)))
    noisy = transitions(D=D, V=V, js=js).draw(true, random.random(true.shape))
    given_rules = CountRules(distance=D, variance=V, small=js)
    found = additive(noisy, given_rules, SECRET)
    inner = tuple(slice(None, -1) for _ in shape)
    assert adds_up(found)
    assert not ((found > 0) & (found <= js)).any()
    assert (found[inner][noisy[inner] == 0] == 0).all()
    assert abs(found - noisy)[inner].max() <= D + js
    assert (additive(noisy, given_rules, SECRET) == found).all()


def test_counts_that_add_up_stay() -> None:
    counts = cube(np.array([[3, 0, 7], [12, 5, 4]]))
    assert (additive(counts, CountRules(), SECRET) == counts).all()


def test_only_protected_counts_matter(town: Any) -> None:
    """The same protected counts give the same answer: what else is known of the cells plays no part."""
    noisy = np.array([[3, 4, 8], [5, 0, 5], [9, 4, 12]])
    assert (additive(noisy.astype(float), CountRules(), SECRET) == additive(noisy, CountRules(), SECRET)).all()


@pytest.fixture
def desks(town: Any) -> tuple[Desk, Desk]:
    """One desk that restores additivity and one that does not, under a policy that refuses nothing."""
    coded = encode(town.dataset, town.people, secret=SECRET)
    plain = replace(
        preset_policy("tablebuilder"), tables=TableRules(sparsity=1.0, mean_cell=0.0, class_disclosure=False)
    )
    adding = replace(plain, tables=replace(plain.tables, additive=True))
    adds, does_not = (
        Desk(Road(town.dataset, MemoryEngine(coded), Shield(policy, SECRET))) for policy in (adding, plain)
    )
    return adds, does_not


def asked(desk: Desk, **words: Any) -> Any:
    return desk.consider(python_table("people", **words)).release


@pytest.mark.parametrize(
    "words", [{"rows": "sex", "columns": "town"}, {"rows": ["county", "age"], "columns": "work"}, {"rows": "town"}]
)
def test_a_site_with_additive_tables_says_that_totals_add_and_they_do(desks: tuple[Desk, Desk], words: Any) -> None:
    adding, plain = (asked(desk, **words) for desk in desks)
    counts, before = adding.columns["count"].values, plain.columns["count"].values
    assert adding.totals_add
    assert not plain.totals_add
    assert adds_up(counts)
    assert abs(counts - before).mean() < 2
    assert not np.isin(counts, (1, 2)).any()
    assert (adding.columns["count"].noise >= plain.columns["count"].noise).all()
    assert any("add up" in note for note in adding.notes)


def test_other_measures_are_not_said_to_add(desks: tuple[Desk, Desk]) -> None:
    adding, plain = (asked(desk, rows="sex", columns="town", measure=["count", "total"], of="income") for desk in desks)
    assert not adding.totals_add
    assert adds_up(adding.columns["count"].values)
    assert (adding.columns["total"].values == plain.columns["total"].values)[
        ~np.isnan(plain.columns["total"].values)
    ].all()


def test_a_table_too_large_is_released_as_it_is_and_says_so(desks: tuple[Desk, Desk], monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MOST", 10)
    adding, plain = (asked(desk, rows="sex", columns="town") for desk in desks)
    assert not adding.totals_add
    assert adding.columns["count"] == plain.columns["count"]
    assert adding.notes == plain.notes


def test_counts_that_are_not_protected_add_up_anyway() -> None:
    assert not restores(Policy(counts=CountRules(mechanism="none"), tables=TableRules(additive=True)), (3, 3))


def test_tables_differ_in_cells_they_share_by_little(desks: tuple[Desk, Desk]) -> None:
    """The price: the same cell may have another count in another table."""
    shared = [asked(desks[0], rows="town", columns=by).columns["count"].values[:, -1] for by in ("sex", "age", "work")]
    assert all(abs(one - other).max() <= 10 for one, other in pairwise(shared))
