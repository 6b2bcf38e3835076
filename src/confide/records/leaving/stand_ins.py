"""Stand-ins: who leaves in whose stead, how long that lasts, and the records that come of it.

Somebody leaves the data, and their record stays as it was; a **stand-in**, who is alike and is still in the data, is left out instead.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Bools, Ints
from confide.engines import Coded
from confide.records.updates import fingerprints, put_together

__all__ = ["NOBODY", "StandIns", "Standing", "alike", "marks_of", "stood_in"]


@dataclass(frozen=True, eq=False)
class StandIns:
    """Units that left and whose records stay, and beside each the unit that is left out, with a `mark` of its records as they were.

    Pairs of one `group` end together: those of a household that left, beside the people of another that is left out.
    """

    leavers: Ints
    stand_ins: Ints
    marks: NDArray[np.uint64]
    groups: Ints

    def __len__(self) -> int:
        return len(self.leavers)

    def only(self, chosen: Bools) -> "StandIns":
        """Some of the pairs."""
        return StandIns(self.leavers[chosen], self.stand_ins[chosen], self.marks[chosen], self.groups[chosen])

    def with_others(self, others: "StandIns") -> "StandIns":
        """These pairs and others."""
        return StandIns(
            np.concatenate([self.leavers, others.leavers]),
            np.concatenate([self.stand_ins, others.stand_ins]),
            np.concatenate([self.marks, others.marks]),
            np.concatenate([self.groups, others.groups]),
        )

    def none_of_group(self, some: Bools) -> Bools:
        """The pairs in whose group there are none of some."""
        return ~np.isin(self.groups, self.groups[some])


_NO_UNITS = np.zeros(0, np.int64)

NOBODY = StandIns(_NO_UNITS, _NO_UNITS, np.zeros(0, np.uint64), _NO_UNITS)


@dataclass(frozen=True, eq=False)
class Standing:
    """What new data say of each pair: whether it `lasts`, for the stand-ins of its group are there unchanged and nobody came back;
    whether it is only `changed`, by other records of some of them; and whether those are `other` records of this one."""

    lasts: Bools
    changed: Bools
    other: Bools

    @classmethod
    def of(cls, pairs: StandIns, after: Coded) -> "Standing":
        """Of some pairs in the records that an update brings, coded as they were when the pairs were made."""
        units, marks = marks_of(after)
        place = np.searchsorted(units, pairs.stand_ins)
        there = np.append(units, 0)[place] == pairs.stand_ins
        there &= place < len(units)
        other = there & (np.append(marks, np.uint64(0))[place] != pairs.marks)
        stays = pairs.none_of_group(~there | np.isin(pairs.leavers, units))
        unchanged = pairs.none_of_group(other)
        return cls(stays & unchanged, stays & ~unchanged, other)


def marks_of(coded: Coded) -> tuple[Ints, NDArray[np.uint64]]:
    """The units of some records, and a number for each that tells what its records hold."""
    return fingerprints(coded, list(coded.facts.shown), list(coded.facts.values))


def alike(before: Coded, after: Coded) -> bool:
    """Whether records are coded alike, so that some of either can stand among the others."""
    was, now = (
        replace(of.facts, data="", shifts={}, several=False, sampling={}, households_sampling={})
        for of in (before, after)
    )
    return was == now


def stood_in(before: Coded, after: Coded, pairs: StandIns) -> Coded:
    """The new records with those of the leavers, as they were before, in the place of their stand-ins'."""
    out, kept = np.isin(after.units, pairs.stand_ins), np.isin(before.units, pairs.leavers)
    return put_together(after.only(~out), _in_the_sample(before.only(kept), after.only(out), pairs))


def _in_the_sample(kept: Coded, out: Coded, pairs: StandIns) -> Coded:
    """The leavers' records in the sampling units of those who are left out: these are numbered anew in each version."""
    order = np.argsort(pairs.leavers)
    whose = pairs.stand_ins[order][np.searchsorted(pairs.leavers, kept.units, sorter=order)]
    units, first = np.unique(out.units, return_index=True)
    rows = pa.array(first[np.searchsorted(units, whose)])

    def placed(table: pa.Table, of: pa.Table) -> pa.Table:
        if "sampled" not in of.column_names:
            return table
        return table.set_column(table.column_names.index("sampled"), "sampled", of["sampled"].take(rows))

    homes = kept.homes if kept.homes is None or out.homes is None else placed(kept.homes, out.homes)
    return replace(kept, records=placed(kept.records, out.records), homes=homes)
