"""T12: unit inflation. Several records of one unit pass a threshold that counts records."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, keys, number_secret
from confide.attacks.claims import Claims, NotApplicable, UnitTargets
from confide.attacks.intruder import Intruder
from confide.attacks.passing import candidates, within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["UnitInflation"]


@dataclass(frozen=True)
class UnitInflation:
    """Read the confidential total of a unit that is alone in a cell with all its records.

    A cell with many records is safe if thresholds count records, though all may belong to one unit. So ask for the totals
    by the keys, and as a universe of their own the cells in which a known unit is alone.

    Under `standard` it fails since thresholds count distinct units: totals.units withholds, and universe.gamma refuses.

    Tried: (1) the table of totals; (2) the mean times the weighted count: withheld together;
    (3) the cell as a universe, with a table by another key whose margin is the total: kept beside (1).
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "unit-inflation"
    code: ClassVar = "T12"
    words: ClassVar = "totals of cells with many records of one unit"
    knows: ClassVar = "two keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        found = [v for v in keys(book) if not v.binned]
        if book.unit is None:
            raise NotApplicable("Every record is a unit of its own.")
        if len(self.keys or found) < 2:
            raise NotApplicable("It needs two keys with classes.")
        chosen = self.keys[:2] or (found[0].name, found[1].name)
        secret, every = number_secret(book, self.secret), candidates(book, lambda v: not v.binned)
        wanted = UnitTargets(chosen, secret, number=True, weighted=book.weight is not None)
        return within_rules(wanted, book, policy, given=self.keys, among=(every, every))

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        table = intruder.table(*wanted.keys, measure="total", of=wanted.secret)
        found = np.full(intruder.known.size, np.nan)
        if table is not None:
            cells = tuple(intruder.known.places[key] for key in wanted.keys)
            found = np.asarray(table.columns["total"].values[cells])
            yield _claims(found)
        third = keys(intruder.book)[-1].name
        for target in np.flatnonzero(~np.isfinite(found)):
            if intruder.left < 1:
                break
            places = {key: intruder.known.places[key][target] for key in wanted.keys}
            where = {key: [codes(intruder.book, key)[place]] for key, place in places.items()}
            alone = intruder.table(third, where=where, measure="total", of=wanted.secret)
            if alone is not None:
                found[target] = alone.columns["total"].values[-1]
        yield _claims(found)


def _claims(found: Floats) -> Claims:
    """What was told, if it is more than nothing."""
    return Claims.of(np.where(found > 0, found, np.nan))
