"""The cross of a question: which variables it has, how it is judged, and that nothing but the variables decides."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asking import PLACES_AND_WORK, Desk, python_correlation, python_regression, python_table
from confide.answering.road import ANALYSES, Road
from confide.answering.rules.rule import Verdict
from confide.answering.shield import Shield
from confide.answering.universe.resolve import resolve
from confide.engines.memory.engine import MemoryEngine
from confide.model.admission.cross import cross_of, declared_cells
from confide.model.catalog.dataset import Dataset
from confide.model.catalog.toml import read_dataset
from confide.model.evidence import Cells, Tally
from confide.model.policy import PRESETS, RecordRules, TableRules
from confide.site.coding.encode import encode
from confide.site.secret import Secret

CATALOG = """
unit = "id"

[variables.id]
role = "identifier"

"""
CATALOG += (
    PLACES_AND_WORK
    + """
[variables.ill]
role = "confidential"
[variables.ill.codes]
yes = "Yes"
no = "No"

[variables.age]
kind = "numeric"
minimum = 0
maximum = 100
cutpoints = [20, 40, 60, 80]

[variables.age_half]
of = "age"
cutpoints = [40, 80]

[variables.age_odd]
of = "age"
cutpoints = [30, 60]

[variables.income]
kind = "numeric"
role = "confidential"
minimum = 0
missing = [""]
cutpoints = [100, 200]
"""
)
BOOK = read_dataset(CATALOG, name="people", read_file=str)
STANDARD = replace(PRESETS["standard"], records=RecordRules())


def population(size: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    town = rng.choice(["a1", "a2", "b1"], size)
    return pa.table(
        {
            "id": np.arange(size).astype(str),
            "sex": rng.choice(["f", "m"], size),
            "county": np.char.upper(town.astype("<U1")),
            "town": town,
            "work": rng.choice(["yes", "no", "?"], size, p=[0.5, 0.3, 0.2]),
            "ill": rng.choice(["yes", "no"], size),
            "age": rng.integers(0, 100, size).astype(float),
            "income": pa.array(rng.integers(0, 300, size).astype(float), mask=rng.random(size) < 0.1),
        }
    )


class Counting(MemoryEngine):
    """An engine that remembers what it was asked to count."""

    def __init__(self, coded: Any) -> None:
        super().__init__(coded)
        self.asked: Counter[Tally] = Counter()

    def tally(self, tally: Tally) -> Cells:
        self.asked[tally] += 1
        return super().tally(tally)


def desk_of(people: pa.Table, *, book: Dataset = BOOK, secret: int = 1, **tables: Any) -> tuple[Desk, Counting]:
    key = Secret(bytes([secret]) * 32)
    engine = Counting(encode(book, people, secret=key))
    policy = replace(STANDARD, tables=replace(STANDARD.tables, **tables))
    return Desk(Road(book, engine, Shield(policy, key))), engine


@cache
def asked_of(**tables: Any) -> tuple[Desk, Counting]:
    return desk_of(population(300, 1), **tables)


def crosses(request: Any) -> list[tuple[str, ...]]:
    from confide.answering.analysis import Admitted

    analysis = next(a for a in ANALYSES if a.kind is type(request))
    request = analysis.admit(request, BOOK)
    return list(analysis.cross(Admitted(request, BOOK, resolve(request.where, BOOK))))


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (python_table("people", rows="sex"), [("sex",)]),
        (python_table("people", rows="sex", where={"ill": "yes", "work": "no"}), [("ill", "sex", "work")]),
        (python_table("people", rows="county", where={"town": "a1"}), [("town",)]),
        (python_table("people", rows="sex", where=[{"town": "a1"}, {"county": "B", "ill": "no"}]), [("ill", "sex", "town")]),
        (python_table("people", rows="sex", measure="mean", of="income"), [("sex",)]),
        (python_table("people", rows="income"), [("income",)]),
        (python_regression("people", "income ~ age + age^2"), []),
        (python_regression("people", "income ~ age", where={"sex": "f"}), [("sex",)]),
        (python_regression("people", "income ~ age + sex + work"), [("sex",), ("work",)]),
        (
            python_regression("people", "ill=yes ~ age + sex + work + age:sex", family="binomial", where={"town": "a1"}),
            [("ill", "town"), ("ill", "sex", "town"), ("ill", "town", "work")],
        ),
        (
            python_regression("people", "income ~ sex*work + age"),
            [("sex",), ("work",), ("sex", "work")],
        ),
        (python_correlation("people", ["age", "income"]), []),
        (
            python_correlation("people", ["age", "sex", "work", "ill"], where={"town": "a1"}),
            [
                ("town",), ("sex", "town"), ("town", "work"), ("ill", "town"),
                ("sex", "town", "work"), ("ill", "sex", "town"), ("ill", "town", "work"),
            ],
        ),
    ],
)  # fmt: skip
def test_a_question_addresses_these_classes_together(request_: Any, expected: list[tuple[str, ...]]) -> None:
    assert sorted(crosses(request_)) == sorted(expected)


def test_recodes_of_a_number_that_do_not_nest_stand_together_and_those_that_do_give_way() -> None:
    assert cross_of(["age_half", "sex"], BOOK) == ("age_half", "age_odd", "sex")
    assert cross_of(["age"], BOOK) == ("age", "age_odd")
    assert cross_of(["age", "age_half"], BOOK) == ("age", "age_odd")
    assert cross_of(["income"], BOOK) == ("income",)


def test_the_declared_cells_are_those_of_the_common_refinement_without_missing_codes() -> None:
    assert declared_cells(("age_half", "age_odd"), BOOK) == 5  # cut at 30, 40, 60 and 80
    assert declared_cells(("age", "age_odd", "sex"), BOOK) == 6 * 2
    assert declared_cells(("work",), BOOK) == 2  # not stated is no cell
    assert declared_cells(("income", "town"), BOOK) == 3 * 3
    assert declared_cells((), BOOK) == 1


VARIABLES = {"sex": "f", "town": "a1", "work": "yes", "ill": "no", "age": "20-39"}


@given(
    names=st.sets(st.sampled_from(sorted(VARIABLES)), min_size=1, max_size=4),
    split=st.integers(0, 3),
    mean=st.sampled_from([1.0, 4.0, 12.0, 40.0]),
)
def test_the_same_class_variables_have_the_same_verdict_wherever_they_stand(
    names: set[str], split: int, mean: float
) -> None:
    desk, _ = asked_of(mean_cell=mean, sparsity=0.4, class_disclosure=True)
    ordered = sorted(names)

    def verdict(rows: list[str]) -> list[str]:
        where = {name: VARIABLES[name] for name in ordered if name not in rows}
        return [reason.rule for reason in desk.consider(python_table("people", rows=rows, where=where or None)).reasons]

    rows = ordered[: max(1, split)]
    assert verdict(rows) == verdict(ordered) == verdict(ordered[::-1])


def test_some_of_these_verdicts_are_refusals_and_some_are_not() -> None:
    desk, _ = asked_of(mean_cell=20.0, sparsity=0.4, class_disclosure=True)
    some = [python_table("people", rows=list(names)) for names in combinations(VARIABLES, 2)]
    assert {bool(desk.consider(request).reasons) for request in some} == {True, False}


def test_a_universe_is_no_way_round_the_cells_of_its_cross() -> None:
    """Each bin of age by itself would do, but its bins with the towns and work are too many for 300 people."""
    desk, _ = asked_of(mean_cell=12.0)
    narrow = python_table("people", rows=["town", "work"], where={"age": "20-39"})
    [reason] = desk.consider(narrow).reasons
    assert reason.rule == "tables.mean_cell" and "'age'" in str(reason) and "'town'" in str(reason)
    assert not desk.consider(python_table("people", rows=["town", "work"])).reasons


def test_models_and_correlations_of_a_cross_are_refused_as_its_table_is() -> None:
    desk, _ = asked_of(mean_cell=12.0)
    for request in (
        python_correlation("people", ["town", "work"], where={"age": "20-39"}),
        python_regression("people", "income ~ town*work + sex", where={"age": "20-39"}),
        python_regression("people", "ill=yes ~ town + sex", family="binomial", where={"age": "20-39"}),
    ):
        assert [reason.rule for reason in desk.consider(request).reasons] == ["tables.mean_cell"]
    terms = python_regression("people", "income ~ town + work", where={"age": "20-39"})
    assert "tables.mean_cell" not in [reason.rule for reason in desk.consider(terms).reasons]


def test_class_disclosure_is_found_where_the_confidential_class_is_in_the_universe() -> None:
    people = population(300, 1)
    well = [
        ("no" if town == "a1" else ill)
        for town, ill in zip(people["town"].to_pylist(), people["ill"].to_pylist(), strict=True)
    ]
    people = people.set_column(people.column_names.index("ill"), "ill", pa.array(well))
    desk, _ = desk_of(people, class_disclosure=True)
    for request in (
        python_table("people", rows=["town", "ill"]),
        python_table("people", rows="town", where={"ill": "no"}),
        python_regression("people", "income ~ town", where={"ill": "no"}),
        python_correlation("people", ["ill", "town"]),
    ):
        assert [reason.rule for reason in desk.consider(request).reasons] == ["tables.class_disclosure"]


def test_the_second_question_on_a_cross_counts_nothing_but_its_own_answer() -> None:
    desk, engine = desk_of(population(300, 1), sparsity=0.9, class_disclosure=True)
    desk.consider(python_table("people", rows=["town", "work"], where={"sex": "f"}))
    before = Counter(engine.asked)
    desk.consider(python_table("people", rows="work", where={"sex": "m", "town": ["a1", "a2"]}))
    new = engine.asked - before
    assert sum(new.values()) == 1 and all(tally.within for tally in new)


def test_under_standard_a_verdict_needs_no_table_of_the_cross() -> None:
    """One number of everyone, and one of those who have a value, however many crosses are judged."""
    desk, engine = desk_of(population(300, 1))
    for names in combinations(["sex", "town", "work", "ill"], 2):
        desk.road._opens(*_opening(desk, python_table("people", rows=list(names))))
    assert all(not tally.by for tally in engine.asked) and len(engine.asked) == 2


def _opening(desk: Desk, request: Any) -> tuple[Any, Any]:
    question = desk.road.admit(request)
    return question, desk.road._verdicts(question)


@pytest.mark.parametrize("cross", [True, False])
@pytest.mark.parametrize(
    "limits", [{"mean_cell": 30.0}, {"sparsity": 0.2, "sparse_below": 26}, {"class_disclosure": True}]
)
def test_a_level_declared_missing_is_judged_as_if_nobody_were_in_it(cross: bool, limits: dict[str, Any]) -> None:
    """Whatever a rule says of the other levels, it says it of the file without the records of the missing one (T11)."""
    verdicts = []
    for seed in range(12):
        people = population(int(150 + 20 * seed), seed)
        stated = people.filter(pa.compute.not_equal(people["work"], "?"))
        tables = {"cross": cross, "mean_cell": 0.0, "sparsity": 1.0, "class_disclosure": False, **limits}
        both = [desk_of(some, secret=seed + 1, **tables)[0] for some in (people, stated)]
        asked = [
            python_table("people", rows=["work", "town"]),
            python_table("people", rows=["ill", "work", "town", "sex"]),
        ]
        for request in asked:
            one, other = ([r.rule for r in desk.consider(request).reasons] for desk in both)
            assert one == other
            verdicts.append(tuple(one))
    assert len(set(verdicts)) > 1


def test_distinct_units_are_counted_not_their_records() -> None:
    people = population(60, 1)
    often = pa.concat_tables([people] * 10)
    request = python_table("people", rows=["town", "sex", "work"])
    once, many = (desk_of(some, mean_cell=12.0)[0].consider(request) for some in (people, often))
    assert [r.rule for r in once.reasons] == [r.rule for r in many.reasons] == ["tables.mean_cell"]


def test_an_explanation_of_a_model_names_the_rules_on_its_cross_only_where_they_are_asked() -> None:
    desk, _ = asked_of(mean_cell=1.0)
    alone = Desk(desk.road.under(replace(STANDARD, tables=TableRules(mean_cell=1.0))))
    request = python_regression("people", "income ~ sex")
    found = {c.rule: c.verdict for c in desk.road.consider(desk.road.admit(request)).checked}
    assert found["tables.mean_cell"] is Verdict.PASSED and found["tables.sparsity"] is Verdict.NOT_ASKED
    assert "tables.mean_cell" not in {c.rule for c in alone.road.consider(alone.road.admit(request)).checked}
