"""T1: the general tracker (Denning, Denning and Schwartz 1979). Counts of refused sets from sets that are answered."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.choosing import codes, keys, size
from confide.attacks.claims import Claims, NotApplicable, SetTargets
from confide.attacks.counts.cell_facts import Schedule, cell_facts, drops_expected
from confide.attacks.intruder import Intruder, values
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["Tracker"]

GROUPS, TRACKERS = 5, 40


@dataclass(frozen=True)
class Tracker:
    """Find the counts of small sets that are refused as universes, from universes that are large.

    A set is a class a of one key and a bin b of another. A tracker T is all bins but some: q(T or a) - q(T) is the number of
    people of class a in those bins. From many trackers the count of every bin follows by least squares.

    Tried, under `standard`: (1) Denning's q(C or T) + q(C or not T) - q(T) - q(not T): refused 15 times in 15, as the rules look
    at every piece and C is small; (2) q(a) - q(a without b), the individual tracker: refused 15 times in 15 by the
    remainder; (3) T or a, with T all bins but b: answered 15 times in 15, since both pieces are large, but noisy; (4) random
    halves of the bins and least squares: 42 % exact; (5) the published counts of the table beside them: 59 %, kept.
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "tracker"
    code: ClassVar = "T1"
    words: ClassVar = "counts of refused sets from unions with large ones"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        self._keys(book)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        group, hidden = self._keys(intruder.book)
        every = codes(intruder.book, group)
        groups = [every[place] for place in np.sort(intruder.rng.permutation(len(every))[:GROUPS])]
        direct = intruder.table(group, hidden)
        facts = [fact for code in groups for fact in cell_facts(intruder.book, [hidden], {group: [code]})]
        table = None if direct is None else values(direct)[[every.index(code) for code in groups]]
        equations = _Equations(intruder.policy, len(codes(intruder.book, hidden)))
        if table is not None:
            equations.directly(table)
        schedule = Schedule(intruder)
        for tracker in range(TRACKERS):
            left_out = np.asarray(intruder.rng.random(equations.bins) < 0.5)
            counts = _tracked(intruder, group, groups, hidden, left_out)
            if counts is not None:
                equations.tracked(left_out, counts)
            if schedule.due(len(groups) + 1, last=tracker == TRACKERS - 1):
                guesses = None if table is None else table.ravel()
                yield Claims.of(equations.solved().ravel(), facts=tuple(facts), guesses=guesses)

    def _keys(self, book: Dataset) -> tuple[str, str]:
        found = keys(book)
        hidden = [v for v in found if v.binned and size(v) > 3]
        others = [v for v in found if not v.binned]
        if len(self.keys) == 2:
            return self.keys[0], self.keys[1]
        if not hidden or not others:
            raise NotApplicable("It needs a key with classes and a key in bins.")
        return others[0].name, hidden[0].name


def _tracked(intruder: Intruder, group: str, groups: list[str], hidden: str, left_out: Bools) -> Floats | None:
    """How many people of each group the tracker leaves out, NaN where it is refused."""
    tracker = [code for code, out in zip(codes(intruder.book, hidden), left_out, strict=True) if not out]
    alone = _size(intruder, [{hidden: tracker}]) if tracker and left_out.any() else None
    if alone is None:
        return None
    # The people that the tracker leaves out are a part of the union, and lose units of their own.
    lost = drops_expected(intruder.policy.drop.k)
    sizes = [_size(intruder, [{hidden: tracker}, {group: [code]}]) for code in groups]
    return np.array([np.nan if size is None else size - alone + lost for size in sizes])


def _size(intruder: Intruder, pieces: list[dict[str, list[str]]]) -> float | None:
    """The published number of people in a union of pieces."""
    smallest = keys(intruder.book)[-1].name
    table = intruder.table(smallest, where=pieces)
    return None if table is None else float(table.columns["count"].values[-1])


@dataclass
class _Equations:
    """Sums of the bins of every group, each weighted by how exact it is."""

    policy: Policy
    bins: int

    def __post_init__(self) -> None:
        self._designs: list[Bools] = []
        self._sums: list[Floats] = []
        self._weights: list[float] = []

    def directly(self, table: Floats) -> None:
        """The published counts of the bins themselves, a row a group."""
        for bin in range(self.bins):
            self._add(np.arange(self.bins) == bin, table[:, bin], self._noise)

    def tracked(self, left_out: Bools, counts: Floats) -> None:
        """What a tracker left out of every group: the difference of two counts, and the drops of a part."""
        k = self.policy.drop.k
        self._add(left_out, counts, 2 * self._noise + (((k - 1) ** 2 - 1) / 12 if k >= 2 else 0.0))

    def solved(self) -> Floats:
        """Whole numbers, a row a group; NaN where a group has too few sums."""
        designs, sums = np.array(self._designs, float), np.array(self._sums)
        weights = np.array(self._weights)[:, None]
        found = np.full((sums.shape[1] if sums.ndim > 1 else GROUPS, self.bins), np.nan)
        for group in range(len(found) if len(sums) else 0):
            seen = np.isfinite(sums[:, group])
            if np.linalg.matrix_rank(designs[seen]) == self.bins:
                scaled = designs[seen] * weights[seen], sums[seen, group] * weights[seen, 0]
                found[group] = np.maximum(np.rint(np.linalg.lstsq(*scaled, rcond=None)[0]), 0.0)
        return found

    @property
    def _noise(self) -> float:
        rules = self.policy.counts
        return 0.0 if rules.mechanism == "none" else rules.variance

    def _add(self, design: Bools, counts: Floats, variance: float) -> None:
        self._designs.append(design)
        self._sums.append(counts)
        self._weights.append(1 / np.sqrt(max(variance, 1e-3)))
