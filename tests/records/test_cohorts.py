"""Who comes in an update is protected among those who came with them, so that what two versions differ in is protected by itself."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.protecting import CATALOG, catalog_of, coded_of, people, records_policy, secret_of

import confide
from confide.arrays import Bools, Ints
from confide.engines import Coded
from confide.engines.duckdb.store import read_store_facts
from confide.errors import Mistake
from confide.model.policy import UpdateRules, write_policy
from confide.records.ceilings.ceiling import Ceiling, find_ceilings
from confide.records.cells import UnitCells
from confide.records.exchanges.exchange import plan_exchanges
from confide.records.exposure import find_exposed
from confide.records.ingest import protect_again
from confide.records.keeping import read_report, read_truth
from confide.records.protect import protect_records
from confide.records.report import ceiling_words
from confide.records.updates import in_cohorts
from confide.site.folder import Folder

SIZE, NEW = 1500, 150
POLICY = records_policy(mean_cell=1.0, background=0.0)
KEYS = ("sex", "town", "age", "job")
BOOK = catalog_of(CATALOG)


def table(size: int = SIZE, *, seed: int = 1, first: int = 0) -> pa.Table:
    return people(size, seed=seed, first=first)


@lru_cache
def update(new: int = NEW) -> tuple[Coded, Coded]:
    """The true records before an update, and after so many came."""
    before = coded_of(table())
    return before, in_cohorts(before, coded_of(pa.concat_tables([table(), table(new, seed=2, first=SIZE)])))


def protected(coded: Coded) -> Coded:
    return protect_records(coded, BOOK, POLICY, secret_of())[0]


@lru_cache
def shown(new: int = NEW) -> Coded:
    """The protected records after the update."""
    return protected(update(new)[1])


def cohorts(coded: Coded) -> Ints:
    assert coded.cohort is not None
    return np.asarray(coded.cohort.to_numpy())


def changed(before: Coded, after: Coded) -> Bools:
    """Which of those who were there before stand under other keys; their records come first in both."""
    size = before.records.num_rows
    return np.any([before.places(name) != after.places(name)[:size] for name in KEYS], axis=0)


def test_who_was_there_before_stays_as_they_were() -> None:
    """With one cohort, those who meet newcomers exchange with them: more of them are others than before."""
    before, after = update()
    share = changed(protected(before), shown()).mean()
    together = changed(protected(before), protected(replace(after, cohort=None))).mean()
    assert share < 0.01 and together > 0.02


def test_newcomers_exchange_with_newcomers_and_the_others_with_each_other() -> None:
    after = update()[1]
    cohort, exchanged = cohorts(after), 0
    for plan in plan_exchanges(after, BOOK, find_exposed(after, BOOK, POLICY), POLICY.records, secret_of()):
        apart = cohort[plan.rows] != cohort[plan.sources]
        exchanged += int((cohort[plan.rows] == 1).sum())
        assert apart.sum() <= 0.02 * len(apart), plan.trait.name  # nobody among the newcomers may have another class
    assert exchanged > NEW


def test_a_newcomer_alone_among_newcomers_stands_elsewhere_in_every_cross_that_passes() -> None:
    after = update()[1]
    new = cohorts(after) == 1
    exposure = find_exposed(after, BOOK, POLICY)
    known, seen = UnitCells(after, BOOK), UnitCells(shown(), BOOK)
    kept, alone = 0, 0
    for one in exposure.found:
        rows = one.rows[new[one.rows]]
        kept += int((known.of(one.cross.names, rows) == seen.of(one.cross.names, rows)).sum())
        alone += len(rows)
    assert alone > NEW and kept < 0.02 * alone
    whole = find_exposed(replace(after, cohort=None), BOOK, POLICY)
    assert whole.exposed[new].mean() < exposure.exposed[new].mean()
    assert not (
        whole.exposed & ~exposure.exposed
    ).any()  # whoever is alone in the file is alone among those they came with
    assert not (whole.single & ~exposure.single).any()


def test_a_few_newcomers_exchange_with_anybody() -> None:
    """Three are fewer than partners are drawn from: they stand elsewhere all the same."""
    after = update(3)[1]
    rows = np.flatnonzero(cohorts(after) == 1)
    assert len(rows) == 3
    assert np.any([shown(3).places(name)[rows] != after.places(name)[rows] for name in KEYS], axis=0).all()


def test_as_many_have_each_class_as_before_among_newcomers() -> None:
    after = update()[1]
    new = cohorts(after) == 1
    for name in KEYS:
        was, now = (np.bincount(of.places(name)[new], minlength=20) for of in (after, shown()))
        assert np.abs(was - now).sum() <= 4, name  # who found nobody among newcomers


def test_a_household_is_of_the_cohort_of_the_first_who_lived_in_it_and_moves_together() -> None:
    catalog = (
        CATALOG.replace('unit = "id"', 'unit = "id"\nhousehold = "home"') + '\n[variables.home]\nrole = "identifier"\n'
    )
    everybody = pa.concat_tables([table(), table(NEW, seed=2, first=SIZE)])
    home = np.arange(SIZE + NEW) // 3
    home[SIZE:] = np.arange(NEW) * 4  # each newcomer lives with somebody who was there
    town = np.asarray(everybody["town"])[np.searchsorted(home[:SIZE], np.minimum(home, home[SIZE - 1]))]
    whole = everybody.set_column(3, "town", pa.array(town)).set_column(
        2, "county", pa.array(np.char.upper(town.astype("<U1")))
    )
    coded = coded_of(whole.append_column("home", pa.array(home.astype(str))), catalog=catalog)
    after = in_cohorts(coded.only(np.arange(SIZE + NEW) < SIZE), coded)
    done = protect_records(after, catalog_of(catalog), POLICY, secret_of())[0]
    assert (done.places("town") != after.places("town")).any()
    for each in np.unique(home):
        assert len(np.unique(done.places("town")[home == each])) == 1


def test_cohorts_follow_from_who_was_there() -> None:
    first, second, third = coded_of(table(30)), coded_of(table(50)), coded_of(table(60))
    then = in_cohorts(first, second)
    assert cohorts(then).tolist() == 30 * [0] + 20 * [1]
    assert cohorts(in_cohorts(then, third)).tolist() == 30 * [0] + 20 * [1] + 10 * [2]
    assert in_cohorts(first, first).cohort is None and in_cohorts(second, first).cohort is None
    gone = third.only(np.arange(60) >= 30)  # numbers have no gaps, the oldest of those who are left are the first
    assert cohorts(in_cohorts(then, gone)).tolist() == 20 * [0] + 10 * [1]
    back = in_cohorts(in_cohorts(then, third.only(np.arange(60) % 2 == 0)), third)
    assert set(cohorts(back)[1::2]) == {3} and cohorts(back)[:4:2].tolist() == [0, 0]  # who comes back is new
    assert in_cohorts(first.only(np.zeros(30, bool)), first).cohort is None
    assert in_cohorts(first, first.only(np.zeros(30, bool))).cohort is None


def test_the_order_of_records_does_not_matter() -> None:
    before, after = update()
    order = np.random.default_rng(5).permutation(SIZE + NEW)
    mixed = replace(after, records=after.records.take(pa.array(order)), cohort=None)
    found = in_cohorts(before, mixed)
    np.testing.assert_array_equal(cohorts(found), cohorts(after)[order])
    done = protected(found)
    for name in KEYS:
        np.testing.assert_array_equal(done.places(name), shown().places(name)[order])


def test_cells_are_parted_by_cohorts() -> None:
    after = update()[1]
    cells, new = UnitCells(after, BOOK, cohorts=True), cohorts(after) == 1
    counts = cells.counts(("sex", "job")).reshape(2, -1)
    plain = UnitCells(after, BOOK)
    assert cells.whole is not cells and plain.whole is plain
    np.testing.assert_array_equal(counts.sum(axis=0), plain.counts(("sex", "job")))
    np.testing.assert_array_equal(counts[1], plain.counts(("sex", "job"), np.flatnonzero(new)))


def test_the_ceiling_says_what_two_versions_tell_of_newcomers() -> None:
    """Of true records everything; of protected ones hardly more than statistics on the others."""
    after = update()[1]
    exposure = find_exposed(after, BOOK, POLICY)
    bare, after_all = (find_ceilings(after, of, BOOK, exposure) for of in (after, shown()))
    known, found = (
        {(c.variable, c.keys): c for c in some if c.newcomers and not c.number} for some in (bare, after_all)
    )
    assert {keys for _, keys in found} == {2, 3} and known.keys() == found.keys()
    assert known["ill", 2].right > 0.95 and found["ill", 2].right < known["ill", 2].right - 0.3
    assert {c.newcomers for c in after_all} == {False, True}
    everybody = {(c.variable, c.keys): c.exposed for c in after_all if not c.newcomers and not c.number}
    assert all(found[of].exposed < many for of, many in everybody.items())
    assert not any(c.newcomers for c in find_ceilings(*2 * (replace(after, cohort=None),), BOOK, exposure))


def test_what_the_whole_file_tells_of_newcomers_is_in_their_ceiling() -> None:
    """All newcomers have exchanged everything, but those alike in the file have the same illness as they do."""
    sure = table().set_column(7, "ill", pa.array(np.where(np.asarray(table()["sex"]) == "f", "yes", "no")))
    new = table(12, seed=2, first=SIZE)
    new = new.set_column(7, "ill", pa.array(np.where(np.asarray(new["sex"]) == "f", "yes", "no")))
    before = coded_of(sure)
    after = in_cohorts(before, coded_of(pa.concat_tables([sure, new])))
    found = [
        c
        for c in find_ceilings(after, protected(after), BOOK, find_exposed(after, BOOK, POLICY))
        if c.variable == "ill"
    ]
    assert max(c.others for c in found if c.newcomers) > 0.7
    assert all(c.right >= c.others for c in found)


def test_a_ceiling_of_newcomers_says_so() -> None:
    ceiling = Ceiling("ill", 2, False, 40, 0.4, 0.3, 0.35, newcomers=True)
    assert "before and after would know the class of 'ill' of a newcomer exposed on 2 keys" in ceiling_words(ceiling)
    assert "a newcomer" not in ceiling_words(replace(ceiling, newcomers=False))


@pytest.fixture(params=["standard", "drop-q"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """A site before and after an update, where whoever leaves is gone."""
    confide.add(table(), tmp_path / "site", name="people", catalog=CATALOG, preset=request.param)
    found = Folder(tmp_path / "site")
    policy = replace(found.policy(), updates=UpdateRules(least=10, stand_ins=False))
    (found.path / "policy.toml").write_text(write_policy(policy, preset=request.param))
    confide.ingest(pa.concat_tables([table(), table(NEW, seed=2, first=SIZE)]), found.path, name="people")
    return found


def test_a_site_knows_who_came_when_from_update_to_update(folder: Folder) -> None:
    file = folder.records("people") / "cohorts.parquet"
    assert file.stat().st_mode & 0o077 == 0
    assert pq.read_table(file)["cohort"].to_pylist() == NEW * [1]  # those of the first data need no line
    more = pa.concat_tables([table(), table(NEW, seed=2, first=SIZE), table(NEW, seed=3, first=SIZE + NEW)])
    confide.ingest(more, folder.path, name="people")
    assert np.bincount(cohorts(read_truth(folder, "people"))).tolist() == [SIZE, NEW, NEW]
    confide.ingest(more.slice(0, SIZE), folder.path, name="people")
    assert not (folder.records("people") / "cohorts.parquet").exists()


def test_few_who_wait_are_of_no_cohort_until_they_come(folder: Folder) -> None:
    policy = replace(folder.policy(), updates=UpdateRules(least=10, few="wait"))
    (folder.path / "policy.toml").write_text(write_policy(policy, preset="standard"))
    everybody = pa.concat_tables([table(), table(NEW, seed=2, first=SIZE)])
    few = pa.concat_tables([everybody.slice(3), table(5, seed=3, first=SIZE + NEW)])
    assert confide.ingest(few, folder.path, name="people").waiting
    found = read_truth(folder, "people")
    assert np.bincount(cohorts(found)).tolist() == [SIZE, NEW]


def test_protected_again_the_records_are_the_same(folder: Folder) -> None:
    def mark() -> str:
        return read_store_facts(folder.store("people")).data

    before = mark()
    protect_again(folder.path, name="people")
    assert mark() == before and cohorts(read_truth(folder, "people")).sum() == NEW


def test_the_report_of_an_update_has_the_ceiling_of_newcomers(folder: Folder) -> None:
    report = read_report(folder, "people")
    if report is not None:
        assert any(c.newcomers for c in report.ceilings) and any("a newcomer" in line for line in report.lines())


def test_cohorts_that_cannot_be_read_are_a_mistake(folder: Folder) -> None:
    (folder.records("people") / "cohorts.parquet").write_bytes(b"PAR1")
    with pytest.raises(Mistake, match="cannot be read as cohorts"):
        read_truth(folder, "people")
