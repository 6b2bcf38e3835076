"""Many attackers against many demands: which of them are kept from which by the points that were found for all.

A point keeps a demand from an insider if it meets the demand and fits what they know, and so does a mixture of points. Most
pairs of a demand and an insider are settled so by what was found for the outsider and by the swings of both: one goes far enough,
the other makes good what the insider knows better. For a demand that is left there is a short walk, which leaves few of most. Where
many are left there are more points: some go as far as they can, so that mixtures have some to spare, and some are turned: others that
meet the same demands, on the other side of what the insiders left know. Where few are left there are walks again, each within what
several insiders know, and where these fall short, programs.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.tables.suppression.at_once.knowledge import knowledge
from confide.tables.suppression.at_once.mixtures import KnownMoves, Swung, kept, settled, stronger
from confide.tables.suppression.at_once.pairs import OpenPairs
from confide.tables.suppression.at_once.passing_on import AskedMoves, net_of, out_of_reach
from confide.tables.suppression.at_once.points import OUTSIDERS, Points
from confide.tables.suppression.at_once.walks import Walk
from confide.tables.suppression.contraction import tighten
from confide.tables.suppression.insiders import ranges
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.protection import Protection
from confide.tables.suppression.witness import TINY, Finder

__all__ = ["Crowd"]


STRETCHED = 2
"""How many points that go as far as they can are made before one is turned."""

STEEP = 1e3
"""Prices differ by no more than this factor up and down: others are hard on the solver."""

OFTEN = 1_000
"""So many demands are looked at together, and then progress is told."""

FEW, MANY = 50, 500
"""A walk or a program stays within what so many insiders know at most; of a demand with more than so many left there are no walks, as
most would be in vain."""

FARTHEST, FIRST = 4.0, 60
"""How far the first walk of a demand goes, in demands, and in how many steps: what is to spare is for mixtures with swings."""

PATIENCE = 6_000
"""After so many steps for one demand, in however many walks, the rest is left to programs."""

OFTEN_WALKED = 20
"""After the walks of so many demands progress is told."""

SEED = 19590317
"""Which of them is random, but always the same."""


class _Reached(NamedTuple):
    """How far a demand came, in shares of what it asks for, the pairs that are `undone` for sure, and how many steps that took."""

    far: float
    undone: OpenPairs
    steps: int = 0


class Crowd:
    """The pairs of demands and insiders for whom no witness was found yet."""

    def __init__(self, problem: SuppressionProblem, points: Points, demands: list[Demand]) -> None:
        self.problem, self.points, self.demands = problem, points, demands
        self.targets = points.reach(demands)
        self.known = knowledge(problem, points)
        starts = np.searchsorted(self.known.who, np.arange(len(problem.insiders) + 1))
        tiny = TINY * 1e-3 * points.unit
        self._boxes = KnownMoves(starts, self.known.of, self.known.low - tiny, self.known.high + tiny)
        self._stronger = stronger(self._boxes)
        self._swings = points.swings
        self._share = self.targets.side / self.targets.amount * (1 + TINY)
        self._protection = Protection(Finder(problem))
        self._random, self._most = np.random.default_rng(SEED), 1

    def pairs(self, numbers: Ints) -> tuple[OpenPairs, Ints]:
        """The demands and the insiders for whom no mixture of points and swings does, and the demands not looked at in time."""
        places: Floats = self._places()
        found: list[OpenPairs] = []
        numbers = numbers[np.argsort(self.targets.of[numbers], kind="stable")]
        for start in range(0, len(numbers), OFTEN):
            some = numbers[start : start + OFTEN]
            for number in some.tolist():
                if self.points.deadline.over:
                    return OpenPairs.all_of(found), numbers[len(found) :]
                found.append(self._open(number, places))
            self.points.tell(OUTSIDERS, f"{len(found):,} of {len(numbers):,} levels looked at for contributors")
        return OpenPairs.all_of(found), numbers[:0]

    def _open(self, number: int, places: Floats) -> OpenPairs:
        """The insiders of whom it is open whether they undo one demand, from what its unknown shares with all that are known."""
        need, unknown, share = self._needs(self.demands[number]), int(self.targets.of[number]), self._share[number]
        swings, theirs = self._swings, self.known.of
        shared = swings.shared[unknown][theirs]
        own = float(swings.up[unknown] if share > 0 else swings.down[unknown])
        gain = shared / swings.square[theirs] * share
        swung = Swung(own * share, shared / swings.square[unknown] * own, swings.down[theirs], swings.up[theirs], gain)
        who = np.flatnonzero(~kept(places[unknown] * share, places, self._boxes, need, swung))
        return OpenPairs(np.full(len(who), number), who, need[who], gain[self._boxes.starts[who]])

    def _needs(self, demand: Demand) -> Floats:
        """The share of a demand that each insider must be kept from: none of it if they know its cell.

        Nor if that follows: whoever knows more must be kept from as much.
        """
        need = np.ones(len(self.problem.insiders))
        for who in self._protection.knowing(demand.cell):
            need[who] = self._protection.asked(demand, who).amount / demand.amount
        follows = (self._stronger >= 0) & (need[self._stronger] >= need)
        return np.where((need <= TINY) | follows, 0.0, need)

    def _places(self) -> Floats:
        """The moves of each unknown in each point, the true table first."""
        return np.column_stack([np.zeros(len(self.points.low)), *self.points.found])

    def impossible(self, pairs: OpenPairs) -> Bools:
        """The pairs that insiders undo by what they know and one relation after the other, without a program."""
        order = np.argsort(pairs.who, kind="stable")
        mine = pairs.where(order)
        of, side = self.targets.of[mine.demand], self.targets.side[mine.demand]
        asked = AskedMoves(mine.who, of, side, mine.need * self.targets.amount[mine.demand])
        out = np.zeros(len(pairs), dtype=np.bool_)
        out[order] = out_of_reach(asked, net_of(self.points.matrix, self.points.low, self.points.high), self._boxes)
        return out

    def thin(self, pairs: OpenPairs) -> OpenPairs:
        """The pairs left after a short walk for each demand with more than a few."""
        places, left = self._room_for_one(), pairs.by_demand()
        for done, mine in enumerate(left):
            if done % OFTEN_WALKED == 0 and self.over(sum(map(len, left))):
                break
            if len(mine) > FEW:
                walk, unit = self._start(mine, (self.points.low, self.points.high))
                places[:, -1] = walk.to(FARTHEST * unit, steps=FIRST)
                left[done] = self._settled(mine, places)
        return OpenPairs.all_of(left)

    def walked(self, pairs: OpenPairs) -> tuple[OpenPairs, OpenPairs]:
        """The pairs that are undone, one for each such demand, and those left after walks for each demand that has not very many.

        What a walk comes to is a point for its demand alone.
        """
        places, left, sure = self._room_for_one(), pairs.by_demand(), []
        kept: dict[tuple[int, int], Floats] = {}
        for done, mine in enumerate(left):
            if done % OFTEN_WALKED == 0 and self.over(sum(map(len, left))):
                break
            number = int(mine.demand[0])
            unknown = int(self.targets.of[number]), int(self.targets.side[number])
            amount = self.targets.amount[number]
            # Cells that move together ask for the same unknown: who was kept from more of it is kept from less.
            far = kept.get(unknown, np.zeros(len(self.problem.insiders)))
            left[done] = mine = mine.where(far[mine.who] < mine.need * amount)
            if len(mine) <= MANY:
                undoing, left[done] = self._in_groups(mine, places, self._walk, PATIENCE)
                sure.append(undoing)
                if not len(undoing) and not len(left[done]):
                    kept[unknown] = np.maximum(far, self._needs(self.demands[number]) * amount)
        return OpenPairs.all_of(sure), OpenPairs.all_of(left)

    def walkable(self, pairs: OpenPairs) -> tuple[OpenPairs, OpenPairs]:
        """The pairs of demands that have few enough of them for walks, and the others."""
        many = np.bincount(pairs.demand, minlength=len(self.demands))[pairs.demand]
        few = (many <= MANY) & (self._swings.basis is not None)
        return pairs.where(few), pairs.where(~few)

    def programmed(self, pairs: OpenPairs) -> tuple[OpenPairs, OpenPairs]:
        """The pair of one demand that is undone, if there is one, and the pairs for which there was no time."""
        return self._in_groups(pairs, self._room_for_one(), self._program)

    def _room_for_one(self) -> Floats:
        """The moves in each point, and room for one more, which is for one demand alone."""
        return np.column_stack([self._places(), np.zeros(len(self.points.low))])

    def _in_groups(
        self, mine: OpenPairs, places: Floats, probe: "_Probe", patience: float = np.inf
    ) -> tuple[OpenPairs, OpenPairs]:
        """The pair of one demand that turns out to be undone, if there is one, or else the pairs that are not settled.

        It is looked at what several insiders know together; if the demand does not go far enough within that, at what half of them
        know, until one is left: they undo the demand.
        """
        nothing, hard, steps = mine.where(slice(0)), mine.where(slice(0)), 0
        groups = mine.parts(FEW)
        while groups and steps < patience and not self.points.deadline.over:
            group, need = groups[-1], float(groups.pop().need.max())
            reached, left = probe(group, places, need)
            steps += reached.steps
            if len(reached.undone):
                return reached.undone.where(slice(1)), nothing
            if reached.far >= need and groups:
                groups = self._settled(OpenPairs.all_of(groups), places).parts(FEW)
            elif reached.far < need and len(group) > 1:
                groups += left.parts(max(1, len(group) // 2))
            elif reached.far < need:
                hard = OpenPairs.all_of([hard, left])
        return nothing, OpenPairs.all_of([hard, *groups])

    def _walk(self, pairs: OpenPairs, places: Floats, need: float) -> tuple[_Reached, OpenPairs]:
        """How far the demand of some pairs comes in a walk within what their insiders know, and the pairs left after that."""
        walk, unit = self._start(pairs, self.bounds(pairs.who))
        places[:, -1] = point = walk.to(need * unit)
        far = float(walk.side * point[walk.unknown] * (1 + TINY) / unit)
        alone = len(pairs) == 1 and far < need and walk.most() * (1 + TINY) / unit < need * (1 - TINY)
        return _Reached(far, pairs if alone else pairs.where(slice(0)), walk.steps), self._settled(pairs, places)

    def _program(self, pairs: OpenPairs, places: Floats, need: float) -> tuple[_Reached, OpenPairs]:
        """The same by a program, which goes as far as anything does, and mostly tells who of several keeps it from going farther."""
        nobody, alone = pairs.where(slice(0)), len(pairs) == 1
        asked = self.targets.where(pairs.demand[:1])
        asked.amount = asked.amount * need
        bounds = self.bounds(pairs.who)
        if self.points.hopeless(asked, tighten(self.points.matrix, *bounds))[0]:
            return _Reached(0.0, pairs if alone else nobody), pairs
        point = self.points.alone(asked, 0, bounds)
        if point is None:
            return _Reached(0.0, nobody), pairs
        self.points.found.pop()
        places[:, -1] = point
        if self.points.meets(asked, point)[0]:
            return _Reached(need, nobody), self._settled(pairs, places)
        farthest = self._farthest(pairs, self.points.worth(asked, 0) * need)
        undone = pairs if alone else pairs.where(farthest < pairs.need * (1 - TINY))
        return _Reached(0.0, undone), self._settled(pairs.where(np.argsort(pairs.need - farthest)), places)

    def _start(self, pairs: OpenPairs, bounds: tuple[Floats, Floats]) -> tuple[Walk, float]:
        """The walk of the demand of some pairs, before its first step, and how far is far enough."""
        number = int(pairs.demand[0])
        share = float(self._share[number])
        return Walk(self._swings, int(self.targets.of[number]), int(np.sign(share)), *bounds), (1 + TINY) / abs(share)

    def bounds(self, held: Ints) -> tuple[Floats, Floats]:
        """The bounds of those who know what all of these know."""
        entries = self.known.where(np.isin(self.known.who, held))
        low, high = self.points.low.copy(), self.points.high.copy()
        np.maximum.at(low, entries.of, entries.low)
        np.minimum.at(high, entries.of, entries.high)
        return np.minimum(low, 0.0), np.maximum(high, 0.0)

    def stretched_together(self, pairs: OpenPairs) -> OpenPairs:
        """The pairs left after some points that go as far as they can, mostly where many pairs are left."""
        for _ in range(STRETCHED):
            many = np.bincount(pairs.demand, minlength=len(self.demands))
            ends = self.points.low, self.points.high
            point = self.points.stretch(self.targets, many * self._random.random(len(many)), ends)
            pairs = pairs if point is None else self.left(pairs)
        return pairs

    def _entries(self, who: Ints) -> Ints:
        """Where it stands what some insiders know."""
        return ranges(self._boxes.starts[who], np.diff(self._boxes.starts)[who])

    def stretched(self, pairs: OpenPairs, demand: int) -> tuple[Ints, OpenPairs]:
        """The insiders who are now known to undo a demand, and the pairs left after the point at which it goes farthest.

        Of that demand those come last for whom it may go least far.
        """
        if self.points.alone(self.targets, demand, (self.points.low, self.points.high)) is None:
            return np.zeros(0, np.int64), pairs
        mine = pairs.where(pairs.demand == demand)
        farthest = self._farthest(mine, self.points.worth(self.targets, demand))
        undoing = mine.who[farthest < mine.need * (1 - TINY)]
        others = pairs.where(pairs.demand != demand)
        if len(undoing):
            return undoing, others
        return undoing, self.left(
            OpenPairs.all_of([others, mine.where(np.argsort(mine.need - farthest, kind="stable"))])
        )

    def _farthest(self, pairs: OpenPairs, worth: Floats) -> Floats:
        """How far the demand of some pairs goes at most for each insider alone, as follows from what unknowns are worth to it.

        A program within what several know says that too, and just how far if what one of them knows is what stopped it.
        """
        most = np.maximum(worth * self.points.low, worth * self.points.high)
        entry = self._entries(pairs.who)
        of = self._boxes.of[entry]
        less = np.maximum(worth[of] * self._boxes.low[entry], worth[of] * self._boxes.high[entry]) - most[of]
        each = np.repeat(np.arange(len(pairs)), np.diff(self._boxes.starts)[pairs.who])
        return np.asarray(most.sum() + np.bincount(each, less, minlength=len(pairs)))

    def best(self, pairs: OpenPairs, tired: set[int]) -> int | None:
        """The point that meets most of the demands left, by number, if there is any but those that are tired."""
        theirs = self.targets.where(np.unique(pairs.demand))
        covered = [0 if number in tired else int(self.points.meets(theirs, point).sum())
                   for number, point in enumerate(self.points.found)]  # fmt: skip
        number = int(np.argmax(covered))
        return number if covered[number] else None

    def turned(self, pairs: OpenPairs, number: int) -> tuple[OpenPairs, float]:
        """The pairs left after another point for the demands that a point meets, and what share of theirs it settles.

        For a pair of which all points lie to one side of what the insider knows, one on the other side is as good as one
        that fits: mixtures of both do.
        """
        point = self.points.found[number]
        here = self.points.meets(self.targets, point)
        theirs = here[pairs.demand]
        held = np.zeros(len(here), dtype=np.bool_)
        held[pairs.demand[theirs]] = True
        met = self.targets.where(held)
        known, price = self._beyond(pairs.where(theirs), point)
        price[met.of] = 0.0
        if self.points.turn(self.points.keeping(met, point), known, price) is None:
            return pairs, 0.0
        left = self.left(pairs)
        return left, (len(pairs) - len(left)) / max(1, int(theirs.sum()))

    def _beyond(self, pairs: OpenPairs, point: Floats) -> tuple[tuple[Floats, Floats], Floats]:
        """Where what the insiders of these pairs know ends, to the side where the point lies, and the price of a unit beyond.

        To be as far beyond as the point is costs as much as there are pairs that it does not settle, each as a share of those of
        its demand, so that most demands come to their end. Mixtures are not tried for insiders who know of several unknowns:
        theirs are both ends of all.
        """
        times, entry = np.diff(self._boxes.starts)[pairs.who], self._entries(pairs.who)
        several = np.repeat(times > 1, times)
        of, low, high = self.known.of[entry], self.known.low[entry], self.known.high[entry]
        under, over = several | (point[of] < low), several | (point[of] > high)
        ends = np.full(len(point), -np.inf), np.full(len(point), np.inf)
        np.maximum.at(ends[0], of[under], low[under])
        np.minimum.at(ends[1], of[over], high[over])
        share = np.repeat(1 / np.bincount(pairs.demand)[pairs.demand], times)
        many = np.bincount(of[under | over], share[under | over], minlength=len(point))
        off = np.maximum(ends[0] - point, point - ends[1])
        typical = float(np.median(off[off > 0])) if (off > 0).any() else 1.0
        return ends, many / np.clip(off, typical / STEEP, typical * STEEP) * typical / (many.max(initial=0.0) or 1.0)

    def over(self, left: int) -> bool:
        """Whether it is time to stop; says how far it is with so many pairs left."""
        self._most = max(self._most, left)
        done = 1 - np.log1p(left) / np.log1p(self._most)  # each round settles a share of what is left
        self.points.tell(OUTSIDERS + (1 - OUTSIDERS) * done, f"{left:,} pairs of a level and a contributor left")
        return self.points.deadline.over

    def left(self, pairs: OpenPairs) -> OpenPairs:
        """The pairs that the last point does not settle either."""
        return self._settled(pairs, self._places())

    def _settled(self, pairs: OpenPairs, places: Floats) -> OpenPairs:
        """The pairs that the last of these points does not settle."""
        reach = (self.targets.of, self._share)
        swings = self._swings.down, self._swings.up, pairs.gain
        return pairs.where(~settled(pairs.demand, pairs.who, pairs.need, reach, places, self._boxes, swings))


_Probe = Callable[[OpenPairs, Floats, float], tuple[_Reached, OpenPairs]]
"""How far the demand of some pairs comes within what their insiders know, if it must come so far, and the pairs left after that."""
