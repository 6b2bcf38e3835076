"""T11: missing values. A rare level is filtered out as if it were missing, and what is gone is counted."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import codes, keys, size
from confide.attacks.claims import Claims, NotApplicable, SetTargets
from confide.attacks.counts.cell_facts import Schedule, cell_facts, drops_expected
from confide.attacks.counts.keys import coarse_keys
from confide.attacks.intruder import Intruder, values
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["MissingLevels"]

LEVELS, ROUNDS = 5, 60


@dataclass(frozen=True)
class MissingLevels:
    """Count the people of rare levels of a key in every class of another, by leaving the level out as if it were missing.

    Tables of the second key over some levels of the first, with and without the rare one, differ by its people. Where no
    table ever changes there is nobody.

    A rule that took a level left out for missing data would let this through. Confide's rules look at what a universe leaves
    out: a level of fewer than the least units cannot be named or left out alone, so only levels that are rare in
    a class, not in all, are counted here.

    Tried: (1) everyone without the level: answered for each of 8 levels of education, refused by universe.gamma for each of 25
    countries, as one of the others is small; (2) random sets of levels other than the rare ones: few of them, 39 % right
    with 248 questions under `standard`; (3) random sets of all levels with and without the rare one, averaged, and zero
    where nothing changes: 70 %, kept. What the level itself loses by Drop q is the same in all of them.
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "missing-levels"
    code: ClassVar = "T11"
    words: ClassVar = "a rare level left out as if it were missing: what is gone is counted"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        self._keys(book)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        rare, shown = self._keys(intruder.book)
        levels = intruder.table(rare)
        if levels is None:
            return
        every, counts, schedule = codes(intruder.book, rare), values(levels), Schedule(intruder)
        chosen = _rarest(intruder, rare, counts)
        facts = [fact for level in chosen for fact in cell_facts(intruder.book, [shown], {rare: [every[level]]})]
        direct = intruder.table(rare, shown)
        guesses = None if direct is None else values(direct)[chosen].ravel()
        lost = drops_expected(intruder.policy.drop.k) / np.maximum(counts[chosen], 1.0)
        found: list[Floats] = []
        large = counts >= intruder.policy.universe.gamma + 5
        while intruder.left > len(chosen) and len(found) < ROUNDS:
            base = large & (intruder.rng.random(len(every)) < 0.5)
            found.append(_differences(intruder, rare, shown, np.asarray(base), chosen))
            if schedule.due(len(chosen) + 1, last=len(found) == ROUNDS):
                yield Claims.of(_counted(np.stack(found), lost).ravel(), facts=tuple(facts), guesses=guesses)

    def _keys(self, book: Dataset) -> tuple[str, str]:
        found = [v for v in keys(book) if not v.binned and size(v) > LEVELS]
        flat = [v for v in found if len(book.levels(v.name)) == 1]
        declared = [v for v in flat if any(code.missing for code in v.codes or ())]
        rare = (declared or flat or found)[:1]
        others = [v for v in coarse_keys(book) if rare and v.column != rare[0].column and v.group != rare[0].name]
        if len(self.keys) == 2:
            return self.keys[0], self.keys[1]
        if not rare or not others:
            raise NotApplicable("It needs a key with rare levels, and another.")
        return rare[0].name, others[0].name


def _rarest(intruder: Intruder, rare: str, counts: Floats) -> Ints:
    """The levels declared missing, and the smallest others that are not empty."""
    missing = np.array([code.missing for code in intruder.book.variable(rare).codes or ()])
    order = np.lexsort((counts, ~missing))
    return np.sort([place for place in order if counts[place] > 0][:LEVELS])


def _differences(intruder: Intruder, rare: str, shown: str, base: Bools, chosen: Ints) -> Floats:
    """What each rare level adds to the table over some levels; NaN where it is refused."""
    found = np.full((len(chosen), len(codes(intruder.book, shown))), np.nan)
    whole = _over(intruder, rare, shown, base)
    for row, level in enumerate(chosen if whole is not None else ()):
        changed = base.copy()
        changed[level] = ~base[level]
        other = _over(intruder, rare, shown, changed)
        if whole is not None and other is not None:
            found[row] = whole - other if base[level] else other - whole
    return found


def _over(intruder: Intruder, rare: str, shown: str, levels: Bools) -> Floats | None:
    """The table over the people of some levels."""
    inside = [code for code, there in zip(codes(intruder.book, rare), levels, strict=True) if there]
    table = intruder.table(shown, where={rare: inside}) if inside else None
    return None if table is None else values(table)


def _counted(gained: Floats, lost: Floats) -> Floats:
    """The mean difference as a whole number, with what is dropped on average; zero where nothing ever changed."""
    seen = np.isfinite(gained)
    mean = np.where(seen, gained, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    moved = (np.where(seen, gained, 0.0) != 0).any(axis=0)
    whole = np.where(moved, np.maximum(np.rint(mean * (1 + lost[:, None])), 1.0), 0.0)
    return np.where(seen.any(axis=0), whole, np.nan)
