"""What exchanges as a whole: whoever lives in one household has one municipality, and all records of a unit are one unit's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from confide.arrays import Ints, Narrow
from confide.data.ordering import SIGN, ascending
from confide.engines import Coded
from confide.records.cells import parts_of
from confide.records.traits import Trait

__all__ = ["Entities", "entities_of"]


@dataclass(frozen=True, eq=False)
class Entities:
    """What exchanges as a whole: records, units, or households. `of` numbers each record's, `first` is one record of each,
    `keys` name them to the secret, `kind` parts those that may not exchange with each other, and `cohort`, if there is one, those
    that may only where there is no other way: a household came with the first of those who live in it."""

    of: Narrow
    first: Narrow
    keys: Ints
    kind: Narrow
    cohort: Narrow | None = None

    @property
    def whole(self) -> bool:
        """Whether one may have several records."""
        return self.of is not self.first


def entities_of(coded: Coded, household: Ints | None, traits: Sequence[Trait]) -> list[Entities]:
    """What exchanges each trait: households where it is the same for all who live in one; else units, if it is for all their
    records; else records."""
    larger, each = list(_wholes(coded, household)), _records(coded)
    return [next((whole for whole in larger if _same(coded.classes(t.name), whole)), each) for t in traits]


def _wholes(coded: Coded, household: Ints | None) -> Iterator[Entities]:
    """What may exchange as a whole: households, and units that have several records."""
    for names in (household, coded.units if coded.facts.several else None):
        if names is not None:
            yield _numbered(names, coded)


def _numbered(names: Ints, coded: Coded) -> Entities:
    """Entities by their names, in the order of these."""
    order = ascending(names.view(np.uint64) ^ SIGN)
    ordered = names[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(names)])
    keys = ordered[starts]
    sizes = np.diff(starts, append=len(names))
    of = np.empty(len(names), np.int32)
    of[order] = np.repeat(np.arange(len(starts), dtype=np.int32), sizes)
    kind = np.minimum(sizes, 8).astype(np.int8)
    if coded.cohort is None:
        return Entities(of, order[starts], keys, kind)
    cohort = np.minimum.reduceat(coded.cohort.to_numpy()[order], starts) if len(starts) else np.empty(0, np.int32)
    return Entities(of, order[starts], keys, kind, cohort)


def _records(coded: Coded) -> Entities:
    rows = np.arange(coded.records.num_rows, dtype=np.int32)
    keys = coded.units if not coded.facts.several else np.asarray(coded.units ^ coded.records["key"].to_numpy())
    cohort = None if coded.cohort is None else coded.cohort.to_numpy()
    return Entities(rows, rows, keys, np.zeros(len(rows), np.int8), cohort)


def _same(values: Narrow, whole: Entities) -> bool:
    """Whether all records of an entity have the same value."""
    own = values[whole.first]
    return all(bool((values[part] == own[whole.of[part]]).all()) for part in parts_of(len(values)))
