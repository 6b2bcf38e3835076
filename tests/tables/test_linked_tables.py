"""Linked tables: one cell for one meaning, every relation of every table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.tables import Hierarchy, PPercent, Status, Table, Threshold

records = st.lists(
    st.tuples(*(st.sampled_from(codes) for codes in ("ab", "xyz", "12")), st.integers(1, 30), st.sampled_from("pqr")),
    min_size=1,
    max_size=20,
)


def columns(rows) -> dict[str, list]:
    return {name: [row[at] for row in rows] for at, name in enumerate(("u", "v", "w", "t", "h"))}


@given(records)
def test_linked_margins_of_a_table_are_cells_of_the_whole(rows):
    data = columns(rows)
    whole = Table.from_microdata(data, by=["u", "v", "w"], of="t", holding="h")
    parts = [Table.from_microdata(data, by=by, of="t", holding="h") for by in (["u", "v"], ["v", "w"], ["w", "u"])]
    linked = Table.link(parts)
    where = {whole.name(cell): cell for cell in range(len(whole))}
    at = np.array([where[linked.name(cell)] for cell in range(len(linked))])
    sizes = [len(set(data[name])) + 1 for name in "uvw"]
    u, v, w = sizes
    assert len(linked) == u * v + v * w + w * u - u - v - w + 1
    assert linked.value.tolist() == whole.value[at].tolist()
    assert linked.units.tolist() == whole.units[at].tolist()
    assert linked.contributions.holders.tolist() == whole.contributions.holders[at].tolist()
    assert (linked.relations.residuals(linked.value) == 0).all()
    # The margins of u, of v and of w are in two tables each, and their relation stands once.
    assert linked.relations.matrix.shape[0] == sum(part.relations.matrix.shape[0] for part in parts) - 3


def test_a_table_linked_with_itself_is_itself():
    table = Table.from_microdata({"a": list("xxyz"), "b": list("1122")}, by=["a", "b"]).flag(Threshold(2))
    again = Table.link([table, table])
    assert again.relations.matrix.shape == table.relations.matrix.shape
    assert again.status.tolist() == table.status.tolist()


def test_of_two_protections_the_stricter_holds():
    data = {"a": list("xxxy"), "v": [10.0, 5, 1, 3]}
    plain = Table.from_microdata(data, by=["a"], of="v")
    one, two = plain.flag(Threshold(2)), plain.flag(PPercent(15))
    linked = Table.link([one, two])
    assert [Status(s).name for s in linked.status] == ["SAFE", "PRIMARY", "PRIMARY"]
    assert linked.upper_protection.tolist() == np.maximum(one.upper_protection, two.upper_protection).tolist()


def test_a_variable_may_have_other_levels_in_another_table():
    data = {"town": ["a1", "a2", "b1"], "sex": ["f", "m", "m"], "n": [1, 2, 4]}
    fine = Table.from_microdata(
        data, by=["town"], of="n", hierarchies={"town": {"a1": "A", "a2": "A", "A": None, "b1": None}}
    )
    plain = Table.from_microdata(data, by=["town", "sex"], of="n")
    linked = Table.link([plain, fine])
    assert linked.hierarchies[0].codes == ("Total", "b1", "A", "a1", "a2")
    totals = [linked.name(row.indices[row.data < 0][0]) for row in (linked.relations.matrix[[r]] for r in range(9))]
    # The total of all towns is the sum of three towns in one table and of A and b1 in the other.
    assert totals.count("town=Total, sex=Total") == 3
    assert "town=A, sex=Total" in totals


def test_another_total_is_another_cell():
    all_of_it = Table.from_cells({"area": ["Total", "e", "w"], "n": [9, 4, 5]}, by=["area"], frequency="n")
    east = Table.from_cells(
        {"area": ["East", "East", "East"], "sex": ["f", "m", "Total"], "n": [1, 3, 4]},
        by=["area", "sex"], frequency="n", hierarchies={"area": Hierarchy(("East",), (-1,))},
    )  # fmt: skip
    linked = Table.link([all_of_it, east])
    assert len(linked) == 6
    assert linked.find(area="East", sex="Total").size == 1
    assert linked.hierarchies[0].parents[linked.hierarchies[0].places["East"]] == -1


def test_tables_that_disagree_are_a_mistake_that_names_the_cell():
    first = Table.from_cells({"a": ["x", "y"], "n": [1, 2]}, by=["a"], frequency="n")
    other = Table.from_cells({"a": ["x", "y"], "n": [2, 1]}, by=["a"], frequency="n")
    with pytest.raises(Mistake, match="same value in a=x"):
        Table.link([first, other])


def test_tables_of_different_measures_are_not_linked():
    data = {"a": ["x"], "v": [1.0]}
    with pytest.raises(Mistake, match="of 'count' and 'v'"):
        Table.link([Table.from_microdata(data, by=["a"]), Table.from_microdata(data, by=["a"], of="v")])
    with pytest.raises(Mistake, match="no tables"):
        Table.link([])


def test_contributors_come_from_the_table_that_knows_them():
    known = Table.from_microdata({"a": ["x", "x"], "v": [3.0, 1.0]}, by=["a"], of="v", top=2)
    unknown = Table.from_cells({"a": ["x", "Total"], "v": [4.0, 4.0]}, by=["a"], value="v")
    for tables in ([known, unknown], [unknown, known]):
        linked = Table.link(tables)
        assert linked.units.tolist() == [2, 2]
        assert linked.contributions.top.tolist() == [[3, 1], [3, 1]]
