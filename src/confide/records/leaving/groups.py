"""Who leaves together: each unit by itself, or where households are a level all people of one."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Ints
from confide.engines import Coded
from confide.model.catalog.dataset import Dataset
from confide.site.coding.homes import Households

__all__ = ["Groups"]


@dataclass(frozen=True, eq=False)
class Groups:
    """Units by themselves, or households, of some records: `units` has the unit of each of these, and `of` the place of its group."""

    units: Ints
    keys: Ints
    of: Ints
    first: Ints
    """A record that stands for each: the head's, or that with the least key."""

    @classmethod
    def among(cls, coded: Coded, dataset: Dataset) -> "Groups":
        if dataset.above is not None:
            homes = Households.among(coded)
            return cls(coded.units, homes.keys, homes.of, homes.head)
        keys, of = np.unique(coded.units, return_inverse=True)
        order = np.lexsort((np.asarray(coded.records["key"].to_numpy()), of.ravel()))
        return cls(coded.units, keys, of.ravel(), order[np.flatnonzero(np.diff(of.ravel()[order], prepend=-1))])

    def any(self, records: Bools) -> Bools:
        """Of which some records are marked."""
        return np.asarray(np.bincount(self.of, records, minlength=len(self.keys)) > 0)

    def all(self, records: Bools) -> Bools:
        """Of which all are."""
        return ~self.any(~records)

    @cached_property
    def _units(self) -> tuple[Ints, Ints]:
        """The units of all groups, those of each together, and where each group begins among them."""
        order = np.lexsort((self.units, self.of))
        units, of = self.units[order], self.of[order]
        new = np.ones(len(order), bool)
        new[1:] = (units[1:] != units[:-1]) | (of[1:] != of[:-1])
        return units[new], np.searchsorted(of[new], np.arange(len(self.keys) + 1))

    @cached_property
    def sizes(self) -> NDArray[np.uint64]:
        """A number for how many records and units each group has."""
        records = np.bincount(self.of, minlength=len(self.keys))
        return (records << 32 | np.diff(self._units[1])).astype(np.uint64)

    def members(self, some: Ints, others: Ints) -> tuple[Ints, Ints, Ints]:
        """The units of some groups, beside those of others of the same sizes, and the keys of the former."""
        units, starts = self._units
        sizes = np.diff(starts)[some]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        mine, theirs = (units[np.repeat(starts[each], sizes) + within] for each in (some, others))
        return mine, theirs, np.repeat(self.keys[some], sizes)
