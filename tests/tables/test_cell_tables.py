"""Tables from cells made elsewhere: with totals or without, and mistakes where they do not add up."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.tables import Dominance, Hierarchy, PPercent, Status, Table, Threshold

REGIONS = {"N": None, "N1": "N", "N2": "N", "S": None}

records = st.lists(
    st.tuples(st.sampled_from(["N1", "N2", "S"]), st.sampled_from(["f", "m"]), st.integers(0, 50)),
    min_size=1,
    max_size=20,
)


def microdata(rows) -> dict[str, list]:
    return {"region": [r for r, _, _ in rows], "sex": [s for _, s, _ in rows], "x": [x for _, _, x in rows]}


def made(rows) -> Table:
    return Table.from_microdata(
        microdata(rows), by=["region", "sex"], of="x", hierarchies={"region": REGIONS}, empty=False
    )


def read(cells: pa.Table, **more) -> Table:
    options = {"by": ["region", "sex"], "value": "value", "frequency": "units", "top": ["top1", "top2", "top3"]}
    return Table.from_cells(cells, **{**options, "hierarchies": {"region": REGIONS}, **more})


def same(first: Table, second: Table) -> bool:
    columns = ("value", "units", "status", "lower_protection", "upper_protection", "cost", "upper_bound", "lower_bound")
    names = [[table.name(cell) for cell in range(len(table))] for table in (first, second)]
    return (
        names[0] == names[1]
        and all((getattr(first, name) == getattr(second, name)).all() for name in columns)
        and (first.contributions.top == second.contributions.top).all()
        and (first.relations.matrix != second.relations.matrix).nnz == 0
    )


@given(records)
def test_a_table_survives_as_a_frame_of_cells(rows):
    table = made(rows).flag(Threshold(2), PPercent(10))
    columns = ("status", "cost", "lower_bound", "upper_bound", "lower_protection", "upper_protection")
    again = read(table.to_arrow(), **{name: name for name in columns})
    # Codes that have no cells are left out of the hierarchy, so only what has cells is compared.
    assert same(table, again)


@given(records)
def test_totals_left_out_are_computed(rows):
    table = made(rows)
    inner = table.to_arrow().filter(
        pa.array((table.places[:, 1] > 0) & np.isin(table.codes("region"), ["N1", "N2", "S"]))
    )
    again = read(inner)
    assert again.value.sum() == table.value.sum()
    assert {again.name(c): v for c, v in enumerate(again.value)} == {
        table.name(c): v for c, v in enumerate(table.value)
    }
    assert again.contributions.top.tolist() == table.contributions.top.tolist()


def test_totals_of_one_variable_may_be_there_and_those_of_another_not():
    cells = {"sex": ["f", "m", "Total"], "region": ["S", "S", "S"], "n": [1, 2, 3]}
    table = Table.from_cells(cells, by=["sex", "region"], frequency="n")
    assert table.value.tolist() == [3, 3, 1, 1, 2, 2]
    assert table.is_count


def test_a_level_that_has_no_cells_is_passed_over():
    cells = {"region": ["Total", "N1", "N2", "S"], "n": [10, 1, 2, 7]}
    table = Table.from_cells(cells, by=["region"], frequency="n", hierarchies={"region": REGIONS})
    assert table.hierarchies[0] == Hierarchy.flat(["N1", "N2", "S"])
    assert table.relations.matrix.toarray().tolist() == [[-1, 1, 1, 1]]


def test_a_table_that_does_not_add_up_is_reported_with_the_relation_in_codes():
    cells = {"sex": ["Total", "f", "m"], "n": [10, 4, 5]}
    with pytest.raises(Mistake, match=r"sex=Total is not the sum of its 2 parts \(sex=f; sex=m\). 1 of 1 relations"):
        Table.from_cells(cells, by=["sex"], frequency="n")
    assert Table.from_cells(cells, by=["sex"], frequency="n", additive=False).value.tolist() == [10, 4, 5]


def test_the_total_goes_by_the_code_that_is_declared():
    cells = {"sex": ["all", "f", "m"], "area": ["Total", "Total", "Total"], "n": [9, 4, 5]}
    table = Table.from_cells(cells, by=["sex", "area"], frequency="n", totals={"sex": "all"})
    assert table.value.tolist() == [9, 4, 5]
    assert table.hierarchies[0].codes == ("all", "f", "m")


def test_empty_cells_are_those_of_nobody_and_nothing():
    cells = {"sex": ["f", "m", "x"], "n": [0, 3, 2], "v": [0, 5, 0]}
    table = Table.from_cells(cells, by=["sex"], value="v", frequency="n")
    assert [Status(s).name for s in table.status] == ["SAFE", "EMPTY", "SAFE", "SAFE"]


def test_values_alone_have_contributors_unknown_and_no_rule_guesses():
    table = Table.from_cells({"sex": ["f", "m"], "v": [1.0, 2.0]}, by=["sex"], value="v")
    assert table.units.tolist() == [-1, -1, -1]
    for rule in (Threshold(3), PPercent(10)):
        with pytest.raises(Mistake, match="how many contributors"):
            table.flag(rule)


def test_dominance_needs_the_absolute_sums_of_negative_cells():
    cells = {"sex": ["f", "m"], "v": [-5.0, 2.0], "n": [3, 3], "max": [9.0, 1.0], "sum": [19.0, 2.0]}
    options = {"by": ["sex"], "value": "v", "frequency": "n", "top": ["max"]}
    unknown = Table.from_cells(cells, **options)
    with pytest.raises(
        Mistake, match="the negative cell sex=Total does not tell|the negative cell sex=f does not tell"
    ):
        unknown.flag(Dominance(1, 80))
    assert unknown.flag(Threshold(4)).primary.tolist() == [False, True, True]
    known = Table.from_cells(cells, **options, absolute="sum")
    assert known.flag(Dominance(1, 40)).primary.tolist() == [True, True, True]
    assert known.flag(Dominance(1, 48)).primary.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("cells", "options", "words"),
    [
        ({"sex": ["f", "f"], "n": [1, 2]}, {}, "sex=f stands twice"),
        ({"sex": ["f", "g"], "n": [1, 2]}, {"hierarchies": {"sex": {"f": None, "m": None}}}, "'sex' has no code 'g'"),
        ({"sex": ["f"], "n": [1.5]}, {}, "does not count contributors"),
        ({"sex": ["f"], "n": [-1]}, {}, "does not count contributors"),
        ({"sex": ["f"], "n": [None]}, {}, "number"),
        ({"sex": [], "n": []}, {}, "no records"),
        ({"sex": ["f"], "n": [1]}, {"frequency": None}, "which column has the values"),
        ({"sex": ["f"], "n": [1], "s": ["maybe"]}, {"status": "s"}, "no status 'maybe'"),
        ({"sex": ["f"], "n": [1]}, {"price": "n"}, "does not say 'price'"),
        ({"sex": ["f"], "n": [1]}, {"totals": {"age": "all"}}, "total for 'age'"),
    ],
)
def test_bad_cells_are_mistakes_that_name_the_thing(cells, options, words):
    with pytest.raises(Mistake, match=words):
        Table.from_cells(cells, **{"by": ["sex"], "frequency": "n", **options})


def test_statuses_of_others_are_understood():
    cells = {"a": list("12345"), "n": [5] * 5, "s": ["1", "U", "11", "True", "z"]}
    table = Table.from_cells(cells, by=["a"], frequency="n", status="s")
    assert [Status(s).name for s in table.status[1:]] == ["SAFE", "PRIMARY", "SECONDARY", "PRIMARY", "PUBLISHED"]


def test_costs_are_positive_and_as_asked():
    table = Table.from_cells({"a": ["x", "y"], "v": [0.0, 0.5], "n": [2, 4]}, by=["a"], value="v", frequency="n")
    assert table.costs("value").tolist() == [0.5, 0.5, 0.5]
    assert table.costs("count").tolist() == [6, 2, 4]
    assert table.costs("cells").tolist() == [1, 1, 1]
    with pytest.raises(Mistake, match="Did you mean 'value'"):
        table.costs("values")


@pytest.mark.parametrize(
    "marks",
    [
        ["", "c", "c", ""],
        [None, "x", "m", "s"],
        ["V", "D", "D", "V"],
        ["1", "11", "12", "2"],
        ["safe", "secondary", " Secondary ", "safe"],
    ],
)
def test_marks_of_any_program_are_read_and_none_is_safe(marks):
    cells = {"sex": ["Total", "f", "m", "x"], "n": [9, 3, 4, 2], "mark": marks}
    table = Table.from_cells(cells, by=["sex"], frequency="n", status="mark")
    assert table.status.tolist() == [Status.SAFE, Status.SECONDARY, Status.SECONDARY, Status.SAFE]


def test_a_pattern_without_true_values_is_a_mistake_that_says_how_to_judge_it():
    cells = {"sex": ["Total", "f", "m"], "n": [9, None, None], "mark": ["", "c", "c"]}
    with pytest.raises(Mistake, match="pattern='published.csv'"):
        Table.from_cells(cells, by=["sex"], frequency="n", status="mark")
