"""T7: the refusal oracle. A set padded to the threshold: whether it is refused says whether it is large enough."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, keys, size
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.counts.cell_facts import Schedule
from confide.attacks.counts.keys import coarse_keys
from confide.attacks.intruder import Intruder, universe, values
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.universe import Universe

__all__ = ["RefusalOracle"]

MOST = 200


@dataclass(frozen=True)
class RefusalOracle:
    """Find out whether sets have at least as many units as the threshold of a rule, from refusals.

    A class of one key is padded with bins of another until the published counts say that it is at the threshold. Whether
    that universe is refused for its size is one exact bit if rules look at true counts.

    Tried: (1) released or refused, for whatever reason: under `standard` 64 of 67 are refused, 42 of them by the remainder;
    (2) the rule that a refusal names: a refusal by a later rule says that the set was large enough, kept; (3) sets
    of any size: most are far from the threshold, where the published count tells the same.
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "refusal-oracle"
    code: ClassVar = "T7"
    words: ClassVar = "sets padded to the threshold: the refusal is the secret bit"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        if not policy.universe.gamma:
            raise NotApplicable("The policy has no least size of a universe.")
        self._keys(book)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        group, hidden = self._keys(intruder.book)
        table = intruder.table(group, hidden)
        if table is None:
            return
        least, schedule = intruder.policy.universe.gamma, Schedule(intruder)
        facts: list[SetFact] = []
        bits: list[float] = []
        guesses: list[float] = []
        for where, near in _padded(intruder, group, hidden, values(table)):
            if len(facts) >= MOST or intruder.left < 1:
                break
            bits.append(_bit(intruder, where))
            facts.append(SetFact(where, least=least))
            guesses.append(float(near >= least))
            if schedule.due(1):
                yield Claims.of(np.array(bits), facts=tuple(facts), guesses=np.array(guesses))
        if facts:
            yield Claims.of(np.array(bits), facts=tuple(facts), guesses=np.array(guesses))

    def _keys(self, book: Dataset) -> tuple[str, str]:
        hidden = [v for v in keys(book) if v.binned and size(v) > 3]
        others = [v for v in coarse_keys(book) if not v.binned]
        if len(self.keys) == 2:
            return self.keys[0], self.keys[1]
        if not hidden or not others:
            raise NotApplicable("It needs a key with classes and a key in bins.")
        return others[0].name, hidden[0].name


def _padded(intruder: Intruder, group: str, hidden: str, counts: Floats) -> Iterator[tuple[Universe, float]]:
    """Universes of one class and some bins, each with its published size, which is within one of the threshold."""
    every, bins = codes(intruder.book, group), codes(intruder.book, hidden)
    least = intruder.policy.universe.gamma
    tried: set[Universe] = set()
    for _ in range(100 * MOST):
        place, order = intruder.rng.integers(len(every)), intruder.rng.permutation(len(bins))
        sizes = np.cumsum(counts[place, order])
        for taken in np.flatnonzero(np.abs(sizes - least + 0.5) < 1)[:1]:
            if taken + 1 == len(bins):
                continue
            where = universe({group: [every[place]], hidden: [bins[bin] for bin in order[: taken + 1]]})
            if where not in tried:
                tried.add(where)
                yield where, float(sizes[taken])


def _bit(intruder: Intruder, where: Universe) -> float:
    """1 if the universe is large enough, 0 if it is refused for its size, NaN if another rule came first."""
    before = intruder.refused.copy()
    if intruder.table(keys(intruder.book)[-1].name, where=where) is not None:
        return 1.0
    rule = next(iter(intruder.refused - before), "universe.marginals")
    return {"universe.gamma": 0.0, "universe.marginals": np.nan}.get(rule, 1.0)
