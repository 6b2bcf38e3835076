"""Cell keys offline: as the server's, as R's cellKey, as the ONS."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import Desk, python_table
from confide import tables
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.engines.memory.engine import MemoryEngine
from confide.errors import Mistake
from confide.model.policy import CountRules, OutputRules, TableRules, TotalRules, preset_policy
from confide.tables.files.ptable import KeyTable, PTable

PLAIN = replace(
    preset_policy("tablebuilder"),
    tables=TableRules(sparsity=1.0, mean_cell=0.0, class_disclosure=False),
    totals=TotalRules(units=0, dominance_k=100.0, p_percent=0.0, risk_limit=1.0),
    output=OutputRules(digits=15),
)
MATRIX = tables.transitions(D=5, V=2.0, js=2)


def server(town: Any, policy: Any, **words: Any) -> dict[tuple[str, ...], float]:
    """The cells of a site's table, by their codes."""
    desk = Desk(Road(town.dataset, MemoryEngine(town.coded()), Shield(policy, town.secret())))
    release = desk.consider(python_table("people", **words)).release
    values = next(iter(release.columns.values())).values
    codes = [[*dimension.codes[:-1], "Total"] for dimension in release.dimensions]
    return {tuple(codes[a][p] for a, p in enumerate(at)): float(values[at]) for at in np.ndindex(values.shape)}


def offline(result: Any) -> dict[tuple[str, ...], float]:
    t = result.table
    codes = [t.codes(name) for name in t.variables]
    return {cell: value for *cell_, value in zip(*codes, t.value.tolist(), strict=True) for cell in [tuple(cell_)]}


def agree(ours: dict[tuple[str, ...], float], theirs: dict[tuple[str, ...], float], **tolerance: float) -> None:
    assert len(ours) > 8
    assert set(ours) <= set(theirs)
    for cell, value in ours.items():
        assert value == pytest.approx(theirs[cell], **tolerance), cell


@pytest.mark.parametrize("by", [["sex", "town"], ["town", "trade"], ["county", "ill", "sex"]])
def test_counts_are_those_of_the_server(town: Any, by: list[str]) -> None:
    ours = offline(tables.perturb(town.people, MATRIX, by=by, unit="id", secret=town.secret()))
    agree(ours, server(town, PLAIN, rows=by), abs=0)


def test_totals_of_a_hierarchy_are_those_of_the_server_too(town: Any) -> None:
    result = tables.perturb(
        town.people, MATRIX, by=["town", "sex"], hierarchies={"town": ["county"]}, unit="id", secret=town.secret()
    )
    by_county = server(town, PLAIN, rows="county", columns="sex")
    ours = {cell: value for cell, value in offline(result).items() if cell[0] in ("A", "B", "Total")}
    agree(ours, by_county, abs=0)


@pytest.mark.parametrize("mechanism", ["ma", "thompson"])
def test_weighted_totals_are_those_of_the_server(town: Any, mechanism: str) -> None:
    policy = replace(PLAIN, totals=replace(PLAIN.totals, mechanism=mechanism))
    noise = tables.Ma(0.03) if mechanism == "ma" else tables.Thompson((0.4, 0.3, 0.2))
    people = town.people.filter(pa.compute.is_valid(town.people["income"]))
    ours = tables.perturb(people, noise, by=["sex", "town"], of="income", weight="w", unit="id", secret=town.secret())
    theirs = server(town, policy, rows=["sex", "town"], measure="total", of="income")
    # the server rounds to the second digit of the standard error, which is some per cent of a total
    agree(offline(ours), theirs, abs=1.0, rel=5e-3)
    assert ours.largest > 0


def test_another_secret_gives_other_counts(town: Any) -> None:
    one, other = (
        tables.perturb(town.people, MATRIX, by=["sex", "town"], unit="id", secret=town.secret(number))
        for number in (0, 1)
    )
    assert (one.table.value != other.table.value).any()


def test_record_keys_in_the_unit_interval_add_up_to_a_fraction() -> None:
    """As in R's cellKey: the key of the total is the sum of all keys, less its whole part."""
    frame = {"sex": list("ffffmmm"), "key": [0.5, 0.25, 0.125, 0.5, 0.75, 0.5, 0.25]}
    result = tables.perturb(frame, PTable.of(MATRIX), by=["sex"], key="key")
    keys = np.array([2.875 % 1, 1.375 % 1, 1.5 % 1])
    assert result.table.value.tolist() == MATRIX.draw(np.array([7, 4, 3]), keys).tolist()


def test_the_order_of_records_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    frame = {"a": rng.choice(list("xyz"), 500), "b": rng.choice(list("pq"), 500), "key": rng.random(500)}
    turned = {name: column[::-1] for name, column in frame.items()}
    one, other = (tables.perturb(each, MATRIX, by=["a", "b"], key="key").table.value for each in (frame, turned))
    assert (one == other).all()


def test_keys_of_the_ons_are_summed_modulo_256(tmp_path: Any) -> None:
    lookup = KeyTable.of(PTable.of(MATRIX))
    tables.write_key_table(lookup, tmp_path / "keys.csv")
    frame = {"sex": list("ffffmmm"), "key": [200, 100, 7, 3, 255, 255, 4]}
    result = tables.perturb(frame, tables.read_key_table(tmp_path / "keys.csv"), by=["sex"], key="key")
    assert result.table.value.tolist() == lookup.draw(np.array([7, 4, 3]), np.array([824, 310, 514]) % 256).tolist()


def test_noisy_tables_can_be_made_to_add_up(town: Any) -> None:
    noisy = tables.perturb(town.people, MATRIX, by=["sex", "town", "trade"], unit="id", secret=town.secret())
    adjusted = tables.adjust(noisy.table, original=noisy.before, D=5, teaching_seed=1)
    adjusted.table.check()


FRAME = {
    "sex": list("ffmm"),
    "id": list("abcd"),
    "key": [0.1, 0.2, 0.3, 0.4],
    "x": [1.0, 2, 3, 4],
    "twice": list("aabb"),
}


@pytest.mark.parametrize(
    ("moves", "words", "said"),
    [
        (MATRIX, {}, "where keys come from"),
        (MATRIX, {"unit": "id"}, "where keys come from"),
        (MATRIX, {"unit": "id", "secret": True, "key": "key"}, "where keys come from"),
        (MATRIX, {"key": "key", "of": "x"}, "totals by Ma"),
        (MATRIX, {"key": "x"}, "not in"),
        (MATRIX, {"unit": "twice", "secret": True}, "several records"),
        (tables.Ma(0.1), {"key": "key"}, "totals by Ma"),
        (tables.Thompson((0.4, 0.3)), {"key": "key", "of": "x"}, "several draws"),
        (KeyTable.of(PTable.of(MATRIX), rows=300), {"key": "key"}, "whole numbers from 0 to 255"),
        (KeyTable.of(PTable.of(MATRIX), rows=300), {"unit": "id", "secret": True}, "needs such record keys"),
        (MATRIX, {"key": "kye"}, "No column"),
    ],
)
def test_what_does_not_fit_is_a_mistake(town: Any, moves: Any, words: dict[str, Any], said: str) -> None:
    given = {**words, **({"secret": town.secret()} if words.get("secret") else {})}
    with pytest.raises(Mistake, match=said):
        tables.perturb(FRAME, moves, by=["sex"], **given)


def test_one_record_and_one_code() -> None:
    result = tables.perturb({"sex": ["é"], "key": [0.9]}, MATRIX, by=["sex"], key="key")
    assert result.table.value.tolist() == [3.0, 3.0]


def test_the_rules_of_the_server_are_the_default_matrix() -> None:
    rules = CountRules()
    assert (rules.distance, rules.variance, rules.small, rules.stay) == (5, 2.0, 2, 0.0)
