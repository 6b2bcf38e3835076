"""The exposed exchange what exposes them with somebody alike; the numbers of people in each class stay."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.data.scratch import IN_MEMORY
from confide.model.policy import RecordRules
from confide.records.cells import UnitCells
from confide.records.exchanges.background import Shares, raise_shares
from confide.records.exchanges.pairing import find_partners, joined
from protecting import CATALOG, Protection, catalog_of, coded_of, people, records_policy

SIZE = 3000
ONLY_EXPOSED = records_policy(mean_cell=1.0, background=0.0, noise=0.0, noise_exposed=0.0)
"""One unit a cell is enough, so that some hundred of the population are exposed."""

BUSY = records_policy(mean_cell=1.0, background=0.2, noise=0.0, noise_exposed=0.0)
KEYS = ("sex", "county", "town", "age", "job")
HOMES = CATALOG.replace('unit = "id"', 'unit = "id"\nhousehold = "home"')


@pytest.fixture(scope="module")
def done() -> Protection:
    return Protection(people(SIZE, seed=1), policy=ONLY_EXPOSED)


@pytest.fixture(scope="module")
def busy() -> Protection:
    """One in five of all others exchanges too, so that every key is exchanged by many."""
    return Protection(people(SIZE, seed=1), policy=BUSY)


def test_whoever_is_exposed_has_another_class_in_every_cross_that_exposed_them(done: Protection) -> None:
    assert done.exposure.exposed.sum() > 50, "the population has exposed people to try this on"
    for one in done.exposure.found:
        moved = np.any([done.moved(name)[one.rows] for name in one.cross.names], axis=0)
        assert moved.all(), one.cross.names


def test_only_the_exposed_and_their_partners_are_touched(done: Protection) -> None:
    touched = np.any([done.moved(name) for name in KEYS], axis=0)
    assert done.exposure.exposed[touched].sum() >= touched.sum() / 2
    assert (touched.sum() - done.exposure.exposed.sum()) <= sum(plan.sought for plan in done.plans.values())


@pytest.mark.parametrize("name", KEYS)
def test_as_many_have_each_class_of_a_key_as_before(busy: Protection, name: str) -> None:
    before, after = busy.counts(name)
    assert (busy.moved(name).any() or name == "sex") and before.tolist() == after.tolist()


def test_a_number_goes_with_its_classes(done: Protection) -> None:
    before, after = done.true.numbers("age"), done.protected.numbers("age")
    assert (before != after).any() and sorted(before) == sorted(after)
    cut = np.array(done.dataset.variables["age"].cutpoints)
    np.testing.assert_array_equal(done.protected.places("age"), np.searchsorted(cut, after, side="right"))


def test_a_county_goes_with_its_town(done: Protection) -> None:
    lift = np.array(done.dataset.lift("town", "county"))
    np.testing.assert_array_equal(lift[done.protected.places("town")], done.protected.places("county"))


@pytest.mark.parametrize("name", ["mood", "ill"])
def test_what_is_no_key_stays(done: Protection, name: str) -> None:
    assert not done.moved(name).any()


def test_partners_exchange_with_each_other_and_differ_at_the_level_that_exposes(done: Protection) -> None:
    for name in done.plans:
        rows, source = np.flatnonzero(done.touched(name)), done.sources(name)
        np.testing.assert_array_equal(source[source[rows]], rows)
        assert (done.true.places(name)[rows] != done.true.places(name)[source[rows]]).all()
    level = {name: [] for name in done.plans}
    for one in done.exposure.found:
        for at, names in zip(one.cross.traits, one.cross.names, strict=True):
            trait = done.exposure.traits[at].name
            level[trait] += [(row, names) for row in one.rows[done.touched(trait)[one.rows]]]
    assert sum(map(len, level.values())) > 50
    for trait, pairs in level.items():
        for row, name in pairs:
            places = done.true.places(name)
            assert places[row] != places[done.sources(trait)[row]], (trait, name)


def test_who_is_exposed_by_a_town_stays_in_the_county_where_it_has_other_towns(done: Protection) -> None:
    """Those exposed on the finer level only; in counties A and B there are towns to exchange."""
    fine, coarse = set(), set()
    for one in done.exposure.found:
        (fine if "town" in one.cross.names else coarse if "county" in one.cross.names else set()).update(one.rows)
    rows = np.array(sorted(fine - coarse))
    rows = rows[done.touched("town")[rows] & (done.true.places("county")[rows] < 2)]
    assert len(rows) > 5
    partners = done.sources("town")[rows]
    alike = done.true.places("county")[rows] == done.true.places("county")[partners]
    assert alike.mean() > 0.9


def test_partners_are_alike_in_what_goes_with_the_key() -> None:
    """Nine of ten speak the dialect of their county; who exchanges a county does so with somebody of the same dialect."""
    table = people(SIZE, seed=9)
    county, rng = np.asarray(table["county"]), np.random.default_rng(9)
    dialect = np.where(rng.random(SIZE) < 0.9, county, rng.choice(list("ABCD"), SIZE))
    codes = "".join(f'{code} = "{code}"\n' for code in "ABCD")
    catalog = f"{CATALOG}\n[variables.dialect]\n[variables.dialect.codes]\n{codes}"
    done = Protection(table.append_column("dialect", pa.array(dialect)), catalog, policy=ONLY_EXPOSED)
    rows = np.flatnonzero(done.touched("town"))
    alike = dialect[rows] == dialect[done.sources("town")[rows]]
    assert len(rows) > 50 and alike.mean() > 0.9


def test_who_exchanges_within_a_county_is_not_kept_from_an_exchange_that_changes_tables_by_county() -> None:
    """Of those alone by county, age and job nearly half are to be another there, however many exchange their town as well."""
    policy = records_policy(mean_cell=1.0, exchange=0.0, background=0.5, background_exposed=0.5)
    names, moved = ("county", "age", "job"), []
    for seed in (1, 2, 3):
        done = Protection(people(SIZE, seed=seed), policy=policy)
        cross = next(one for one in done.exposure.alone if one.cross.names == names)
        moved += np.any([done.moved(name)[cross.rows] for name in names], axis=0).tolist()
    assert len(moved) > 100 and np.mean(moved) > 0.5 - 3 * 0.5 / np.sqrt(len(moved))


def test_the_same_secret_gives_the_same_records_and_another_others(done: Protection) -> None:
    again = Protection(done.table, policy=ONLY_EXPOSED)
    assert again.protected.records.equals(done.protected.records)
    other = Protection(done.table, policy=ONLY_EXPOSED, number=1)
    assert (other.moved("town") != done.moved("town")).any()
    np.testing.assert_array_equal(other.exposure.exposed, done.exposure.exposed)


def test_the_order_of_the_file_does_not_matter(done: Protection) -> None:
    order = np.random.default_rng(5).permutation(SIZE)
    shuffled = Protection(done.table.take(pa.array(order)), policy=ONLY_EXPOSED)
    for name in KEYS:
        np.testing.assert_array_equal(shuffled.protected.places(name), done.protected.places(name)[order])


def test_a_share_of_the_exposed_and_of_the_others_is_drawn() -> None:
    table = people(SIZE, seed=1)
    none = Protection(table, policy=records_policy(mean_cell=1.0, exchange=0.0, background=0.0))
    assert not any(none.moved(name).any() for name in KEYS)
    half = Protection(table, policy=records_policy(mean_cell=1.0, exchange=0.5, background=0.0))
    rows = np.flatnonzero(half.exposure.exposed)
    sought = np.any([half.touched(name)[rows] for name in half.plans], axis=0)
    # half of the exposed, and few of the others as somebody's partner
    assert abs(sought.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(rows))


def test_a_share_of_the_others_exchanges_too_within_the_class_above() -> None:
    """A tenth seeks another town, so that nearly twice as many are touched; of keys without levels and with many classes
    a tenth of that at most, as there must be somebody alike; of those with few classes nobody."""
    policy = records_policy(mean_cell=1.0, exchange=0.0, background=0.1, background_exposed=0.0)
    done = Protection(people(SIZE, seed=1), policy=policy)
    assert abs(done.touched("town").mean() - 0.19) < 0.03
    for name in ("sex", "age", "job"):
        few = len(done.dataset.variables[name].codes or ()) <= 5
        share = done.touched(name).mean()
        assert share == 0 if few else 0 < share < 0.02 + 5 * np.sqrt(0.02 / SIZE), name
    assert done.moved("town").any() and not done.moved("county").any()


def test_those_in_small_cells_exchange_so_often_that_counts_of_them_change() -> None:
    """Nearly half of those alone exchange something; of the cells of any size that pass, few have as many units as before. Without
    it, most do."""
    same = {}
    for share in (0.0, 0.5):
        policy = records_policy(mean_cell=5.0, exchange=0.0, background=0.0, background_exposed=share)
        done = Protection(people(SIZE, seed=1), policy=policy)
        known, seen = UnitCells(done.true, done.dataset), UnitCells(done.protected, done.dataset)
        kept = []
        for cross in (cross for cross in done.exposure.crosses if len(cross.traits) > 1):
            before, after = (np.bincount(cells.of(cross.names), minlength=cross.cells) for cells in (known, seen))
            kept += (before == after)[before > 0].tolist()
        same[share] = np.mean(kept)
    touched = np.any([done.touched(name) for name in done.plans], axis=0)
    assert touched[done.exposure.single].mean() > 0.3
    assert same[0.0] == 1 and same[0.5] < 0.4


def test_an_update_leaves_almost_all_exchanges_as_they_were() -> None:
    """One person in a hundred is new: at most one in fifty of the others exchanges otherwise than before."""
    before = Protection(people(SIZE, seed=1), policy=ONLY_EXPOSED)
    more = pa.concat_tables([before.table, people(SIZE // 100, seed=2, first=SIZE)])
    after = Protection(more, policy=ONLY_EXPOSED)
    changed = np.zeros(SIZE, bool)
    for name in KEYS:
        changed |= before.protected.places(name) != after.protected.places(name)[:SIZE]
    assert 0 < changed.mean() < 0.02


def households(size: int, *, seed: int) -> pa.Table:
    """People who live together, one to four: the same town for all in a household, everything else their own."""
    table = people(size, seed=seed)
    home = np.arange(size).repeat(np.random.default_rng(seed).integers(1, 5, size))[:size]
    town = np.asarray(table["town"])[np.searchsorted(home, home)]
    columns = {name: table[name] for name in table.column_names} | {
        "town": town, "county": np.char.upper(town.astype("<U1")), "home": home.astype(str),
    }  # fmt: skip
    return pa.table(columns)


def test_households_move_together() -> None:
    done = Protection(households(SIZE, seed=4), HOMES, policy=BUSY)
    home = np.asarray(done.table["home"])
    town = done.protected.places("town")
    assert done.moved("town").sum() > 10
    for one in np.unique(home[done.moved("town")]):
        assert len(set(town[home == one])) == 1
    before, after = done.counts("town")
    # but for the few who find no household of their own size
    assert np.abs(after - before).sum() <= 0.01 * SIZE
    assert done.moved("age").any(), "what differs within a household is exchanged by person"


def test_records_of_one_unit_move_together() -> None:
    once = people(SIZE // 3, seed=6)
    thrice = once.take(pa.array(np.arange(SIZE // 3).repeat(3)))
    done = Protection(thrice, policy=ONLY_EXPOSED)
    assert done.true.facts.several and done.exposure.exposed.any()
    for name in KEYS:
        places = done.protected.places(name).reshape(-1, 3)
        assert (places == places[:, :1]).all(), name
        before, after = done.counts(name)
        assert before.tolist() == after.tolist()


def test_a_key_that_follows_from_another_goes_with_it() -> None:
    """Were a size class exchanged by itself, a firm of three would be a large one."""
    table = people(SIZE, seed=1)
    old = pa.array(np.where(np.asarray(table["age"]) >= 50, "old", "young"))
    codes = 'old = "old"\nyoung = "young"\n'
    catalog = f'{CATALOG}\n[variables.stage]\nrole = "key"\n[variables.stage.codes]\n{codes}'
    policy = records_policy(mean_cell=1.0, background_exposed=0.5)
    done = Protection(table.append_column("stage", old), catalog, policy=policy)
    assert [trait.levels for trait in done.exposure.traits if "stage" in trait.levels] == [("stage", "age")]
    assert done.moved("stage").any()
    np.testing.assert_array_equal(done.protected.places("stage") == 0, done.protected.numbers("age") >= 50)


def test_recodes_that_do_not_nest_are_both_exchanged() -> None:
    """Somebody exposed by one recode of a number and by another that cuts elsewhere has a new class of both."""
    recode = '[variables.half]\nof = "age"\ncutpoints = [37]\n[variables.third]\nof = "age"\ncutpoints = [22, 52]\n'
    done = Protection(people(400, seed=8), CATALOG + recode, policy=ONLY_EXPOSED)
    found = 0
    for one in done.exposure.found:
        moved = np.any([done.moved(name)[one.rows] for name in one.cross.names], axis=0)
        assert moved.all(), one.cross.names
        found += len(one.rows)
    assert found > 20


GROUPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), min_size=1, max_size=60)


@settings(max_examples=60)
@given(GROUPS, st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_partners_are_mutual_of_one_group_and_differ(units: list[tuple[int, int, bool]], least: int, seed: int) -> None:
    group, value, seeking = (np.array(column) for column in zip(*units, strict=True))
    rng = np.random.default_rng(seed)
    spot, aim = np.sort(rng.random(len(units))), rng.random(len(units))
    level, values = np.zeros(len(units), np.int8), value[:, np.newaxis].astype(np.uint16)
    partner = np.full(len(units), -1, np.int32)
    find_partners(partner, group.astype(np.int32), values, level, seeking, spot, aim, least=least)
    rows = np.flatnonzero(partner >= 0)
    np.testing.assert_array_equal(partner[partner[rows]], rows)
    assert (group[rows] == group[partner[rows]]).all()
    assert (value[rows] != value[partner[rows]]).all()
    assert (seeking[rows] | seeking[partner[rows]]).all()
    sizes = np.bincount(group)
    assert (sizes[group[rows]] >= least).all()
    for unit in np.flatnonzero(seeking & (partner < 0)):
        free = (group == group[unit]) & (partner < 0) & (value != value[unit])
        assert sizes[group[unit]] < least or not free.any(), "whoever stays alone found nobody free"


def test_somebody_who_must_differ_is_found_however_far_away() -> None:
    """One in 2,000 has another class: whoever looks no further than usual misses them, and the last look is round the circle."""
    value, level, everyone = (
        np.zeros(shape, kind) for shape, kind in (((2_000, 1), "u2"), (2_000, "i1"), (2_000, "i4"))
    )
    value[-1] = 1
    seeking, spot = np.arange(2_000) == 0, np.arange(2_000) / 2_000
    looks = {far: np.full(2_000, -1, np.int32) for far in (256, 2_000)}
    for far, partner in looks.items():
        find_partners(partner, everyone, value, level, seeking, spot, spot, least=2, furthest=far)
    assert (looks[256] == -1).all()
    assert looks[2_000][0] == 1_999 and looks[2_000][1_999] == 0


def test_whoever_has_a_partner_takes_no_part_and_counts_for_no_group() -> None:
    """Two of four have each other: the two that are left are fewer than the least, and of three all but they could be."""
    value, level, group = np.array([[0], [1], [0], [1]], "u2"), np.zeros(4, "i1"), np.zeros(4, "i4")
    seeking, spot = np.ones(4, bool), np.linspace(0.1, 0.9, 4)
    for least, expected in ((3, [1, 0, -1, -1]), (2, [1, 0, 3, 2])):
        partner = np.array([1, 0, -1, -1], np.int32)
        find_partners(partner, group, value, level, seeking & (partner < 0), spot, spot, least=least)
        assert partner.tolist() == expected


@pytest.mark.parametrize("size", [1, 40])
def test_groups_are_parted_by_a_column_whether_or_not_there_is_room_to_count(size: int) -> None:
    rng = np.random.default_rng(5)
    group, column = rng.integers(0, 3, size).astype("i4"), rng.integers(0, 2, size).astype("u2")
    for far in (1, 60_000):
        parted = joined(group, column * np.uint16(far))
        same = (group[:, None] == group) & (column[:, None] == column)
        np.testing.assert_array_equal(parted[:, None] == parted, same)


@pytest.mark.parametrize(("part", "wanted"), [(1, 1.0), (100, 1.0), (1 << 16, 1.0), (100, 3.0)])
def test_shares_are_raised_alike_whether_all_records_are_looked_at_or_those_of_small_cells(
    part: int, wanted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With shares that say nothing for sure all records are looked at; with others those of small cells, if they are the fewer."""
    monkeypatch.setattr("confide.records.cells.PART", part)
    coded = coded_of(people(800, seed=4))
    cells, size = UnitCells(coded, catalog_of(CATALOG)), 800
    single = np.random.default_rng(6).random(size) < 0.1
    for names, fewer in ((("sex", "county"), True), (("town", "job", "age"), False)):
        shares = Shares(size, RecordRules(background_exposed=0.4, cell_exchanges=wanted), IN_MEMORY)
        shares.begin(0, 0.02, 0.3, single)
        counts = cells.counts(names)
        assert (len(cells.few(names, counts, counts, int(50 * wanted))) < size / 2) is fewer
        parts = shares.small(cells, names, {1: 0.5, 0: 1.0})
        assert parts is not None
        shares.raise_in(parts, cells.size(names), {1: 0.5, 0: 1.0})
        usual, plain = np.where(single, 0.3, 0.02), np.zeros(size)
        cell, missing = cells.of(names), np.full(cells.size(names), wanted)
        raise_shares([(plain, 0.5), (usual, 1.0)], lambda cell=cell: [(slice(None), cell)], missing, 0.4)  # type: ignore[misc]
        np.testing.assert_array_equal(shares.of(1), plain)
        np.testing.assert_array_equal(shares.of(0), usual)
        assert shares.of(2) is None


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=40),
    st.integers(0, 2**32 - 1),
    st.floats(0.05, 1.0),
    st.floats(0.5, 4.0),
)
def test_every_cell_expects_so_many_changes_unless_somebody_in_it_takes_part_as_often_as_they_may(
    cells: list[int], seed: int, most: float, wanted: float
) -> None:
    cell, rng = np.array(cells), np.random.default_rng(seed)
    before = rng.random((3, len(cells))) * most
    shares, effects = before.copy(), np.array([0.5, 1.0])
    ways = [(shares[1], 0.5), (shares[2], 1.0)]
    raise_shares(
        ways, lambda: [(slice(0, 3), cell[:3]), (np.arange(len(cell))[3:], cell[3:])], np.full(5, wanted), most
    )
    expected, capped = np.bincount(cell, effects @ shares[1:])[cell], np.bincount(cell, shares[1] >= most)[cell] > 0
    assert ((expected >= wanted - 1e-9) | capped).all()
    assert (shares >= before).all() and (shares <= most).all()
    np.testing.assert_array_equal(shares[[0, 2]], before[[0, 2]])
    enough = np.bincount(cell, effects @ before[1:])[cell] > wanted + 1e-9
    np.testing.assert_array_equal(shares[:, enough], before[:, enough])
