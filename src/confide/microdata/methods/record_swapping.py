"""Targeted record swapping: households that stand out where they live change places with others like them."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Ints
from confide.errors import Mistake
from confide.microdata.method import Method
from confide.microdata.records import Masked, Records
from confide.microdata.search.exchange import of_households, partners_elsewhere
from confide.microdata.strata import numbered
from confide.model.parameter import parameter

__all__ = ["RecordSwapping"]


@dataclass(frozen=True)
class RecordSwapping(Method):
    """Targeted record swapping (European census project 2017): who stands out in an area changes places with others alike.

    The columns are areas, from the largest to the smallest. With `household`, households move as a whole; they stand out
    if one member does, and their partners have as many members.

    Promise: two that change places exchange all their areas and nothing else, and agree in `match`; so tables without
    areas stay exactly, and so do those of areas with `match`. Level by level, those whose values in `keys` fewer than k
    records of the area share get a partner drawn from other areas of that level within the same area above. Then more
    are drawn by chance, until `share` of all have changed places. Nobody does twice. The report counts `at_risk` (in the
    smallest areas), `swapped`, and `alone`: those at risk for whom there was no partner. A missing area is an area of its
    own, and moves like others.

    Reference: the European project on harmonised protection of census data (2017), targeted record swapping.

    >>> import pyarrow as pa
    >>> frame = pa.table({"town": ["a", "a", "a", "b", "b", "b"], "job": ["cook", "cook", "king", "cook", "cook", "cook"]})
    >>> released = RecordSwapping(keys=["job"], k=2).protect(frame, columns="town", teaching_seed=1)
    >>> released.frame["town"].to_pylist()
    ['a', 'a', 'b', 'b', 'b', 'a']
    >>> released
    Released(6 records; at_risk 1; alone 0; swapped 2; not for release, drawn from a teaching seed)
    """

    best_attack: ClassVar = "matched-sets"
    draws: ClassVar = True
    takes: ClassVar = frozenset({"numbers", "categories"})
    keeps: ClassVar = frozenset({"rows", "types"})

    keys: tuple[str, ...] = parameter((), "Columns by whose values a record may stand out.")
    k: int = parameter(3, "Least records of an area that share their values in keys.", low=2)
    match: tuple[str, ...] = parameter((), "Columns in which those that change places agree.")
    share: float = parameter(0.0, "Least share of all that change places, at risk or not.", low=0, high=1)

    @property
    def reads(self) -> tuple[str, ...]:
        return (*self.keys, *self.match)

    def _check(self) -> None:
        if not self.keys and not self.share:
            raise Mistake("RecordSwapping: say who changes places, by keys, share or both.")

    def _mask(self, records: Records) -> Masked:
        if both := [name for name in self.reads if name in records.columns]:
            raise Mistake(f"RecordSwapping: {both[0]!r} is an area, so it cannot be in keys or match.")
        areas = [numbered(records.table, records.columns[: level + 1]) for level in range(len(records.columns))]
        alike = self._alike(records)
        partner = np.full(len(records), -1)
        risk = np.zeros(len(records), bool)
        for level, area in enumerate(areas):
            above = areas[level - 1] if level else np.zeros_like(area)
            risk = self._at_risk(records, area)
            wanting = records.rng("risk", str(level)).permutation(np.flatnonzero(risk & (partner < 0)))
            classes = _joined(alike, above)
            partners_elsewhere(wanting, len(wanting), classes, area, partner, records.rng("partner", str(level)))
            records.progress((level + 1) / (len(areas) + 1))
        facts = {"at_risk": int(risk.sum()), "alone": int(np.sum(risk & (partner < 0)))}
        self._more(records, _joined(alike, areas[-2] if len(areas) > 1 else np.zeros_like(alike)), areas[-1], partner)
        return _moved(records, partner, facts)

    def _alike(self, records: Records) -> Ints:
        """Who may change places with whom: those that agree in `match` and, of households, in size."""
        of_households(records, self.match)
        alike = numbered(records.table, self.match)
        return alike if records.members is None else _joined(alike, np.bincount(records.members[1]))

    def _at_risk(self, records: Records, area: Ints) -> Bools:
        """Who stands out in an area, or lives with someone who does."""
        if not self.keys:
            return np.zeros(len(area), bool)
        table, member = records.members or (records.table, np.arange(len(area)))
        combination = _joined(numbered(table, self.keys), area[member])
        rare = np.bincount(combination)[combination] < self.k
        return np.asarray(np.bincount(member, rare, len(area)) > 0)

    def _more(self, records: Records, classes: Ints, area: Ints, partner: Ints) -> None:
        """Change places by chance until enough have, or nobody is left who can."""
        lacking = ceil(self.share * len(area) - 1e-9) - int(np.sum(partner >= 0))
        waiting = records.rng("share").permutation(np.flatnonzero(partner < 0))
        partners_elsewhere(waiting, (lacking + 1) // 2, classes, area, partner, records.rng("partner", "share"))


def _joined(one: Ints, other: Ints) -> Ints:
    """Equal numbers, from 0, where both are equal."""
    return np.asarray(np.unique(one * (int(other.max(initial=0)) + 1) + other, return_inverse=True)[1])


def _moved(records: Records, partner: Ints, facts: Mapping[str, int]) -> Masked:
    source = pa.array(np.where(partner < 0, np.arange(len(partner)), partner))
    columns = {name: records.array(name).take(source) for name in records.columns}
    return Masked(columns, {**facts, "swapped": int(np.sum(partner >= 0))})
