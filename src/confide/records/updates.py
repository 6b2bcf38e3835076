"""What new data show of the units in them: how many are new, gone or changed, and what is done where they are few.

Who has the same answer before and after an update knows that what differs is of those units alone (attack T14).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.engines import Coded
from confide.engines.squares import square_shifts
from confide.errors import Mistake, Reason, Refused
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.site.coding.columns import data_mark
from confide.site.coding.encode import recoded

__all__ = ["Update", "compare_records", "enough", "fingerprints", "in_cohorts", "put_together"]

_MIX = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio in 64 bits, as splitmix64 has it: fingerprints of different records are alike by chance once in 2^64."""


@dataclass(frozen=True)
class Update:
    """The keys of the units that an update brings, takes away and changes, and how many stay as they were: true figures.

    `recoded` are the variables that the two vintages code in different ways. They are not compared.
    """

    new: Ints
    gone: Ints
    changed: Ints
    same: int
    recoded: tuple[str, ...] = ()

    @property
    def groups(self) -> dict[str, Ints]:
        """The units by what happens to them."""
        return {"new": self.new, "gone": self.gone, "changed": self.changed}

    def few(self, least: int) -> dict[str, Ints]:
        """Those groups that are too small to be told from, but not empty."""
        return {name: units for name, units in self.groups.items() if 0 < len(units) < least}

    def lines(self) -> list[str]:
        """What the update would show, in counts."""
        told = ", ".join(f"{len(units):,} {name}" for name, units in self.groups.items())
        lines = [f"Units: {told}, {self.same:,} as they were."]
        if self.recoded:
            names = ", ".join(self.recoded)
            lines.append(f"Coded in another way, so not compared: {names}. Tables by them do not compare either.")
        return lines


def compare_records(before: Coded, after: Coded, *, catalogs: tuple[Dataset, Dataset]) -> Update:
    """What is different in the records of two vintages, by their units, as far as both code it alike."""
    apart = recoded(*catalogs)
    shared = [name for name in before.facts.shown if name in after.facts.classes and name not in apart]
    amounts = [name for name in before.facts.values if name in after.facts.values and name not in apart]
    (old, was), (new, now) = (fingerprints(each, shared, amounts) for each in (before, after))
    kept, here, there = np.intersect1d(old, new, assume_unique=True, return_indices=True)
    moved = was[here] != now[there]
    return Update(
        np.setdiff1d(new, old, assume_unique=True),
        np.setdiff1d(old, new, assume_unique=True),
        kept[moved],
        int((~moved).sum()),
        tuple(apart),
    )


def fingerprints(coded: Coded, classes: list[str], amounts: list[str]) -> tuple[Ints, NDArray[np.uint64]]:
    """The units, each once, and a number for each that tells what its records hold, in whatever order."""
    row = np.zeros(coded.records.num_rows, np.uint64)
    for column in _columns(coded, classes, amounts):
        row ^= column
        row *= _MIX
        row ^= row >> np.uint64(29)
    units, places = np.unique(coded.units, return_inverse=True)
    together = np.zeros(len(units), np.uint64)
    np.add.at(together, places, row * _MIX)
    return units, together


def _columns(coded: Coded, classes: list[str], amounts: list[str]) -> Iterator[NDArray[np.uint64]]:
    """Classes, amounts and weights as bits, one column at a time."""
    for name in classes:
        yield coded.classes(name).astype(np.uint64)
    for name in amounts:
        yield (coded.numbers(name) + 0.0).view(np.uint64)
    yield coded.weights.view(np.uint64)


def enough(before: Coded, after: Coded, update: Update, policy: Policy) -> tuple[Coded, list[str]]:
    """The records that may be loaded, and what is to be said of those that wait.

    Promise: between what was loaded before and this, no group of units that came, went or changed is smaller than
    `updates.least`, unless it is empty. `Refused` if that cannot be, or if the policy lets nobody wait.
    """
    few = update.few(policy.updates.least)
    if not few:
        return after, []
    told = " and ".join(f"{len(units)} {name}" for name, units in few.items())
    if policy.updates.few == "refuse":
        words = f"The data have {told}: fewer units than {policy.updates.least}, so answers before and after would tell of them."
        hints = ["Load them together with later changes.", 'Let them wait: updates.few = "wait" in the policy.']
        raise Refused([Reason("updates.least", words)], policy=policy.title, suggestions=hints)
    if replace(before.facts, data="", shifts={}) != replace(after.facts, data="", shifts={}):
        raise Mistake(
            f"The data have {told}, who cannot wait, for the records are coded in another way than before.",
            suggestions=["Load the same data in the new coding first.", "Set updates.least to 0 for this update."],
        )
    return _held(before, after, few), [f"So few wait, and stay as they were: {told}."]


def in_cohorts(before: Coded, after: Coded, *, back: Ints | None = None) -> Coded:
    """The records that are loaded, with their cohorts: units that were there before keep theirs, and those who come are one together.

    Cohorts are numbered from 0, the oldest first, without gaps. Who is `back`, for others were there in their stead, is of the oldest.
    """
    units, first = np.unique(before.units, return_index=True)
    known = np.zeros(len(units), np.int32) if before.cohort is None else before.cohort.to_numpy()[first]
    place = np.searchsorted(units, after.units)
    there = np.append(units, 0)[place] == after.units
    there &= place < len(units)
    last = int(known.max(initial=-1)) + 1
    cohort = np.where(there, np.append(known, last)[place], last)
    if back is not None:
        cohort[~there & np.isin(after.units, back)] = 0
    found, cohort = np.unique(cohort, return_inverse=True)
    return replace(after, cohort=pa.array(cohort.ravel().astype(np.int32)) if len(found) > 1 else None)


def _held(before: Coded, after: Coded, few: dict[str, Ints]) -> Coded:
    """The new records, but for units in groups that are too small: of these the old ones."""
    units = np.concatenate(list(few.values()))
    return put_together(after.only(~np.isin(after.units, units)), before.only(np.isin(before.units, units)))


def put_together(new: Coded, old: Coded) -> Coded:
    """Records of two versions of the data as one; their cohorts are found anew."""
    records = pa.concat_tables([new.records, old.records], promote_options="permissive")
    facts = replace(new.facts, data=data_mark(records), shifts=square_shifts(records, new.facts.numbers))
    homes = [part.homes for part in (new, old) if part.homes is not None]
    return Coded(facts, records, pa.concat_tables(homes) if len(homes) == 2 else None)
