"""Who is exposed: those alone, or nearly, in a cross of a few keys that the rules let pass."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.engines import Coded
from confide.records.cells import UnitCells
from confide.records.exposure import Exposure, find_exposed
from protecting import CATALOG, Protection, catalog_of, coded_of, people, records_policy

KEYS = ("a", "b", "c")
SMALL = (
    'unit = "id"\n[variables.id]\nrole = "identifier"\n'
    + "".join(f'[variables.{k}]\nrole = "key"\n[variables.{k}.codes]\nx = "X"\ny = "Y"\nz = "Z"\n' for k in KEYS)
    + '[variables.s]\nrole = "confidential"\n[variables.s.codes]\nno = "No"\nyes = "Yes"\n'
    + '[variables.v]\nkind = "numeric"\nrole = "confidential"\n'
)
"""Three keys of three classes each, a confidential class and a confidential number."""

ANY_CROSS = records_policy(mean_cell=0.0, keys=3)


def rows_of(*groups: tuple[int, str], visits: int = 1) -> pa.Table:
    """So many people with each combination of a, b and c; each stands in the file `visits` times."""
    combinations = [classes for number, classes in groups for _ in range(number)]
    ids = np.arange(len(combinations)).repeat(visits)
    columns = {key: [combinations[i][at] for i in ids] for at, key in enumerate(KEYS)}
    return pa.table({"id": ids, **columns, "s": ["no"] * len(ids), "v": np.ones(len(ids))})


def found_in(exposure: Exposure) -> dict[tuple[str, ...], list[int]]:
    return {one.cross.names: one.rows.tolist() for one in exposure.found}


def exposed(table: pa.Table, **fields: object) -> dict[tuple[str, ...], list[int]]:
    policy = replace(ANY_CROSS, records=replace(ANY_CROSS.records, **fields))
    return found_in(find_exposed(coded_of(table, catalog=SMALL), catalog_of(SMALL), policy))


def test_somebody_alone_on_one_key_is_found_there_and_in_no_cross_that_has_it() -> None:
    assert exposed(rows_of((9, "xxx"), (9, "xyy"), (9, "yxy"), (9, "yyx"), (1, "zxx"))) == {("a",): [36]}


def test_somebody_alone_on_two_keys_only_is_found_in_that_pair() -> None:
    table = rows_of((9, "xxx"), (9, "yyx"), (9, "xxy"), (9, "yyy"), (1, "xyx"))
    assert exposed(table) == {("a", "b"): [36]}


def test_somebody_alone_on_all_three_keys_only_is_found_if_three_are_looked_at() -> None:
    pairs = [(9, "xxy"), (9, "xyx"), (9, "yxx")]
    assert exposed(rows_of(*pairs, (1, "xxx"))) == {("a", "b", "c"): [27]}
    assert exposed(rows_of(*pairs, (1, "xxx")), keys=2) == {}


def test_a_pair_is_exposed_if_groups_of_two_are() -> None:
    table = rows_of((9, "xxx"), (9, "yyx"), (2, "xyx"))
    assert exposed(table, alone=1) == {}
    assert exposed(table, alone=2) == {("a", "b"): [18, 19]}


def test_one_unit_with_several_records_is_alone_and_two_units_are_not() -> None:
    table = rows_of((9, "xxx"), (9, "yyx"), (1, "zzx"), visits=3)
    assert exposed(table) == {("a",): [54, 55, 56], ("b",): [54, 55, 56]}
    assert exposed(rows_of((9, "xxx"), (9, "yyx"), (2, "zzx"), visits=3)) == {}


def test_without_a_unit_every_record_is_one() -> None:
    catalog = SMALL.replace('unit = "id"\n', "")
    coded = coded_of(rows_of((9, "xxx"), (9, "yyx"), (1, "zzx"), visits=3), catalog=catalog)
    assert found_in(find_exposed(coded, catalog_of(catalog), ANY_CROSS)) == {}


def test_a_cross_too_large_to_be_answered_exposes_nobody() -> None:
    """36 people: a mean cell of 2 lets crosses of 18 cells pass, and 9 keys' cells with a confidential class of two."""
    table = rows_of((9, "xxx"), (9, "yyx"), (9, "xxy"), (8, "yyy"), (1, "xyx"))
    coded, dataset = coded_of(table, catalog=SMALL), catalog_of(SMALL)
    assert set(found_in(find_exposed(coded, dataset, records_policy(mean_cell=2.0)))) == {("a", "b")}
    beyond = find_exposed(coded, dataset, records_policy(mean_cell=2.1))
    assert found_in(beyond) == {} and beyond.numbers["v"].sum() == 1  # nine cells still pass beside a number
    assert find_exposed(coded, dataset, records_policy(mean_cell=4.1)).numbers["v"].sum() == 0


def test_codes_that_mean_missing_do_not_make_a_cross_larger_but_expose_like_any_other() -> None:
    catalog = SMALL.replace('[variables.a]\nrole = "key"\n', '[variables.a]\nrole = "key"\nmissing = ["z"]\n')
    table = rows_of((9, "xxx"), (9, "yyx"), (9, "xxy"), (8, "yyy"), (1, "zyx"))
    coded = coded_of(table, catalog=catalog)
    assert found_in(find_exposed(coded, catalog_of(catalog), records_policy(mean_cell=2.0))) == {("a",): [35]}
    # 2 x 3 cells with the confidential class: a mean cell of 3 lets them pass only if the missing code is left out
    other = coded_of(rows_of((9, "xxx"), (9, "yyx"), (9, "xxy"), (8, "yyy"), (1, "xyx")), catalog=catalog)
    assert set(found_in(find_exposed(other, catalog_of(catalog), records_policy(mean_cell=3.0)))) == {("b", "a")}


def test_a_level_above_exposes_first() -> None:
    """The one of county C is told by the county; the one of a sex in a2 by the town alone."""
    rows = [("f", "a1")] * 9 + [("m", "a1")] * 9 + [("f", "a2")] * 9 + [("f", "b1")] * 9 + [("m", "b1")] * 9
    rows += [("m", "a2"), ("f", "c1")]
    sex, town = (list(column) for column in zip(*rows, strict=True))
    size = len(rows)
    table = pa.table(
        {
            "id": np.arange(size), "sex": sex, "town": town, "county": [t[0].upper() for t in town],
            "age": [20.0] * size, "job": ["shop"] * size, "mood": ["good"] * size, "ill": ["no"] * size,
            "income": [1.0] * size, "tax": [1.0] * size,
        }
    )  # fmt: skip
    found = found_in(find_exposed(coded_of(table), catalog_of(CATALOG), records_policy(mean_cell=0.0, keys=2)))
    assert {frozenset(names): rows for names, rows in found.items()} == {
        frozenset({"county"}): [46], frozenset({"sex", "town"}): [45],
    }  # fmt: skip


def test_who_dominates_a_total_is_exposed_in_their_number_and_in_no_class() -> None:
    table = rows_of((9, "xxx"), (9, "yyx"))
    table = table.set_column(table.column_names.index("v"), "v", pa.array([91.0, *[1.0] * 17]))
    coded, dataset = coded_of(table, catalog=SMALL), catalog_of(SMALL)
    for limit, rows in ((0.5, [0]), (0.95, []), (1.0, [])):
        exposure = find_exposed(coded, dataset, records_policy(mean_cell=0.0, dominance=limit))
        assert exposure.found == () and np.flatnonzero(exposure.numbers["v"]).tolist() == rows, limit


def test_the_share_of_a_unit_is_that_of_all_its_records() -> None:
    table = rows_of((4, "xxx"), visits=2)
    coded = coded_of(table.set_column(5, "v", pa.array([3.0, 3, 1, 1, 1, 1, 1, 1])), catalog=SMALL)
    cells = UnitCells(coded, catalog_of(SMALL))
    shares = np.concatenate([some for _, some in cells.shares(("a",), coded.numbers("v"))])
    np.testing.assert_allclose(shares, [0.5, 0.5, *[1 / 6] * 6])


def test_of_no_keys_and_of_no_confidential_numbers_nothing_is_found() -> None:
    nobody = find_exposed(
        coded_of(people(50, seed=1), catalog=(no := CATALOG.replace('"key"', '"other"'))), catalog_of(no), ANY_CROSS
    )
    assert nobody.found == () and nobody.traits == () and not nobody.exposed.any()
    plain = CATALOG.replace('kind = "numeric"\nrole = "confidential"', 'kind = "numeric"')
    assert find_exposed(coded_of(people(50, seed=1), catalog=plain), catalog_of(plain), ANY_CROSS).numbers == {}


def alone_by_counting(coded: Coded, *, keys: int, alone: int) -> set[int]:
    """The plain twin: count every combination of up to so many keys."""
    columns = [coded.places(key).tolist() for key in KEYS]
    units = coded.units.tolist()
    found = set()
    for size in range(1, keys + 1):
        for chosen in itertools.combinations(columns, size):
            cells = list(zip(*chosen, strict=True))
            people_in = Counter(cell for cell, _ in set(zip(cells, units, strict=True)))
            found |= {row for row, cell in enumerate(cells) if people_in[cell] <= alone}
    return found


@given(
    st.lists(st.tuples(*[st.sampled_from("xyz")] * 3), min_size=1, max_size=25),
    st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.randoms(use_true_random=False),
)  # fmt: skip
def test_the_exposed_are_those_that_counting_finds(
    rows: list[tuple[str, str, str]], keys: int, alone: int, visits: int, random: object
) -> None:
    a, b, c = (list(column) for column in zip(*rows, strict=True))
    ids = [random.randrange(len(rows)) for _ in rows] if visits > 1 else list(range(len(rows)))  # type: ignore[attr-defined]
    table = pa.table({"id": ids, "a": a, "b": b, "c": c, "s": ["no"] * len(rows), "v": np.ones(len(rows))})
    policy = records_policy(mean_cell=0.0, keys=keys, alone=alone)
    coded = coded_of(table, catalog=SMALL)
    exposure = find_exposed(coded, catalog_of(SMALL), policy)
    # crosses of more than four declared cells a unit, with a class of two beside them, are not looked at
    cells = 4 * len(set(ids)) / 2
    looked = max((size for size in range(1, keys + 1) if 3**size <= cells), default=0)
    assert set(np.flatnonzero(exposure.exposed)) == alone_by_counting(coded, keys=looked, alone=alone)
    minimal = {(one.cross.names, row) for one in exposure.found for row in one.rows.tolist()}
    for names, row in minimal:
        assert not any(
            (part, row) in minimal for n in range(1, len(names)) for part in itertools.combinations(names, n)
        )


@pytest.mark.parametrize("size", [1, 2, 5])
def test_of_a_handful_of_people_nobody_is_looked_for_in_large_crosses(size: int) -> None:
    exposure = Protection(people(size, seed=3)).exposure
    assert all(one.cross.cells * 4 <= size for one in exposure.found)
