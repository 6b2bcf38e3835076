"""Many attackers against many demands: which of them are kept from which by the points that were found for all.

A point keeps a demand from an insider if it meets the demand and fits what they know, and so does a mixture of points. Most
pairs of a demand and an insider are settled so by what was found for the outsider and by the swings of both: one goes far enough,
the other makes good what the insider knows better. For the demands that are left there are walks, each within what its insiders
know, and where these fall short there are more points: some
go as far as they can where many pairs are left, so that mixtures have some to spare, and some fit what many of the insiders
know. Points are turned: others that meet the same demands, on the other side of what the insiders left know. And demands of which
few pairs are left are finished, as many at once as there is a point for that fits what all of these insiders know.
"""

from typing import NamedTuple

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.tables.suppression.contraction import tighten
from confide.tables.suppression.insiders import ranges
from confide.tables.suppression.knowledge import knowledge
from confide.tables.suppression.mixtures import KnownMoves, Swung, kept, settled, stronger
from confide.tables.suppression.pairs import OpenPairs
from confide.tables.suppression.passing_on import AskedMoves, net_of, out_of_reach
from confide.tables.suppression.points import BOOST, OUTSIDERS, Points, Targets
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.protection import Protection
from confide.tables.suppression.walks import STEPS, Walk
from confide.tables.suppression.witness import TINY, Finder

__all__ = ["Crowd"]


HELD = 0.03
"""What share of the insiders, of those that are left, a new point is made to fit."""

STRETCHED = 2
"""How many points that go as far as they can are made for one that fits what insiders know."""

FINISHED, LARGER = 0.4, 1.5
"""If a point finishes more than this share of its demands, the next is made for more, by this factor; else for fewer."""

STEEP = 1e3
"""Prices differ by no more than this factor up and down: others are hard on the solver."""

OFTEN = 1_000
"""So many demands are looked at together, and then progress is told."""

FEW, WALKS = 50, 40
"""A walk stays within what so many insiders know at most, and after so many walks for a demand the rest is left to programs."""

FARTHEST, FIRST, STILL_MANY = 4.0, 60, 200
"""How far the first walk goes, in demands, and in how many steps: what is to spare is for mixtures with swings. It goes on only if it
leaves more pairs than this."""

OFTEN_WALKED = 20
"""After the walks of so many demands progress is told."""

SEED = 19590317
"""Which of them is random, but always the same."""


class _Walked(NamedTuple):
    """How far a demand came in a walk, and how far it can come `most`, in shares of what it asks for."""

    far: float
    most: float


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
        self._random, self._most, self._known_at_once = np.random.default_rng(SEED), 1, 1_000.0

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

    def walked(self, pairs: OpenPairs) -> tuple[OpenPairs, OpenPairs]:
        """The pairs that are undone, one for each such demand, and those left after walks for one demand after the other.

        What a walk comes to is a point for its demand alone. Where many pairs are left the first goes as far as it comes, and leaves
        few. The others stay within what several insiders know; if that is too little, within what half of them know, until one is
        left: then the walk tells that they undo the demand, or a program must.
        """
        places = np.column_stack([self._places(), np.zeros(len(self.points.low))])
        left, sure = pairs.by_demand(), []
        kept: dict[tuple[int, int], Floats] = {}
        for done, mine in enumerate(left):
            if done % OFTEN_WALKED == 0 and self.over(sum(map(len, left))):
                break
            number = int(mine.demand[0])
            unknown, amount = (
                (int(self.targets.of[number]), int(self.targets.side[number])),
                self.targets.amount[number],
            )
            # Cells that move together ask for the same unknown: who was kept from more of it is kept from less.
            far = kept.get(unknown, np.zeros(len(self.problem.insiders)))
            undoing, left[done] = self._walked(mine.where(far[mine.who] < mine.need * amount), places)
            sure.append(undoing)
            if not len(undoing) and not len(left[done]):
                kept[unknown] = np.maximum(far, self._needs(self.demands[number]) * amount)
        return OpenPairs.all_of(sure), OpenPairs.all_of(left)

    def _walked(self, mine: OpenPairs, places: Floats) -> tuple[OpenPairs, OpenPairs]:
        """The pair of one demand that a walk shows to be undone, if there is one, or else the pairs that walks do not settle."""
        nothing, hard = mine.where(slice(0)), mine.where(slice(0))
        if len(mine) > FEW:
            mine = self._walked_far(mine, places)
        groups = mine.parts(FEW)
        for _ in range(WALKS):
            if not groups:
                break
            group, need = groups[-1], float(groups.pop().need.max())
            walk, left = self._walk(group, places, need)
            if walk.far >= need and groups:
                groups = self._settled(OpenPairs.all_of(groups), places).parts(FEW)
            elif walk.far < need and len(group) > 1:
                groups += left.parts(max(1, len(group) // 2))
            elif walk.far < need and walk.most < need * (1 - TINY):
                return group, nothing
            elif walk.far < need:
                hard = OpenPairs.all_of([hard, left])
        return nothing, OpenPairs.all_of([hard, *groups])

    def _walked_far(self, mine: OpenPairs, places: Floats) -> OpenPairs:
        """The pairs of one demand that are left after a walk that goes as far as it comes."""
        walk, unit = self._start(mine, (self.points.low, self.points.high))
        for steps in (FIRST, STEPS):
            if len(mine) > (STILL_MANY if steps == STEPS else 0):
                places[:, -1] = walk.to(FARTHEST * unit, steps=steps)
                mine = self._settled(mine, places)
        return mine

    def _walk(self, pairs: OpenPairs, places: Floats, need: float) -> tuple[_Walked, OpenPairs]:
        """How far the demand of some pairs comes in a walk within what their insiders know, and the pairs left after that."""
        walk, unit = self._start(pairs, self.bounds(pairs.who))
        point = walk.to(need * unit)
        places[:, -1] = point
        far = walk.side * point[walk.unknown] * (1 + TINY) / unit
        return _Walked(float(far), walk.most() * (1 + TINY) / unit), self._settled(pairs, places)

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

    def thin(self, pairs: OpenPairs, weight: Floats) -> OpenPairs:
        """The pairs that are left after some more points, those first of which many are left."""
        for _ in range(STRETCHED):
            many = np.bincount(pairs.demand, minlength=len(self.demands))
            ends = self.points.low, self.points.high
            point = self.points.stretch(self.targets, many * self._random.random(len(many)), ends)
            pairs = pairs if point is None else self.left(pairs)
        many = np.bincount(pairs.who, minlength=len(self.problem.insiders))
        order = np.argsort(-many * self._random.random(len(many)), kind="stable")
        held = order[: int(np.ceil(HELD * (many > 0).sum()))]
        wanted = np.zeros(len(self.demands), dtype=np.bool_)
        wanted[pairs.demand[np.isin(pairs.who, held)]] = True
        point = self.points.push(self.targets, wanted, weight, self.bounds(held))
        weight[wanted] *= BOOST
        return pairs if point is None else self.left(pairs)

    def finish(self, pairs: OpenPairs) -> OpenPairs:
        """The pairs that are left after a point for demands of which few are left: it fits what all of their insiders know.

        How many demands that can be at once is found out on the way.
        """
        wanted = np.zeros(len(self.demands), dtype=np.bool_)
        wanted[chosen := self._apart(pairs)] = True
        bounds = self.bounds(np.unique(pairs.who[wanted[pairs.demand]]))
        if self.points.push(self.targets, wanted, np.ones(len(wanted)), bounds) is None:
            return pairs
        left = self.left(pairs)
        many = 1 - np.isin(chosen, left.demand).mean() > FINISHED
        self._known_at_once *= LARGER if many else 1 / LARGER
        return left

    def _apart(self, pairs: OpenPairs) -> Ints:
        """Demands with few pairs, by number, of whose unknowns the insiders of the others know nothing."""
        there, first, many = np.unique(pairs.demand, return_index=True, return_counts=True)
        known: set[int] = set()
        own: set[int] = set()
        chosen: list[int] = []
        for at in np.argsort(many * self._random.exponential(size=len(many)), kind="stable").tolist():
            who, unknown = pairs.who[first[at] : first[at] + many[at]], int(self.targets.of[there[at]])
            if unknown in known or (chosen and len(known) + len(who) > self._known_at_once):
                continue
            theirs = set(self.known.of[self._entries(who)].tolist())
            if not theirs & own:
                known, own = known | theirs, own | {unknown}
                chosen.append(int(there[at]))
        return np.array(chosen)

    def _entries(self, who: Ints) -> Ints:
        """Where it stands what some insiders know."""
        return ranges(self._boxes.starts[who], np.diff(self._boxes.starts)[who])

    def stretched(self, pairs: OpenPairs, demand: int) -> tuple[Ints, OpenPairs]:
        """The insiders who are now known to undo a demand, and the pairs left after the point at which it goes farthest."""
        if self.points.alone(self.targets, demand, (self.points.low, self.points.high)) is None:
            return np.zeros(0, np.int64), pairs
        worth, mine = self.points.worth(self.targets, demand), pairs.where(pairs.demand == demand)
        most = np.maximum(worth * self.points.low, worth * self.points.high)
        entry = self._entries(mine.who)
        of = self._boxes.of[entry]
        less = np.maximum(worth[of] * self._boxes.low[entry], worth[of] * self._boxes.high[entry]) - most[of]
        each = np.repeat(np.arange(len(mine)), np.diff(self._boxes.starts)[mine.who])
        farthest = most.sum() + np.bincount(each, less, minlength=len(mine))
        undoing = mine.who[farthest < mine.need * (1 - TINY)]
        return undoing, pairs.where(pairs.demand != demand) if len(undoing) else self.left(pairs)

    def best(self, pairs: OpenPairs, tired: set[int]) -> int | None:
        """The point that meets most of the demands left, by number, if there is any but those that are tired."""
        theirs = self.targets.where(np.unique(pairs.demand))
        covered = [0 if number in tired else int(self.points.meets(theirs, point).sum())
                   for number, point in enumerate(self.points.found)]  # fmt: skip
        number = int(np.argmax(covered))
        return number if covered[number] else None

    def meeting(self, demand: int) -> int:
        """A point that meets a demand, by number: each has one, or the outsider would undo it."""
        return int(np.argmax([self.points.meets(self.targets, point)[demand] for point in self.points.found]))

    def turned(self, pairs: OpenPairs, number: int, only: int | None = None) -> tuple[OpenPairs, float]:
        """The pairs left after another point for the demands that a point meets, or one of them, and what share of theirs it settles.

        For a pair of which all points lie to one side of what the insider knows, one on the other side is as good as one
        that fits: mixtures of both do.
        """
        point = self.points.found[number]
        here = self.points.meets(self.targets, point)
        if only is not None:
            here &= np.arange(len(here)) == only
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

    def against(self, who: int, pairs: OpenPairs) -> tuple[Ints, OpenPairs]:
        """The demands that one insider is now known to undo, and the pairs that are left without these."""
        at = np.flatnonzero(pairs.who == who)
        mine, whole = pairs.demand[at], self.targets
        asked = Targets(whole.of[mine], whole.side[mine], whole.amount[mine] * pairs.need[at])
        bounds = tighten(self.points.matrix, *self.bounds(np.array([who])))
        undone = self.points.hopeless(asked, bounds)
        if not undone.any():
            several = len(at) > 1
            met = self.points.together(asked, bounds) if several else np.zeros(1, dtype=np.bool_)
            if not met.any() and (point := self.points.alone(asked, 0, bounds)) is not None:
                met[0] = bool(self.points.meets(asked, point)[0])
                undone[0] = not met[0]
            pairs = self.left(pairs.where(np.delete(np.arange(len(pairs)), at[met])))
        return mine[undone], pairs.where(~np.isin(pairs.demand, mine[undone]))
