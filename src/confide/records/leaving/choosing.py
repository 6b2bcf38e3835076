"""Of whom an update would tell that they left, and who leaves in their stead.

What two versions of the data differ in shows how those stood in the first who are gone or changed in the second. Whoever is alone
among these, on a cross that passes in the whole file, was protected among all, and is alone no less. Keys alone decide about that,
and about who is alike: confidential variables play no part, so that the records shown instead tell what statistics tell.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints
from confide.engines import Coded
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.records.cells import UnitCells
from confide.records.exposure import Exposure, find_exposed
from confide.records.leaving.stand_ins import NOBODY, StandIns, marks_of
from confide.records.levels.households import by_household, exposed_with_households, household_records, of_people
from confide.records.lots import lots
from confide.records.traits import key_traits
from confide.records.updates import Update
from confide.site.homes import Households
from confide.site.secret import Secret

__all__ = ["choose_stand_ins"]

CROWD = 10
"""Who leaves in somebody's stead is one of so many in every cross that passes, where there is such a one: who learns that one of
them is left out does not know which."""

_Marks = NDArray[np.uint64]

_MIX = np.uint64(0x9E3779B97F4A7C15)


def choose_stand_ins(
    before: Coded, update: Update, pairs: StandIns, dataset: Dataset, policy: Policy, secret: Secret
) -> tuple[StandIns, Ints]:
    """Pairs for those whom the update would tell of, beside those that last; and the units for whom nobody can leave.

    With every pair other records differ between the versions, so those who left are looked at again until nobody is told of.
    """
    found, alone = NOBODY, update.gone[:0]
    if not len(update.gone):
        return found, alone
    people = _People(before, dataset, policy, update)
    group = people.group
    leaving, able = group.all(people.gone), group.all(~people.gone & ~people.changed)
    able &= group.all(~np.isin(before.units, pairs.leavers))
    stays = np.zeros(len(leaving), bool)
    out = stays.copy()
    while True:
        away = (people.gone & ~stays[group.of]) | out[group.of] | people.changed
        told = leaving & ~stays & group.any(people.told(away))
        if not told.any():
            return found, alone
        whose, by = people.partners(np.flatnonzero(told), able & ~out, secret)
        stays |= told
        out[by] = True
        told[whose] = False
        found = found.with_others(people.pairs(whose, by))
        alone = np.union1d(alone, before.units[told[group.of]])


@dataclass(frozen=True, eq=False)
class _Groups:
    """Who leaves together: each unit by itself, or a whole household. `of` has the place of each record's."""

    keys: Ints
    of: Ints
    first: Ints
    """A record that stands for each: the head's, or that with the least key."""

    @classmethod
    def among(cls, coded: Coded, dataset: Dataset) -> "_Groups":
        if dataset.above is not None:
            homes = Households.among(coded)
            return cls(homes.keys, homes.of, homes.head)
        keys, of = np.unique(coded.units, return_inverse=True)
        order = np.lexsort((np.asarray(coded.records["key"].to_numpy()), of.ravel()))
        return cls(keys, of.ravel(), order[np.flatnonzero(np.diff(of.ravel()[order], prepend=-1))])

    def any(self, records: Bools) -> Bools:
        """Of which some records are marked."""
        return np.asarray(np.bincount(self.of, records, minlength=len(self.keys)) > 0)

    def all(self, records: Bools) -> Bools:
        """Of which all are."""
        return ~self.any(~records)


@dataclass(frozen=True, eq=False)
class _People:
    """The records before an update, and what becomes of them."""

    before: Coded
    dataset: Dataset
    policy: Policy
    update: Update

    @cached_property
    def gone(self) -> Bools:
        return np.isin(self.before.units, self.update.gone)

    @cached_property
    def changed(self) -> Bools:
        return np.isin(self.before.units, self.update.changed)

    @cached_property
    def group(self) -> _Groups:
        return _Groups.among(self.before, self.dataset)

    def told(self, away: Bools) -> Bools:
        """The records that are exposed among those that are `away` in the new version, in a cross in which they were not before."""
        cohort = np.zeros(len(away), np.int32) if self.before.cohort is None else self.before.cohort.to_numpy()
        parted = np.unique(2 * cohort + self.group.any(away)[self.group.of], return_inverse=True)[1]
        exposure = self._exposure(replace(self.before, cohort=pa.array(parted.ravel().astype(np.int32))), 0)
        found, least = np.zeros(len(away), bool), self.policy.records.alone
        for one in (*exposure.found, *exposure.alone):
            rows = one.rows[away[one.rows] & ~found[one.rows]]
            if len(rows):
                found[np.setdiff1d(rows, self._cells.alone(one.cross.names, least))] = True
        return found

    @cached_property
    def _cells(self) -> UnitCells:
        return UnitCells(by_household(self.before, self.dataset), self.dataset, cohorts=True)

    def _exposure(self, coded: Coded, least: int) -> Exposure:
        """Who is alone, or one of at most `least`; whatever they have of a total, so that nothing confidential decides."""
        rules = self.policy.records
        policy = replace(self.policy, records=replace(rules, alone=max(rules.alone, least), dominance=1.0))
        found = find_exposed(by_household(coded, self.dataset), of_people(self.dataset), policy)
        if self.dataset.above is None:
            return found
        homes = household_records(coded, self.dataset)
        return exposed_with_households(found, coded, homes, self.dataset, policy)

    @cached_property
    def _crowded(self) -> Bools:
        """The groups whose records are one of many in every cross."""
        exposure = self._exposure(self.before, CROWD - 1)
        return ~self.group.any(exposure.exposed | exposure.single)

    def partners(self, wanted: Ints, able: Bools, secret: Secret) -> tuple[Ints, Ints]:
        """Groups that are `wanted`, and for each another that leaves in its stead: of the same size, alike in as many keys as may be.

        The keys with most classes are given up first. Among those alike one is drawn from the secret.
        """
        traits = key_traits(of_people(self.dataset), self.before)
        finest, coarse = ([t.levels[place] for t in traits] for place in (-1, 0))
        left, keys, whose, by = wanted, self.group.keys, [wanted[:0]], [wanted[:0]]
        for crowd in (able & self._crowded, able & ~self._crowded):
            for names in (finest, *(coarse[start:] for start in range(len(coarse) + 1))):
                others = np.flatnonzero(crowd)
                if not len(left) or not len(others):
                    break
                drawn = lots(keys[left], secret, "leaver"), lots(keys[others], secret, "stand-in")
                one, other = _drawn(self._alike(left, names), self._alike(others, names), drawn)
                whose.append(left[one])
                by.append(others[other])
                crowd[others[other]] = False
                left = np.delete(left, one)
        return np.concatenate(whose), np.concatenate(by)

    def _alike(self, groups: Ints, names: list[str]) -> _Marks:
        """A number for the size and the classes of each of some groups: that of others of the same size and classes."""
        rows = self.group.first[groups]
        number = self._sizes[groups]
        for name in names:
            number = (number ^ self.before.classes(name)[rows].astype(np.uint64)) * _MIX
            number ^= number >> np.uint64(29)
        return number

    @cached_property
    def _members(self) -> tuple[Ints, Ints]:
        """The units of all groups, those of each together, and where each group begins among them."""
        order = np.lexsort((self.before.units, self.group.of))
        units, of = self.before.units[order], self.group.of[order]
        new = np.ones(len(order), bool)
        new[1:] = (units[1:] != units[:-1]) | (of[1:] != of[:-1])
        return units[new], np.searchsorted(of[new], np.arange(len(self.group.keys) + 1))

    @cached_property
    def _sizes(self) -> _Marks:
        """A number for how many records and units each group has."""
        records = np.bincount(self.group.of, minlength=len(self.group.keys))
        return (records << 32 | np.diff(self._members[1])).astype(np.uint64)

    def pairs(self, whose: Ints, by: Ints) -> StandIns:
        """The units of groups beside those of the groups that leave in their stead."""
        members, starts = self._members
        sizes = np.diff(starts)[whose]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        leavers, others = (members[np.repeat(starts[each], sizes) + within] for each in (whose, by))
        units, marks = marks_of(self.before)
        return StandIns(
            leavers, others, marks[np.searchsorted(units, others)], np.repeat(self.group.keys[whose], sizes)
        )


def _drawn(wanted: _Marks, others: _Marks, lots_of: tuple[Floats, Floats]) -> tuple[Ints, Ints]:
    """Places in `wanted` and in `others` that are alike, each once, in the order of their lots."""
    mine, theirs = (np.lexsort((lot, of)) for of, lot in zip((wanted, others), lots_of, strict=True))
    sought, there = wanted[mine], others[theirs]
    rank = np.arange(len(mine)) - np.searchsorted(sought, sought)
    begin, end = (np.searchsorted(there, sought, side) for side in ("left", "right"))
    found = rank < end - begin
    return mine[found], theirs[(begin + rank)[found]]
