"""Who leaves and would be told of stays as they were, and somebody alike leaves in their stead."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protecting import CATALOG, catalog_of, coded_of, people, records_policy, secret_of
from tests.records.test_levels import book as homes_book
from tests.records.test_levels import living

import confide
from confide.arrays import Bools, Ints
from confide.engines import CLUSTER, Coded
from confide.engines.duckdb.store import read_store_facts
from confide.errors import Mistake, Refused
from confide.model.policy import Policy, UpdateRules, write_policy
from confide.records.exposure import find_exposed
from confide.records.ingest import Ingested, preview, protect_again
from confide.records.keeping import read_stand_ins, read_truth
from confide.records.leaving.choosing import CROWD
from confide.records.leaving.loading import Loading, prepare_update
from confide.records.leaving.stand_ins import NOBODY, StandIns
from confide.records.leaving.telling import exposed_to
from confide.records.levels.protecting import protect_levels
from confide.records.traits import key_traits
from confide.site.coding.encode import encode
from confide.site.folder import Folder

SIZE, GONE = 3000, 120
BOOK = catalog_of(CATALOG)
FIRST = people(SIZE, seed=1)


def policy_with(**updates: object) -> Policy:
    return replace(
        records_policy(mean_cell=1.0, background=0.0),
        updates=UpdateRules(**{"least": 0, **updates}),  # type: ignore[arg-type]
    )


def update(
    before: Coded, after: Coded, pairs: StandIns = NOBODY, *, policy: Policy | None = None, secret: int = 0
) -> Loading:
    return prepare_update(
        before, after, pairs, catalogs=(BOOK, BOOK), policy=policy or policy_with(), secret=secret_of(secret)
    )


def without(table: pa.Table, gone: Ints) -> pa.Table:
    return table.take(np.setdiff1d(np.arange(table.num_rows), gone))


def who_leave(number: int = GONE, *, seed: int = 1, size: int = SIZE) -> Ints:
    return np.random.default_rng(seed).choice(size, number, replace=False)


@lru_cache
def left(number: int = GONE) -> tuple[Coded, Coded, Loading]:
    """The records before so many left, what came in, and what is loaded."""
    before, after = coded_of(FIRST), coded_of(without(FIRST, who_leave(number)))
    return before, after, update(before, after)


def rows_of(coded: Coded, units: Ints) -> pa.Table:
    """The records of some units, in the order of these."""
    chosen = coded.records.filter(pa.array(np.isin(coded.units, units)))
    return chosen.sort_by("unit")


def changed(table: pa.Table, rows: Ints) -> pa.Table:
    """The same people after some earn more."""
    more = pc.add(pc.fill_null(table["income"], 7.0), 1.0)
    chosen = pa.array(np.isin(np.arange(table.num_rows), rows))
    return table.set_column(table.column_names.index("income"), "income", pc.if_else(chosen, more, table["income"]))


def counts(found: Loading | Ingested) -> tuple[int, ...]:
    assert found.update is not None
    return (*(len(units) for units in found.update.groups.values()), found.update.same)


def named(coded: Coded, units: Ints) -> Ints:
    """Which rows of the first table some units are."""
    return np.flatnonzero(np.isin(coded_of(FIRST).units, units))


def test_as_many_are_in_the_data_and_who_left_stays_as_they_were() -> None:
    before, after, found = left()
    pairs = found.pairs
    assert 0.5 * GONE < len(pairs) <= GONE and found.records.records.num_rows == SIZE - GONE
    assert len(np.unique(found.records.units)) == SIZE - GONE
    assert not np.isin(pairs.leavers, after.units).any() and np.isin(pairs.stand_ins, after.units).all()
    assert not np.isin(pairs.stand_ins, found.records.units).any()
    assert rows_of(found.records, pairs.leavers).equals(rows_of(before, pairs.leavers))
    others = np.setdiff1d(after.units, pairs.stand_ins)
    assert rows_of(found.records, others).equals(rows_of(before, others))
    assert counts(found) == (0, GONE, 0, SIZE - GONE)


def alone_in_the_difference(before: Coded, loaded: Coded) -> Bools:
    """Whose records two versions differ in, alone among these on keys that pass and not alone before: counted cell by cell."""
    crosses = find_exposed(before, BOOK, policy_with()).crosses
    away = ~np.isin(before.units, loaded.units)
    found = np.zeros(len(away), bool)
    for cross in crosses:
        columns = np.column_stack([before.places(name) for name in cross.names])
        cells = np.unique(columns, axis=0, return_inverse=True)[1].ravel()
        found |= away & (np.bincount(cells, away)[cells] <= 1) & (np.bincount(cells)[cells] > 1)
    return found


@pytest.mark.parametrize("number", [30, GONE, 700])
def test_of_nobody_who_left_the_difference_tells_by_a_key(number: int) -> None:
    before, after, found = left(number)
    gone = ~np.isin(before.units, after.units)
    assert (alone_in_the_difference(before, after) & gone).sum() > number / 5
    assert not (alone_in_the_difference(before, found.records) & gone).any()


def test_where_nearly_everybody_leaves_hardly_anybody_is_told_of() -> None:
    """What the difference shows of them was protected by itself, all of it."""
    before, _, found = left(SIZE - 5)
    assert len(found.pairs) == 0 and found.records.records.num_rows == 5
    assert len(before.units) == SIZE


def test_stand_ins_are_alike_and_of_those_equally_alike_one_of_many() -> None:
    before, after, found = left(700)
    order = np.argsort(before.units)
    mine, theirs = (
        order[np.searchsorted(before.units[order], of)] for of in (found.pairs.leavers, found.pairs.stand_ins)
    )
    levels = [trait.levels for trait in key_traits(BOOK, before)]
    finest, coarse = (np.column_stack([before.places(of[place]) for of in levels]) for place in (-1, 0))
    same = (coarse[mine] == coarse[theirs]).sum(axis=1)
    assert (same >= len(levels) - 2).mean() > 0.95 and same.mean() > 0.9 * len(levels)
    exposure = exposed_to(before, BOOK, policy_with(), CROWD - 1)
    many = ~(exposure.exposed | exposure.single)
    free = many & np.isin(before.units, np.setdiff1d(after.units, found.pairs.stand_ins))
    looked = 0
    for one, other in zip(mine, theirs, strict=True):
        alike = (coarse == coarse[one]).all(axis=1)
        if alike[other] and not many[other] and not (finest[one] == finest[other]).all():
            assert not (alike & free).any()
            looked += 1
    assert looked > 10


def test_the_same_data_give_the_same_pairs_in_whatever_order_and_another_secret_others() -> None:
    before, after, found = left()
    mixed = np.random.default_rng(7).permutation(SIZE)
    again = update(replace(before, records=before.records.take(mixed)), after).pairs
    order, again_order = np.argsort(found.pairs.leavers), np.argsort(again.leavers)
    for name in ("leavers", "stand_ins", "marks", "groups"):
        np.testing.assert_array_equal(getattr(found.pairs, name)[order], getattr(again, name)[again_order])
    other = update(before, after, secret=5).pairs
    assert np.isin(other.leavers, found.pairs.leavers).mean() > 0.9  # nearly all by their own keys alone
    assert np.isin(other.stand_ins, found.pairs.stand_ins).mean() < 0.5


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_confidential_variables_play_no_part_in_who_leaves(seed: int) -> None:
    """Whatever anybody earns or has, the same pairs come out: their records tell what statistics tell."""
    order = np.random.default_rng(seed).permutation(SIZE)
    table = FIRST
    for name in ("ill", "income", "tax", "mood"):
        table = table.set_column(table.column_names.index(name), name, table[name].take(order))
    found = update(coded_of(table), coded_of(without(table, who_leave()))).pairs
    for name in ("leavers", "stand_ins"):
        np.testing.assert_array_equal(getattr(found, name), getattr(left()[2].pairs, name))


def test_while_nothing_happens_to_a_pair_nothing_of_it_differs() -> None:
    before, after, found = left()
    again = update(found.records, after, found.pairs)
    assert again.again and counts(again) == (0, 0, 0, SIZE - GONE) and len(again.pairs) == len(found.pairs)
    assert again.records.facts.data == found.records.facts.data != after.facts.data
    # fifty of the others leave and thirty come: pairs last, and more are made
    rest = without(FIRST, who_leave())
    others = np.flatnonzero(~np.isin(after.units, found.pairs.stand_ins))[::50]
    came = pa.concat_tables([without(rest, others), people(30, seed=9, first=SIZE)])
    then = update(found.records, coded_of(came), found.pairs)
    assert counts(then) == (30, len(others), 0, len(rest) - len(others))
    assert len(then.pairs) > len(found.pairs) and np.isin(found.pairs.leavers, then.pairs.leavers).all()
    assert not np.isin(then.pairs.stand_ins, found.pairs.leavers).any()
    assert len(np.unique(then.pairs.stand_ins)) == len(then.pairs)
    assert then.records.records.num_rows == came.num_rows
    assert rows_of(then.records, found.pairs.leavers).equals(rows_of(before, found.pairs.leavers))


def test_a_pair_ends_when_the_one_left_out_changes_or_leaves_or_the_leaver_is_back() -> None:
    before, _, found = left()
    pairs, rest = found.pairs, without(FIRST, who_leave())
    there = coded_of(rest).units
    out = np.flatnonzero(np.isin(there, pairs.stand_ins))
    richer, gone = out[:10], out[10:15]
    back = named(before, pairs.leavers)[-7:]
    data = pa.concat_tables([without(changed(rest, richer), gone), FIRST.take(back)])
    then = update(found.records, coded_of(data), pairs)
    assert counts(then) == (7, 5, 10, len(rest) - 15)
    assert then.records.records.num_rows == data.num_rows
    ended = np.isin(pairs.stand_ins, there[np.concatenate([richer, gone])]) | np.isin(pairs.leavers, before.units[back])
    lasting = pairs.only(~ended)
    assert set(zip(lasting.leavers, lasting.stand_ins, strict=True)) <= set(
        zip(then.pairs.leavers, then.pairs.stand_ins, strict=True)
    )
    assert not np.isin(then.pairs.leavers, before.units[back]).any()
    new = then.records.only(np.isin(then.records.units, there[richer]))
    assert new.cohort is None or not new.cohort.to_numpy().any()  # they have been there, and keep their draws
    assert rows_of(then.records, before.units[back]).equals(rows_of(before, before.units[back]))
    # who left once is told of no more than who leaves now: most have somebody else leave in their stead
    told = np.isin(pairs.leavers[ended & ~np.isin(pairs.leavers, before.units[back])], then.pairs.leavers)
    assert told.mean() > 0.5


def test_few_of_those_left_out_who_changed_wait() -> None:
    found = left()[2]
    pairs, rest = found.pairs, without(FIRST, who_leave())
    out = np.flatnonzero(np.isin(coded_of(rest).units, pairs.stand_ins))
    inside = np.setdiff1d(np.arange(len(rest)), out)[:40]
    data = coded_of(changed(rest, np.concatenate([out[:3], inside])))
    then = update(found.records, data, pairs, policy=policy_with(least=30))
    assert counts(then) == (0, 0, 43, len(rest) - 43) and len(then.pairs) == len(pairs)
    assert any("3 of those left out changed" in line for line in then.words)
    many = coded_of(changed(rest, np.concatenate([out[:35], inside])))
    assert not any(
        "so few wait" in line for line in update(found.records, many, pairs, policy=policy_with(least=30)).words
    )


def test_who_comes_back_and_whose_stand_in_left_is_counted_as_in_the_data() -> None:
    before, _, found = left()
    pairs, rest = found.pairs, without(FIRST, who_leave())
    whose = before.units[named(before, pairs.leavers)[0]]
    by = pairs.stand_ins[pairs.leavers == whose]
    data = pa.concat_tables(
        [without(rest, np.flatnonzero(np.isin(coded_of(rest).units, by))), FIRST.take(named(before, [whose]))]
    )
    then = update(found.records, coded_of(data), pairs)
    assert counts(then) == (1, 1, 0, len(rest) - 1) and len(then.pairs) == len(pairs) - 1
    assert then.records.records.num_rows == data.num_rows


def refreshed(table: pa.Table, *names: str) -> pa.Table:
    """The same people after some variables are all others."""
    for name in names:
        if name == "ill":
            new = pa.array(
                np.roll(["no", "once", "yes"], 1)[pc.index_in(table[name], pa.array(["no", "once", "yes"])).to_numpy()]
            )
        else:
            new = pc.add(pc.fill_null(table[name], 0.0), 1.0)
        table = table.set_column(table.column_names.index(name), name, new)
    return table


def test_that_many_records_age_is_told() -> None:
    line = "units are there in the data no more, and their records age."
    many, few = left(1300)[2], left()[2]
    assert f"{len(many.pairs)} of {SIZE - 1300:,} {line}" in many.words
    assert not any(line in each for each in few.words)


def test_what_changes_hides_who_left_only_in_tables_of_what_changed() -> None:
    """Where everything confidential changes nobody needs a stand-in; if people only earn more, tables of their illness tell."""
    before, rest = coded_of(FIRST), without(FIRST, who_leave())
    found = update(before, coded_of(refreshed(rest, "ill", "income", "tax")))
    assert len(found.pairs) == 0 and found.words == () and len(found.update.changed) == SIZE - GONE
    partly = update(before, coded_of(refreshed(rest, "income", "tax")))
    assert 0.5 * len(left()[2].pairs) < len(partly.pairs) <= len(left()[2].pairs)
    again = update(partly.records, coded_of(refreshed(rest, "income", "tax")), partly.pairs)
    assert again.again and len(again.pairs) == len(partly.pairs)


@pytest.mark.parametrize("policy", [policy_with(stand_ins=False), replace(Policy(), updates=UpdateRules(least=0))])
def test_nobody_stands_in_where_the_policy_says_so_or_records_are_true(policy: Policy) -> None:
    before, after, found = left()
    plain = update(before, after, policy=policy)
    assert len(plain.pairs) == 0 and plain.records.facts.data == after.facts.data
    ended = update(found.records, after, found.pairs, policy=policy)  # who stood in leaves, and the others are back
    assert len(ended.pairs) == 0 and ended.records.facts.data == after.facts.data
    assert any(line.startswith(f"{len(found.pairs)} who stayed") for line in ended.words)


def test_where_nobody_can_leave_in_their_stead_the_update_is_refused_or_they_wait() -> None:
    table = FIRST.slice(0, 40)
    before, after = coded_of(table), coded_of(table.slice(30))
    policy = policy_with()
    policy = replace(policy, tables=replace(policy.tables, mean_cell=0.0))
    with pytest.raises(Refused, match=r"nobody who stayed") as refused:
        update(before, after, policy=policy)
    assert refused.value.reasons[0].rule == "updates.stand_ins"
    waits = replace(policy, updates=replace(policy.updates, few="wait"))
    found = update(before, after, policy=waits)
    waiting = found.records.records.num_rows - 10
    assert waiting > 0 and f"{waiting} who left wait" in found.words[0]
    assert not (alone_in_the_difference(before, found.records) & ~np.isin(before.units, after.units)).any()


def test_records_that_are_coded_in_another_way_end_all_pairs() -> None:
    found = left()[2]
    text = CATALOG.replace('bad = "Bad"', 'bad = "Bad"\nfair = "Fair"')
    after = coded_of(without(FIRST, who_leave()), catalog=text)
    then = prepare_update(
        found.records,
        after,
        found.pairs,
        catalogs=(BOOK, catalog_of(text)),
        policy=policy_with(),
        secret=secret_of(),
    )
    assert len(then.pairs) == 0 and then.records.facts.data == after.facts.data


def test_a_unit_of_several_records_has_a_stand_in_of_as_many() -> None:
    twice = np.repeat(np.arange(SIZE), 1 + (np.arange(SIZE) % 3 == 0))
    table = FIRST.take(twice)
    gone = np.flatnonzero(np.isin(twice, who_leave()))
    before, after = coded_of(table), coded_of(without(table, gone))
    found = update(before, after)
    sizes = dict(zip(*np.unique(before.units, return_counts=True), strict=True))
    assert {sizes[u] for u in found.pairs.leavers} == {1, 2}
    assert [sizes[u] for u in found.pairs.leavers] == [sizes[u] for u in found.pairs.stand_ins]
    assert found.records.records.num_rows == after.records.num_rows


def test_who_stays_is_in_the_sampling_unit_of_who_leaves_in_their_stead() -> None:
    """Sampling units are numbered anew in each version: each keeps as many units as the data have there."""
    text = CATALOG.replace('unit = "id"', 'unit = "id"\n[sampling]\npsu = "village"', 1)
    text = text.replace("[sampling]", "\n[sampling]", 1)
    villages = FIRST.append_column("village", pa.array(np.arange(SIZE) % 60 + 100))
    gone = np.flatnonzero(np.isin(np.arange(SIZE) % 60, [0, 1]))[:90]
    before, after = (coded_of(table, catalog=text) for table in (villages, without(villages, gone)))
    book = catalog_of(text)
    found = prepare_update(before, after, NOBODY, catalogs=(book, book), policy=policy_with(), secret=secret_of())
    assert len(found.pairs) > 45
    np.testing.assert_array_equal(np.bincount(found.records.places(CLUSTER)), np.bincount(after.places(CLUSTER)))


@lru_cache
def households() -> tuple[Coded, Coded, Loading]:
    """People of homes of one to six before and after whole homes left, and some of others; and what is loaded."""
    book, frame, secret = homes_book(), living(), secret_of()
    chosen = np.random.default_rng(2).permutation(frame["home"].unique())
    gone = frame["home"].isin(chosen[:60]) | (
        frame["home"].isin(chosen[60:90]) & ~frame.duplicated("home", keep="last")
    )
    before, after = (
        encode(book, pa.Table.from_pandas(part, preserve_index=False), secret=secret) for part in (frame, frame[~gone])
    )
    policy = replace(policy_with(few="wait"), tables=replace(policy_with().tables, mean_cell=2.0))
    both = (book, book)
    return before, after, prepare_update(before, after, NOBODY, catalogs=both, policy=policy, secret=secret)


def test_a_whole_household_that_leaves_has_another_of_its_size_leave_in_its_stead() -> None:
    before, after, found = households()
    assert before.households is not None and after.households is not None and found.records.households is not None
    home = dict(zip(before.units.tolist(), before.households.tolist(), strict=True))
    left, out = ({home[u] for u in units.tolist()} for units in (found.pairs.leavers, found.pairs.stand_ins))
    assert len(left) == len(out) > 5 and not left & set(after.households.tolist())
    assert left <= set(found.records.households.tolist()) and not out & set(found.records.households.tolist())
    for one in left:
        other = {home[u] for u in found.pairs.stand_ins[found.pairs.groups == one].tolist()}
        assert len(other) == 1 and (before.households == one).sum() == (before.households == other.pop()).sum()
    assert found.records.records.num_rows == after.records.num_rows
    levels = protect_levels(found.records, homes_book(), policy_with(), secret_of())
    assert levels[1].records.records.num_rows == len(np.unique(after.households))


def test_a_pair_of_households_ends_as_a_whole() -> None:
    _, after, found = households()
    sizes = {g: (found.pairs.groups == g).sum() for g in np.unique(found.pairs.groups)}
    group = max(sizes, key=lambda g: (sizes[g], g))
    assert sizes[group] > 1
    one = found.pairs.stand_ins[found.pairs.groups == group][:1]
    then = prepare_update(
        found.records,
        after.only(~np.isin(after.units, one)),
        found.pairs,
        catalogs=(homes_book(), homes_book()),
        policy=policy_with(few="wait", least=0),
        secret=secret_of(),
    )
    again = then.pairs.only(np.isin(then.pairs.leavers, found.pairs.leavers[found.pairs.groups == group]))
    assert not np.isin(again.stand_ins, found.pairs.stand_ins[found.pairs.groups == group]).any()
    assert then.update.gone.tolist() == one.tolist()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    confide.add(FIRST, tmp_path / "site", name="people", catalog=CATALOG, preset="standard")
    found = Folder(tmp_path / "site")
    (found.path / "policy.toml").write_text(write_policy(policy_with(least=10), preset="standard"))
    return found


def test_a_site_remembers_who_stands_in_for_whom(folder: Folder) -> None:
    rest = without(FIRST, who_leave())
    shown = preview(rest, folder.path, name="people")
    done = confide.ingest(rest, folder.path, name="people")
    pairs, file = read_stand_ins(folder, "people"), folder.records("people") / "stand_ins.parquet"
    assert file.stat().st_mode & 0o077 == 0 and len(pairs) > 0
    line = f"{len(pairs)} of those who left stay as they were, and as many alike leave in their stead."
    assert line in done.lines() == shown.lines() and counts(done) == (0, GONE, 0, SIZE - GONE)
    truth = read_truth(folder, "people")
    assert np.isin(pairs.leavers, truth.units).all() and not np.isin(pairs.stand_ins, truth.units).any()
    assert read_store_facts(folder.store("people")).data != ""
    protect_again(folder.path, name="people")
    np.testing.assert_array_equal(read_stand_ins(folder, "people").stand_ins, pairs.stand_ins)
    again = confide.ingest(rest, folder.path, name="people")
    assert again.vintage == done.vintage and counts(again) == (0, 0, 0, SIZE - GONE)
    np.testing.assert_array_equal(np.sort(read_stand_ins(folder, "people").stand_ins), np.sort(pairs.stand_ins))
    confide.ingest(refreshed(rest, "ill", "income", "tax"), folder.path, name="people")
    assert not (folder.records("people") / "stand_ins.parquet").exists()


def test_pairs_that_cannot_be_read_are_a_mistake(folder: Folder) -> None:
    confide.ingest(without(FIRST, who_leave()), folder.path, name="people")
    (folder.records("people") / "stand_ins.parquet").write_bytes(b"PAR1")
    with pytest.raises(Mistake, match="cannot be read as pairs"):
        confide.ingest(FIRST, folder.path, name="people")
