"""What exchanges as a whole: whoever lives in one household has one municipality, and all records of a unit are one unit's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from confide.arrays import Ints
from confide.engines import Coded
from confide.records.traits import Trait

__all__ = ["Entities", "entities_of", "wholes"]


@dataclass(frozen=True, eq=False)
class Entities:
    """What exchanges as a whole: records, units, or households. `of` numbers each record's, `first` is one record of each,
    `keys` name them to the secret, and `kind` parts those that may not exchange with each other."""

    of: Ints
    first: Ints
    keys: Ints
    kind: Ints


def wholes(coded: Coded, household: Ints | None) -> Iterator[Entities]:
    """What may exchange as a whole: households, and units that have several records."""
    for names in (household, coded.units if coded.facts.several else None):
        if names is not None:
            keys, first, of, sizes = np.unique(names, return_index=True, return_inverse=True, return_counts=True)
            yield Entities(of, first, keys, np.minimum(sizes, 8))


def entities_of(coded: Coded, trait: Trait, larger: Sequence[Entities]) -> Entities:
    """Households where the trait is the same for all who live in one; else units, if it is for all their records."""
    values = coded.places(trait.name)
    for whole in larger:
        if (values == values[whole.first][whole.of]).all():
            return whole
    rows = np.arange(len(values))
    keys = coded.units if not coded.facts.several else np.asarray(coded.units ^ coded.records["key"].to_numpy())
    return Entities(rows, rows, keys, np.zeros(len(values), np.int64))
