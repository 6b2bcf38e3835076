"""The same units give the same numbers, in whatever words and whatever order of records; other secrets give others."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import confide
from asking import Desk, Outcome, python_table
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.engines.memory.engine import MemoryEngine
from confide.model.policy import PRESETS
from confide.model.release import Column
from confide.model.request import TableRequest
from confide.records.protect import protect_records
from confide.site.coding.encode import encode
from confide.site.secret import Secret
from confide.tables.perturbation.transitions import transitions

LENIENT = {
    "universe": {"gamma": 0, "gamma_star": 0, "marginals": False, "complement": False, "pieces": 8},
    "tables": {"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False},
}
"""No rule refuses: what is left is the protection of the numbers."""

BARE = {"drop": {"k": 0}, "counts": {"mechanism": "none"}}


def table(**words: Any) -> TableRequest:
    return python_table("people", **words)


def counts(answer: Outcome, measure: str = "count") -> np.ndarray:
    assert not answer.reasons, answer.reasons
    return answer.columns[measure].values


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, town: Any) -> Iterator[Path]:
    """A site under the standard policy, on DuckDB."""
    path = tmp_path_factory.mktemp("site")
    confide.add(town.people, path, name="people", catalog=town.catalog)
    yield path


def test_the_same_question_gives_the_same_answer_for_ever(site: Path) -> None:
    answers = []
    for _ in range(2):
        with confide.open(site) as opened:
            for _ in range(2):
                words = {"rows": "sex", "columns": "town", "measure": ["count", "mean"], "of": "income"}
                answers.append(opened["people"].table(where={"age": ["20-39", "40-59"]}, **words))
    assert all(answer == answers[0] for answer in answers)


def test_a_site_answers_alike_on_duckdb_and_on_the_plain_reference(site: Path, town: Any) -> None:
    policy, secret = PRESETS["standard"], Secret(bytes.fromhex((site / "secret").read_text().strip()))
    coded = encode(town.dataset, town.people, secret=secret)
    protected, _ = protect_records(coded, town.dataset, policy, secret)
    plain = Desk(Road(town.dataset, MemoryEngine(protected), Shield(policy, secret)))
    asked = [
        {"rows": "sex", "columns": "town"},
        {"rows": "county", "columns": ["age", "work"], "where": {"sex": "f"}},
        {
            "rows": "town",
            "where": {"county": "A"},
            "measure": ["count", "weighted_count", "total", "mean"],
            "of": "income",
        },
        {"rows": "trade", "where": [{"sex": "f", "age": ["20-39"]}, {"town": "b1"}], "measure": "total", "of": "age"},
    ]
    with confide.open(site) as opened:
        for words in asked:
            release = opened["people"].table(**words).release
            assert release.columns == plain.consider(table(**words)).columns


SAME_UNITS: list[list[Any]] = [
    # idle conditions, all codes of a variable, classes that never occur
    [None, {"sex": ["f", "m"]}, {"sex": ["m", "f", "x"]}, [{"sex": "f"}, {"sex": "m"}], {"county": ["B", "A"]}],
    [
        {"sex": "f"},
        {"sex": ["f", "x"]},
        {"sex": "f", "work": ["no", "yes"]},
        {"sex": "f", "age": ["0-19", "20-39", "40-59", "60-109"]},
    ],
    # unions in pieces, overlapping or not, in any order
    [
        {"age": ["20-39", "40-59"]},
        [{"age": "20-39"}, {"age": "40-59"}],
        [{"age": ["40-59", "20-39"]}, {"age": "40-59"}],
        [{"age": ["20-39", "40-59"], "sex": "f"}, {"age": ["20-39", "40-59"], "sex": "m"}],
    ],
    # a county and its towns, with the deserted one and without
    [{"county": "A"}, {"town": ["a1", "a2", "a9"]}, {"town": ["a2", "a1"]}, {"county": "A", "town": ["a1", "a2"]}],
    [
        [{"county": "A"}, {"sex": "f"}],
        [{"sex": "f"}, {"town": ["a1", "a2"]}],
        [{"county": "A", "sex": "m"}, {"sex": "f"}],
        [{"county": "A"}, {"sex": ["f", "x"], "town": ["b1", "b2"]}],
    ],
]


@pytest.mark.parametrize("words", SAME_UNITS, ids=["everyone", "women", "ages", "county", "union"])
def test_the_same_units_in_other_words_give_the_same_numbers(town: Any, words: list[Any]) -> None:
    desk = town.under(**LENIENT).desk()
    for rows in ("sex", "town", "ill"):
        answers = [
            desk.consider(table(rows=rows, where=where, measure=["count", "total"], of="income")) for where in words
        ]
        assert not answers[0].reasons
        assert all(answer == answers[0] for answer in answers)


def test_a_cell_is_the_same_in_whatever_table_it_appears(town: Any) -> None:
    desk = town.under(**LENIENT).desk()
    wide = counts(desk.consider(table(rows="sex", columns=["town", "work"])))
    assert np.array_equal(wide[..., -1], counts(desk.consider(table(rows="sex", columns="town"))))
    assert np.array_equal(wide[-1, :, -1], counts(desk.consider(table(rows="town"))))


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_records_does_not_matter(town: Any, people_of: Callable[..., pa.Table], seed: int) -> None:
    request = table(rows="sex", columns="town", measure=["count", "mean"], of="income", where={"age": ["20-39"]})
    for visits in (1, 2):
        people = people_of(size=300, seed=2, visits=visits)
        shuffled = people.take(np.random.default_rng(seed).permutation(people.num_rows))
        first, second = town.under(**LENIENT).of(people), town.under(**LENIENT).of(shuffled)
        assert first.coded().facts.data == second.coded().facts.data
        assert first.desk().consider(request) == second.desk().consider(request)


def test_records_without_a_unit_are_keyed_by_content_whatever_their_order(town: Any) -> None:
    catalog = town.catalog.replace('unit = "id"', "").replace('[variables.id]\nrole = "identifier"', "")
    people = town.people.drop_columns(["id", "income", "w"]).slice(0, 400)
    catalog = catalog.replace('weight = "w"', "").split("[variables.income]")[0]
    answers = []
    for order in (np.arange(400), np.random.default_rng(3).permutation(400)):
        desk = replace(town.under(**LENIENT), catalog=catalog, people=people.take(order)).desk()
        answers.append(desk.consider(table(rows="sex", columns="town")))
    assert answers[0] == answers[1]


def test_another_secret_gives_other_noise_and_other_drops(town: Any) -> None:
    request = table(rows="town", columns="trade", where={"sex": "f"})
    seen = {tuple(counts(town.under(**LENIENT).desk(number).consider(request)).ravel()) for number in range(5)}
    assert len(seen) == 5


def test_published_counts_keep_their_promises(town: Any) -> None:
    """Never 1 or 2; zero stays zero; at most D from what the drops leave, which is 2 to k fewer in every part."""
    request = table(rows=["town", "age"], columns="ill", where={"sex": ["f", "m"], "work": "yes"})
    for number in range(20):
        desk = town.under(**LENIENT).desk(number)
        truth, left, shown = (
            counts(town.under(**LENIENT, **less).desk(number).consider(request))
            for less in (BARE, {"counts": {"mechanism": "none"}}, {})
        )
        assert not np.isin(shown, (1, 2)).any()
        assert (shown[left == 0] == 0).all() and (truth == 0).any()
        assert np.abs(shown - left).max() <= desk.policy.counts.distance
        assert 2 <= truth[-1, -1, -1] - left[-1, -1, -1] <= desk.policy.drop.k
        assert ((truth - left) >= 0).all()


def test_noise_of_cells_and_margins_has_mean_zero_and_the_stated_variance(
    town: Any, people_of: Callable[..., pa.Table]
) -> None:
    """400 secrets; mean and variance within 4 standard errors, for an inner cell, a margin and the total."""
    crowd = town.under(**LENIENT, drop={"k": 0}).of(people_of(size=120, seed=4))
    request = table(rows="sex", columns="county")
    truth = counts(crowd.under(counts={"mechanism": "none"}).desk().consider(request))
    noise = np.array([counts(crowd.desk(number).consider(request)) - truth for number in range(400)])
    rules = crowd.policy.counts
    moves = np.arange(-rules.distance, rules.distance + 1)
    row = transitions(D=rules.distance, V=rules.variance, js=rules.small).matrix[-1]
    fourth = float((row * moves**4).sum())
    occupied = noise[:, truth > rules.distance + rules.small]
    assert occupied.shape[1] == 9
    assert (np.abs(occupied.mean(axis=0)) < 4 * np.sqrt(rules.variance / 400)).all()
    assert (np.abs((occupied**2).mean(axis=0) - rules.variance) < 4 * np.sqrt((fourth - rules.variance**2) / 400)).all()
    together = np.corrcoef(occupied.T)[np.triu_indices(9, 1)]
    assert (np.abs(together) < 4.5 / np.sqrt(400)).all()  # each cell and margin has a draw of its own


def test_cells_of_the_same_size_have_noise_of_their_own(town: Any) -> None:
    """Four towns of thirty people: the noise of all four is the same about once in a hundred secrets, never in most of ten."""
    people = town.people.slice(0, 120)
    towns = np.repeat(["a1", "a2", "b1", "b2"], 30)
    for name, values in (("town", towns), ("county", np.char.upper(towns.astype("<U1")))):
        people = people.set_column(people.column_names.index(name), name, pa.array(values))
    crowd = town.under(**LENIENT, drop={"k": 0}).of(people)
    shown = [counts(crowd.desk(number).consider(table(rows="town")))[[0, 1, 3, 4]] for number in range(10)]
    assert sum(len(set(cells.tolist())) > 1 for cells in shown) > 7


def test_small_counts_never_appear_where_there_are_many(town: Any, people_of: Callable[..., pa.Table]) -> None:
    """120 people in 60 cells: one or two in many of them, none or at least three in what is published."""
    crowd = town.under(**LENIENT, drop={"k": 0}).of(people_of(size=120, seed=12))
    request = table(rows=["town", "sex"], columns=["trade", "ill"])
    truth = counts(crowd.under(counts={"mechanism": "none"}).desk().consider(request))
    assert np.isin(truth, (1, 2)).sum() > 20
    for number in range(5):
        assert not np.isin(counts(crowd.desk(number).consider(request)), (1, 2)).any()


def test_noise_is_said_and_a_count_may_be_told_to_stay(town: Any, people_of: Callable[..., pa.Table]) -> None:
    """A probability of 0.7 to stay, which entropy alone puts near 0.3; nine cells and 100 secrets, within 4 standard errors."""
    crowd = town.under(**LENIENT, drop={"k": 0}, counts={"stay": 0.7}).of(people_of(size=120, seed=4))
    request = table(rows="sex", columns="county")
    truth = counts(crowd.under(counts={"mechanism": "none"}).desk().consider(request))
    answers = [crowd.desk(number).consider(request) for number in range(100)]
    stayed = np.mean([counts(answer)[truth > 7] == truth[truth > 7] for answer in answers])
    assert abs(stayed - 0.7) < 4 * np.sqrt(0.7 * 0.3 / 900)
    assert (answers[0].columns["count"].noise == 1.41).all()  # the root of the variance, to three digits


def test_a_mean_is_the_protected_total_over_the_protected_weighted_count(town: Any) -> None:
    desk = town.under(**LENIENT).desk()
    answer = desk.consider(table(rows="town", columns="sex", measure=["weighted_count", "total", "mean"], of="age"))
    total, weights, mean = (counts(answer, name) for name in ("total", "weighted_count", "mean"))
    shown = ~np.isnan(total) & ~np.isnan(mean) & (weights > 0)
    assert shown.sum() > 10
    assert np.allclose(mean[shown], total[shown] / weights[shown], rtol=1.1e-2)  # three digits each


@pytest.mark.parametrize(("weight", "grain"), [(1.23, 1), (35.27, 10), (4711.3, 1000)])
def test_weighted_counts_have_no_digit_finer_than_the_weight_of_a_unit(town: Any, weight: float, grain: int) -> None:
    """Otherwise the digits behind tell the true count; a mean is over the same rounded count."""
    people = town.people.slice(0, 400)
    people = people.set_column(people.column_names.index("w"), "w", pa.array(np.full(400, weight)))
    lenient = town.under(**LENIENT).of(people)
    words = {"rows": "town", "columns": "sex", "measure": ["count", "weighted_count", "total", "mean"], "of": "age"}
    answer = lenient.desk().consider(table(**words))
    shown = counts(answer, "weighted_count")
    assert (np.abs(shown - weight * counts(answer)) <= grain / 2).all(), "moved with the count, so it tells no other"
    assert (shown % grain == 0).all() and (shown > 0).sum() > 10
    bare = counts(lenient.under(**BARE).desk().consider(table(**words)), "weighted_count")
    assert (np.abs(bare % grain) > 1e-6).any(), "without noise the digits are true anyway"
    mean, total = counts(answer, "mean"), counts(answer, "total")
    seen = ~np.isnan(mean) & (shown > 0)
    assert np.allclose(mean[seen], total[seen] / shown[seen], rtol=1.1e-2)  # three digits each


def test_a_total_that_differencing_would_find_is_withheld(town: Any) -> None:
    """One unit of a2 holds nine tenths of it; no other rule is on. The limit is a chance, so at 1 nothing is withheld."""
    income = np.where(np.arange(200) == 0, 90_000.0, 100.0)
    towns = np.where(np.arange(200) < 100, "a2", "b1")
    people = town.people.slice(0, 200)
    for name, values in (("income", income), ("town", towns), ("county", np.char.upper(towns.astype("<U1")))):
        people = people.set_column(people.column_names.index(name), name, pa.array(values))
    only = {"units": 0, "dominance_k": 100.0, "p_percent": 0.0}
    lenient = town.under(**LENIENT, drop={"k": 0}).of(people)
    marks = {}
    for limit in (0.25, 1.0):
        for mechanism in ("ma", "thompson"):
            desk = lenient.under(totals={**only, "risk_limit": limit, "mechanism": mechanism}).desk()
            answer = desk.consider(table(rows="town", measure="total", of="income"))
            marks[limit, mechanism] = answer.columns["total"].marks.tolist()
    assert marks[0.25, "ma"] == ["", "c", "", "", "", "c"]
    assert marks[1.0, "ma"] == marks[1.0, "thompson"] == [""] * 6


def _marked(column: Column) -> None:
    assert np.array_equal(np.isnan(column.values), column.marks != "")
    assert np.array_equal(np.isnan(column.noise), column.marks != "")


def test_withheld_cells_carry_a_mark_and_no_number(town: Any, people_of: Callable[..., pa.Table]) -> None:
    """One person in town a2 earns more than all others there together; nobody lives in a9."""
    people = people_of(size=400, seed=5)
    income = people["income"].to_numpy(zero_copy_only=False).copy()
    rich = people["town"].to_pylist().index("a2")
    income[rich] = 10_000_000.0
    people = people.set_column(people.column_names.index("income"), "income", pa.array(income, from_pandas=True))
    lenient = town.under(**LENIENT, drop={"k": 0}).of(people)
    answer = lenient.desk().consider(table(rows="town", measure=["total", "mean"], of="income"))
    total, mean = answer.columns["total"], answer.columns["mean"]
    _marked(total)
    _marked(mean)
    assert total.marks.tolist() == ["", "c", "", "", "", "c"]
    assert mean.marks.tolist() == ["", "c", "z", "", "", "c"]
    assert total.values[2] == 0


def test_thresholds_count_units_not_records(town: Any, people_of: Callable[..., pa.Table]) -> None:
    """Twenty people with four records each are eighty records, and still too few."""
    exact = town.under(universe={"decide_on": "true", "gamma": 30, "complement": False, "marginals": False})
    refused = {}
    for size, visits in ((20, 1), (20, 4), (40, 1), (40, 4)):
        desk = exact.of(people_of(size=size, seed=6, visits=visits)).desk()
        reasons = desk.consider(table(rows="sex")).reasons
        refused[size, visits] = "universe.gamma" in [reason.rule for reason in reasons]
    assert refused == {(20, 1): True, (20, 4): True, (40, 1): False, (40, 4): False}


@pytest.mark.parametrize(("size", "refused"), [(20, True), (40, False)])
def test_a_unit_in_two_cells_of_one_part_is_one(
    town: Any, people_of: Callable[..., pa.Table], size: int, refused: bool
) -> None:
    """Everybody has a record at 30 and one at 50, and a part has both bins: they are as many as they are, not twice."""
    people = people_of(size=size, seed=7, visits=2)
    people = people.set_column(people.column_names.index("age"), "age", pa.array(np.tile([30.0, 50.0], size)))
    exact = town.under(
        universe={"decide_on": "true", "gamma": 30, "complement": False, "marginals": False, "remainder": 0}
    )
    answer = exact.of(people).desk().consider(table(rows="sex", where={"age": ["20-39", "40-59"]}))
    assert ("universe.gamma" in [reason.rule for reason in answer.reasons]) == refused


def test_a_unit_in_two_boxes_is_outside_of_neither(town: Any, people_of: Callable[..., pa.Table]) -> None:
    """People with records in both counties: the complement of a union counts units once."""
    people = people_of(size=200, seed=7, visits=2)
    county = np.tile(["A", "B"], 200)
    towns = np.tile(["a1", "b1"], 200)
    for name, values in (("county", county), ("town", towns)):
        people = people.set_column(people.column_names.index(name), name, pa.array(values))
    desk = town.of(people).desk()
    both = [{"county": "A"}, {"county": "B", "work": "yes"}]
    assert desk.consider(table(rows="sex", where=both)).reasons == []
