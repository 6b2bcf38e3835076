"""Contributors as attackers: what they know of their own cells must not tell them those of others."""

from dataclasses import replace

import numpy as np
import pytest

from confide.errors import Mistake
from confide.tables import Dominance, Status, Table, Threshold, audit, suppress
from confide.tables.programs.deadline import Deadline
from confide.tables.suppression.insiders import insiders_of
from confide.tables.suppression.optimal import optimise
from confide.tables.suppression.problem import Insiders, SuppressionProblem


def business(cells: dict[str, list[float]], *, whose: dict[str, str] | None = None, **options) -> Table:
    """A table of one variable; each cell has these contributors, who may be parts of holdings by cell and place."""
    rows = [(code, amount, f"{code}{place}") for code, given in cells.items() for place, amount in enumerate(given)]
    data = {name: [row[at] for row in rows] for at, name in enumerate(("a", "t", "h"))}
    data["h"] = [(whose or {}).get(holder, holder) for holder in data["h"]]
    return Table.from_microdata(data, by=["a"], of="t", holding="h", **options)


def value(table: Table, code: str) -> float:
    return float(table.value[table.find(a=code)[0]])


def hidden(table: Table) -> set[str]:
    return {code for code, gone in zip(table.codes("a"), table.suppressed, strict=True) if gone}


def blamed(table: Table) -> set[str]:
    """The cells that some insider undoes."""
    return {table.codes("a")[failure.cell] for failure in audit(table).failures if failure.attacker >= 0}


def against_outsiders_only(table: Table) -> Table:
    """The cheapest pattern if contributors knew nothing."""
    problem = replace(SuppressionProblem.of(table), insiders=Insiders.of(()))
    proof = optimise(problem, ~problem.shown, Deadline())
    return table.mark(np.flatnonzero(proof.suppressed & ~table.primary), "secondary")


LARGE = {"y": [40.0, 30, 50], "z": [60.0, 30, 40]}


def test_two_singletons_in_a_row_undo_each_other():
    table = business({"w": [9.0], "x": [11.0], **LARGE}).flag(Threshold(2))
    plain = against_outsiders_only(table)
    assert hidden(plain) == {"w", "x"}
    # The owner of w subtracts all that is shown and himself from the total.
    assert value(table, "Total") - value(table, "y") - value(table, "z") - 9 == value(table, "x")
    assert blamed(plain) == {"w", "x"}
    safe = suppress(table).table
    assert hidden(safe) == {"w", "x", "y"}
    assert not blamed(safe)


def test_a_singleton_undoes_a_cell_of_two_and_the_larger_of_the_two_undoes_the_singleton():
    table = business({"w": [100.0], "x": [90.0, 2], **LARGE}).flag(Threshold(3))
    plain = against_outsiders_only(table)
    assert hidden(plain) == {"w", "x"}
    # Whoever gave 90 knows that x is at least 90, so w is at most 102: to within 2 percent.
    assert value(table, "w") + value(table, "x") - 90 == 102
    assert blamed(plain) == {"w", "x"}
    safe = suppress(table).table
    assert hidden(safe) == {"w", "x", "y"}


def test_three_singletons_are_not_enough_if_the_third_is_small():
    table = business({"v": [100.0], "w": [100.0], "x": [1.0], **LARGE}).flag(Threshold(2))
    plain = against_outsiders_only(table)
    assert hidden(plain) == {"v", "w", "x"}
    # The owner of v knows that w and x are 101 together: w is at most 1 percent more than it is.
    assert blamed(plain) == {"v", "w"}
    assert not blamed(suppress(table).table)
    enough = business({"v": [100.0], "w": [100.0], "x": [90.0], **LARGE}).flag(Threshold(2))
    assert hidden(suppress(enough).table) == {"v", "w", "x"}


def test_the_largest_of_three_knows_that_their_cell_is_large():
    table = business({"w": [100.0], "x": [90.0, 1, 1], **LARGE}).flag(Threshold(2))
    alone = suppress(table, attackers="singletons").table
    assert hidden(alone) == {"w", "x"}
    # Whoever gave 90 knows that x is at least 90, so w is at most 102: to within 2 percent.
    assert blamed(alone) == {"w"}
    assert audit(alone, attackers="singletons").passed
    assert "y" in hidden(suppress(table).table)


def test_two_of_three_who_share_what_they_know_are_a_coalition():
    table = business({"w": [100.0], "x": [46.0, 45, 1], **LARGE}).flag(Threshold(2))
    alone = suppress(table).table
    assert hidden(alone) == {"w", "x"}
    assert audit(alone).passed
    assert audit(alone, attackers="coalitions").missed == {int(table.find(a="w")[0]): "upper against a contributor"}
    assert not audit(suppress(table, attackers="coalitions").table, attackers="coalitions").failures


def test_two_who_share_know_the_cell_that_is_theirs_alone():
    table = business({"w": [100.0], "x": [50.0, 42], "y": [60.0, 30], "z": LARGE["z"]})
    known = [
        one for one in insiders_of(table, "coalitions") if set(table.find(a="x")) <= set(one.cells[one.most < np.inf])
    ]
    assert [one.least[one.cells == table.find(a="x")[0]].tolist() for one in known] == [[92.0]]


def test_the_outsider_alone_needs_the_fewest_and_knows_nothing_more():
    table = business({"w": [9.0], "x": [11.0], **LARGE}).flag(Threshold(2))
    found = suppress(table, attackers="outsider")
    assert hidden(found.table) == {"w", "x"}
    assert found.audit.passed
    assert not audit(found.table, attackers="singletons").passed


def test_attackers_go_by_their_names():
    table = business({"w": [9.0], "x": [11.0], **LARGE}).flag(Threshold(2))
    with pytest.raises(Mistake, match="no attackers 'outsiders'") as caught:
        suppress(table, attackers="outsiders")
    assert "outsider" in str(caught.value)


def test_a_holding_with_several_cells_knows_them_all():
    cells = {"v": [100.0], "w": [100.0], "x": [90.0], **LARGE}
    table = business(cells, whose={"v0": "H", "w0": "H"}).flag(Threshold(2))
    plain = against_outsiders_only(table)
    assert hidden(plain) == {"v", "w", "x"}
    assert blamed(plain) == {"x"}
    safe = suppress(table).table
    assert not blamed(safe)
    assert len(hidden(safe)) == 4


def test_one_who_gives_most_of_two_cells_knows_that_both_are_large():
    cells = {"v": [80.0, 1], "w": [90.0, 1], **LARGE}
    table = business(cells, whose={"v0": "H", "w0": "H"}).flag(Threshold(3))
    plain = against_outsiders_only(table)
    assert hidden(plain) == {"v", "w"}
    # Of the 172 he gave 170: what he does not know of each cell is between 0 and 2, and must seem to be up to 8.
    assert blamed(plain) == {"v", "w"}
    assert not blamed(suppress(table).table)


def test_one_who_gives_to_a_cell_and_to_its_total_knows_both():
    data = {"u": list("aaabbb"), "v": list("xyyxyy"), "t": [50.0, 30, 20, 10, 60, 40]}
    table = Table.from_microdata(data, by=["u", "v"], of="t")
    first = next(one for one in insiders_of(table) if 4 in one.cells and one.most[one.cells == 4][0] == 50)
    known = {table.name(cell): least for cell, least in zip(first.cells.tolist(), first.least, strict=True)}
    assert known == {"u=Total, v=Total": 50, "u=Total, v=x": 50, "u=a, v=Total": 50, "u=a, v=x": 50}


def test_what_somebody_gave_counts_with_its_weight():
    rows = {"a": list("wxxyyyzzz"), "t": [100.0, 30, 2, 40, 30, 50, 60, 30, 40], "n": [1.0, 3, 1, 1, 1, 1, 1, 1, 1]}
    table = Table.from_microdata(rows, by=["a"], of="t", weight="n").flag(Threshold(3))
    # As above: he who gave 30 for three gave 90 of 92.
    assert blamed(table) == {"w", "x"}
    assert any(90 in one.least for one in insiders_of(table))
    assert not blamed(suppress(table).table)


def test_sole_contributors_are_known_without_names():
    cells = {"a": list("wxyz"), "t": [9.0, 11, 120, 130], "n": [1, 1, 3, 3]}
    table = Table.from_cells(cells, by=["a"], value="t", frequency="n").flag(Threshold(2))
    assert blamed(table) == {"w", "x"}
    assert hidden(suppress(table).table) == {"w", "x", "y"}


def test_the_larger_of_two_is_known_without_a_name():
    cells = {"a": list("wxyz"), "t": [100.0, 92, 120, 130], "n": [1, 2, 3, 3]}
    cells |= {"first": [100.0, 90, 50, 60], "second": [0.0, 2, 40, 40]}
    table = Table.from_cells(cells, by=["a"], value="t", frequency="n", top=["first", "second"]).flag(Threshold(3))
    assert blamed(table) == {"w", "x"}


def test_linked_tables_of_cells_keep_their_sole_contributors():
    cells = {"a": list("wxyz"), "t": [9.0, 11, 120, 130], "n": [1, 1, 3, 3]}
    table = Table.from_cells(cells, by=["a"], value="t", frequency="n").flag(Threshold(2))
    assert blamed(Table.link([table, table])) == {"w", "x"}


def test_the_only_contributor_of_a_total_is_that_of_its_part():
    up = {"w1": "w", "w2": "w", "w": None, "x": None, "y": None}
    cells = {"a": ["w1", "w2", "x", "y"], "t": [9.0, 0, 11, 120], "n": [1, 0, 1, 3]}
    table = Table.from_cells(cells, by=["a"], value="t", frequency="n", hierarchies={"a": up})
    known = {tuple(table.codes("a")[cell] for cell in one.cells[one.most < np.inf]) for one in insiders_of(table)}
    assert known == {("w", "w1"), ("x",)}


def test_the_two_contributors_of_a_total_are_those_of_its_part():
    up = {"w1": "w", "w2": "w", "w": None, "x": None, "y": None}
    cells = {"a": ["w1", "w2", "w", "x", "y", "Total"], "t": [95.0, 0, 95, 110, 120, 325], "n": [2, 0, 2, 4, 4, 10]}
    table = Table.from_cells(
        cells | {"top": [90.0, 0, 90, 40, 50, 90]},
        by=["a"],
        value="t",
        frequency="n",
        top=["top"],
        hierarchies={"a": up},
    ).flag(Dominance(1, 85))
    both = np.concatenate([table.find(a="w"), table.find(a="w1")])
    assert [np.isin(both, one.cells).all() for one in insiders_of(table)] == [True]
    assert hidden(suppress(table).table) >= {"w", "w1"}


def test_who_gives_to_a_total_gives_to_its_only_part():
    two = Table.from_cells({"a": list("xy"), "t": [9.0, 91], "n": [1, 1]}, by=["a"], value="t", frequency="n")
    one = Table.from_cells({"b": ["u"], "t": [100.0], "n": [2]}, by=["b"], value="t", frequency="n")
    table = Table.link([two, one])
    part = np.intersect1d(table.find(b="u"), table.find(a="Total"))
    known = [one.least[one.cells == part[0]].tolist() for one in insiders_of(table)]
    assert sorted(known) == [[9.0], [91.0]]


def test_negative_contributions_tell_only_sole_contributors_something():
    table = business({"w": [100.0], "x": [90.0, 2], "y": [40.0, -30, 50], "z": [60.0, 30, 40]}).flag(Threshold(3))
    assert [one.cells.tolist() for one in insiders_of(table)] == [table.find(a="w").tolist()]
    assert blamed(table) == {"x"}


def test_whoever_is_counted_does_not_know_that_he_is_alone_unless_the_records_are_his():
    data = {"a": list("wwwxxxyyyzzzzz"), "h": list("HHHKKK12345678")}
    people = Table.from_microdata(data, by=["a"]).flag(Threshold(5))
    assert not len(insiders_of(people))
    firms = Table.from_microdata(data, by=["a"], holding="h").flag(Threshold(2))
    assert hidden(firms) == {"w", "x"}
    assert blamed(firms) == {"w", "x"}
    assert not blamed(suppress(firms).table)


def test_an_attacker_is_not_kept_from_what_he_knows_anyway():
    # The one of two who gave 90 of 91 knows that x is no less than 90, though for others it must seem to be 82.
    table = business({"w": [70.0, 50, 30], "x": [90.0, 1], "y": [90.0, 80, 70]}).flag(Threshold(3))
    assert table.lower_protection[table.find(a="x")].tolist() == pytest.approx([9.1])
    assert audit(suppress(table).table).passed


def test_what_no_contributor_may_undo_is_named_with_what_helps():
    table = business({"w": [9.0], "x": [11.0], **LARGE}).flag(Threshold(2))
    shown = table.mark(np.flatnonzero(table.status == Status.SAFE), "published")
    with pytest.raises(Mistake, match="cannot be protected") as caught:
        suppress(shown)
    assert "mark these as safe, which are now empty or must be published: a=" in str(caught.value)


def test_tables_protected_one_by_one_undo_each_other_and_linked_ones_do_not(intruder):
    random = np.random.default_rng(5)
    count = 60
    data = {"region": random.choice(list("abc"), count), "size": random.choice(list("xyz"), count)}
    data |= {"sex": random.choice(list("fm"), count), "t": random.integers(20, 60, count)}
    first = Table.from_microdata(data, by=["region", "sex"], of="t", top=1)
    second = Table.from_microdata(data, by=["region", "size"], of="t", top=1)
    inner = int(np.intersect1d(first.find(region="a"), first.find(sex="f"))[0])
    first = first.mark(np.array([inner]), "primary", range=20)
    margins = (first.places == 0).any(axis=1)
    alone = suppress(first, cost=np.where(margins, 1.0, 100.0))
    assert alone.table.suppressed[margins].any()
    # The other table has nothing to hide, and shows what the first one hid.
    both = Table.link([alone.table, second.mark(np.arange(len(second)), "published")])
    assert not audit(both).passed
    assert intruder.undoes(both)
    linked = Table.link([replace(first, cost=np.where(margins, 1.0, 100.0)), second])
    together = suppress(linked, cost="given")
    assert not intruder.undoes(together.table)
