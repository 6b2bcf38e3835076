"""Drop q: 2 to k units of every part, the same for ever, each unit as likely as any other."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from asking import python_table
from confide.answering.mechanisms.dropq.draw import drop
from confide.answering.mechanisms.dropq.risk import disclosure_probability
from confide.answering.universe.census import Census
from confide.answering.universe.resolve import resolve
from confide.answering.universe.strata import strata
from confide.engines.memory.engine import MemoryEngine
from confide.model.evidence import Box, Cells, Tally
from confide.spelling.where import read_where

NO_RULES = {
    "universe": {"gamma": 0, "gamma_star": 0, "marginals": False, "complement": False},
    "tables": {"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False},
    "counts": {"mechanism": "none"},
}


def dropped(town: Any, where: Any = None, *, secret: int = 0, k: int = 5) -> list[int]:
    """The rows of the file whose units are dropped from a universe."""
    coded = town.coded(secret)
    engine = MemoryEngine(coded)
    universe = resolve(read_where(where), town.dataset)
    census = Census(engine.tally, universe.variables, coded.facts.several)

    def units(within: Sequence[Box], low: int, high: int) -> Any:
        return engine.units(within, low=low, high=high)

    keys = drop(strata(universe, census, town.dataset), census, units, k=k, secret=town.secret(secret))
    rows = {key: row for row, key in enumerate(coded.records["unit"].to_pylist())}
    return [rows[key] for key in keys]


def test_every_part_loses_two_to_k_units_of_its_own(town: Any) -> None:
    """Two parts: town a1, and county B, which its two towns fill; ages are combined."""
    people = town.people.to_pydict()
    where = {"sex": ["f"], "town": ["a1", "b1", "b2"], "age": ["20-39", "40-59"]}
    for secret in range(10):
        rows = dropped(town, where, secret=secret)
        lost = Counter(people["county"][row] for row in rows)
        assert set(lost) == {"A", "B"} and all(2 <= number <= 5 for number in lost.values())
        assert all(people["sex"][row] == "f" and people["town"][row] != "a2" for row in rows)
        assert all(20 <= people["age"][row] < 60 for row in rows)


@settings(max_examples=25)
@given(st.data())
def test_a_part_loses_the_same_units_whatever_padding_is_added(town: Any, data: st.DataObject) -> None:
    """Women of town a1, alone or with pieces of other sexes and towns: the drops of other parts never replace theirs."""
    people = town.people.to_pydict()
    target = {"sex": "f", "town": "a1"}
    alone = set(dropped(town, target))
    pads = []
    for _ in range(data.draw(st.integers(1, 3))):
        towns = data.draw(st.sets(st.sampled_from(["b1", "b2"]), min_size=1))
        pads.append({"town": sorted(towns), "sex": sorted(data.draw(st.sets(st.sampled_from("fm"), min_size=1)))})
    padded = set(dropped(town, [target, *pads]))
    assert alone == {row for row in padded if people["town"][row] == "a1"}
    assert len(padded) > len(alone)


def test_a_county_is_one_part_in_any_company_though_nobody_lives_in_one_of_its_towns(town: Any) -> None:
    people = town.people.to_pydict()
    for secret in range(5):
        alone = set(dropped(town, {"county": "A"}, secret=secret))
        for where in (
            {"town": ["a1", "a2", "b1"]},
            [{"county": "A"}, {"town": "b1"}],
            {"town": ["a1", "a2", "a9", "b1"]},
        ):
            padded = set(dropped(town, where, secret=secret))
            assert alone == {row for row in padded if people["county"][row] == "A"} < padded


def test_a_table_shows_the_drops_and_padding_does_not_move_them(town: Any) -> None:
    desk, bare = town.under(**NO_RULES).desk(), town.under(**NO_RULES, drop={"k": 0}).desk()
    everyone = bare.consider(python_table("people", rows="town")).columns["count"].values
    alone, padded = (
        desk.consider(python_table("people", rows="town", where=where)).columns["count"].values
        for where in ({"town": "a1"}, {"town": ["a1", "b1", "b2"]})
    )
    assert 2 <= everyone[0] - alone[0] <= 5
    assert padded[0] == alone[0]


def test_a_universe_smaller_than_q_loses_everyone_and_an_empty_one_nobody(town: Any) -> None:
    few = town.of(town.people.slice(0, 1))
    assert dropped(few) == [0]
    sex = town.people["sex"][0].as_py()
    assert dropped(few, {"sex": "m" if sex == "f" else "f"}) == []


def test_the_number_dropped_is_uniform_on_two_to_k(town: Any, people_of: Callable[..., pa.Table]) -> None:
    """600 secrets; chi-square with 3 degrees of freedom, refused below 1 in 1,000."""
    few = town.of(people_of(size=30, seed=8))
    numbers = Counter(len(dropped(few, secret=secret)) for secret in range(600))
    assert set(numbers) == {2, 3, 4, 5}
    assert chisquare([numbers[q] for q in (2, 3, 4, 5)]).pvalue > 1e-3


@pytest.mark.parametrize(("size", "secrets", "groups"), [(30, 600, 30), (1100, 150, 10)], ids=["few", "in key blocks"])
def test_every_unit_is_as_likely_to_be_dropped(
    town: Any, people_of: Callable[..., pa.Table], size: int, secrets: int, groups: int
) -> None:
    """Chi-square over units, or tenths of the file where a block of keys is ranked; refused below 1 in 1,000."""
    some = town.of(people_of(size=size, seed=9))
    times = np.zeros(size)
    for secret in range(secrets):
        times[dropped(some, secret=10_000 + secret)] += 1
    assert 2 * secrets <= times.sum() <= 5 * secrets
    assert chisquare(times.reshape(groups, -1).sum(axis=1)).pvalue > 1e-3


def test_a_unit_with_several_records_is_dropped_whole(town: Any, people_of: Callable[..., pa.Table]) -> None:
    desk = town.under(**NO_RULES).of(people_of(size=100, seed=3, visits=3)).desk()
    shown = desk.consider(python_table("people", rows="sex")).columns["count"].values
    assert shown[-1] in (285, 288, 291, 294)


def test_two_universes_that_differ_in_one_unit_are_dropped_from_anew(
    town: Any, people_of: Callable[..., pa.Table]
) -> None:
    """Differencing sixty people with and without the last, 300 secrets: the difference is that person, and nobody else,
    as rarely as formula (5) of Lucero et al. (2011) promises, plus 4 standard errors."""
    everyone = people_of(size=60, seed=11)
    cell = np.unique(
        np.char.add(*(everyone[name].to_numpy(zero_copy_only=False).astype(str) for name in ("sex", "ill"))),
        return_inverse=True,
    )[1]
    shares = np.bincount(cell) / len(cell)
    promised = disclosure_probability(shares.tolist(), k=5)
    found = 0
    for secret in range(300):
        with_all, without = (dropped(town.of(some), secret=secret) for some in (everyone, everyone.slice(0, 59)))
        lost = [np.bincount(cell[rows], minlength=len(shares)) for rows in (with_all, without)]
        found += 59 not in with_all and np.array_equal(*lost)
    assert len(shares) == 4 and promised < 0.05
    assert found / 300 < promised + 4 * np.sqrt(promised * (1 - promised) / 300)


def test_every_block_of_keys_is_as_likely(town: Any, people_of: Callable[..., pa.Table]) -> None:
    """1,100 people, ranked in blocks of a quarter of the keys or so; chi-square over quarters, refused below 1 in 1,000."""
    some = town.of(people_of(size=1100, seed=9))
    quarters = np.zeros(4)
    for secret in range(100):
        order = np.argsort(np.argsort(some.coded(secret).records["unit"].to_numpy()))
        quarters[order[dropped(some, secret=secret)[:1]] * 4 // 1100] += 1
    assert chisquare(quarters).pvalue > 1e-3


def test_a_block_of_keys_with_too_few_units_is_widened(town: Any) -> None:
    """A thousand units of which one alone has a low key: whatever block is drawn, two at least are dropped."""
    keys = np.r_[-(2**62), np.arange(2**62, 2**62 + 999)]

    def tally(question: Tally) -> Cells:
        one = np.array([len(keys)])
        return Cells(by=(), places=np.zeros((1, 0), np.int64), records=one, units=one, key=one)

    def units(within: Sequence[Box], low: int, high: int) -> Any:
        return keys[(keys >= low) & (keys <= high)]

    for secret in range(40):
        assert 2 <= len(drop([()], Census(tally, (), False), units, k=5, secret=town.secret(secret))) <= 5
