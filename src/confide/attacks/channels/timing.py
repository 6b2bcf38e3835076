"""S1: how long an answer takes, where somebody is in the universe and where nobody is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import numpy as np
from scipy.stats import mannwhitneyu

from confide.arrays import Floats
from confide.attacks.channels.boxes import Box, box_keys, exactly, nobody
from confide.attacks.choosing import keys
from confide.attacks.claims import Claims, MemberTargets
from confide.attacks.intruder import Intruder
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["Timing", "differs"]

SURE = 0.001
"""A latency is a sign only if a rank test says so at this level, shared among all targets."""


@dataclass(frozen=True)
class Timing:
    """Find out whether somebody is in the data from the time that questions about their box take.

    Each target's box is asked about again and again, in turns with boxes of codes drawn at random, which hold nobody as a
    rule. Only where ranks differ significantly is a target claimed to be in the data; nobody is ever claimed to be out.
    What comes of it depends on the machine and on its load, as with every attack on time.

    Tried: ranks of the latencies of refused questions; under `standard` 2 of 10 targets were claimed, one rightly, for some
    boxes take longer than others whoever is in them. Answered questions apart were not tried.
    """

    keys: tuple[str, ...] = ()
    most: int = 8
    """So many targets are asked about, at most: each costs many questions."""
    repeats: int = 12
    clock: Callable[[], float] = perf_counter

    name: ClassVar = "timing"
    code: ClassVar = "S1"
    measures_time: ClassVar = True
    words: ClassVar = "how long questions about the target's box take, beside boxes that hold nobody"
    knows: ClassVar = "the keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> MemberTargets:
        return MemberTargets(box_keys(book, policy, self.keys), alone=True)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        names = self.wants(intruder.book, intruder.policy).keys
        targets = min(intruder.known.size, self.most, intruder.questions // (2 * self.repeats))
        taken, empty = np.zeros((targets, self.repeats)), np.zeros((targets, self.repeats))
        # All targets once, then all again: a machine that gets slower does so for everybody.
        for turn in range(self.repeats):
            drawn = nobody(intruder, names, targets)
            for target in range(targets):
                box = tuple(int(intruder.known.places[name][target]) for name in names)
                taken[target, turn] = self._time(intruder, names, box)
                empty[target, turn] = self._time(intruder, names, drawn[target])
        found = np.zeros(intruder.known.size, bool)
        found[:targets] = [differs(row, empty.ravel(), level=SURE / max(targets, 1)) for row in taken]
        yield Claims(np.ones(intruder.known.size), found)

    def _time(self, intruder: Intruder, names: tuple[str, ...], box: Box) -> float:
        began = self.clock()
        intruder.table(keys(intruder.book)[-1].name, where=exactly(intruder.book, names, box))
        return self.clock() - began


def differs(latencies: Floats, reference: Floats, *, level: float) -> bool:
    """Whether latencies are not those of the reference, by the ranks (Mann and Whitney)."""
    return bool(mannwhitneyu(latencies, reference).pvalue < level)
