"""Who exchanges which key with whom: the exposed, and a share of the others, with a unit that is alike in all else.

An exposed unit exchanges a key that stands in most of the crosses that expose it, and more keys until none of these is left
as it was. Its partner differs in that key at the coarsest level at which it is exposed, and is alike in the variables that
go with the key most closely, three at most, and fewer where too few units would be left to draw from; of a number it is
not far from. Where a structural zero is declared of the key and other variables, these are among what a partner is alike in, before
all others, and only an exposed unit that finds nobody else fills one. Confidential variables play no part in that. It came in the
same update, unless nobody of these will do: so what two versions of the data differ in is protected by itself, and those who were
there before stay as they are.

The others exchange within the class above, where a key has one, so that only fine tables change. Where that leaves small cells
as they are, more do (`confide.records.exchanges.background`), at the finest level that changes the cell: of a cross by county another
county of the region, and across all classes only where nothing less will do, a key on which confidential numbers depend little.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product

import numpy as np

from confide.arrays import Bools, Floats, Ints, Narrow
from confide.data.scratch import IN_MEMORY, Scratch
from confide.data.threads import beside, cores_for, in_order
from confide.engines import Coded
from confide.model.admission.cross import cross_of
from confide.model.catalog.dataset import Dataset, Role
from confide.model.policy import RecordRules
from confide.records.cells import UnitCells, parts_of
from confide.records.exchanges.associations import cramers_v, explained_shares
from confide.records.exchanges.background import Shares
from confide.records.exchanges.circle import Circle
from confide.records.exchanges.entities import Entities, entities_of
from confide.records.exposure import Exposure, KeyCross
from confide.records.lots import drawn
from confide.records.sums import raise_to_largest
from confide.records.traits import Trait, class_number, matching_variables
from confide.site.secret import Secret

__all__ = ["Exchange", "plan_exchanges"]

FLAT = 0.1
"""Of a key without a coarser level, so much less is exchanged by the others: there is no class above it to stay in."""

SEVERAL = 1.5
"""A class above holds several if it holds so many on average."""

FEW = 5
"""Of such a key with at most so many classes nothing is: groups are large, and slopes would shrink."""

ACROSS = 0
"""The level at which partners differ who may be anybody alike. At a finer level they stay in the class above: coarser tables are as
they were."""

NEVER = 1e-9
"""What a trait counts for that is not exchanged: it is chosen where nothing else could be, and nothing happens then."""

HARDLY = 0.01
"""What a trait counts for that nobody alike has another of, beside one that somebody has."""

MATCHED = 3
"""A partner is alike in at most so many variables: one alike in all would tell almost as much as the unit itself."""

CLOSE = 0.3
"""The variable that goes with a key this closely (Cramér's V) is the same for partners whatever else is not."""


@dataclass(frozen=True, eq=False)
class Exchange:
    """The records that get a trait of another, and from which record each does. All others keep their own."""

    trait: Trait
    rows: Ints
    sources: Narrow
    sought: int
    """How many units looked for a partner."""


def plan_exchanges(
    coded: Coded, dataset: Dataset, exposure: Exposure, rules: RecordRules, secret: Secret, scratch: Scratch = IN_MEMORY
) -> list[Exchange]:
    """An exchange for each key: whatever order they are carried out in, the result is the same."""
    coarse, cores = [trait.levels[0] for trait in exposure.traits], cores_for(exposure.size)
    with beside(partial(explained_shares, coded, dataset, coarse), cores=cores) as explained:
        entities = entities_of(coded, coded.households, exposure.traits)
        cells = UnitCells(coded, dataset, cohorts=True)
        plans = [
            _Plan(coded, dataset, cells, trait, entity, rules, secret, scratch)
            for trait, entity in zip(exposure.traits, entities, strict=True)
        ]
        weights = explained()
    exposed = np.flatnonzero(exposure.exposed)
    picked = drawn(coded.units[exposed], secret, "exchange", rules.exchange)
    with beside(partial(_choose, exposure, exposed, picked, plans), cores=cores) as chosen:
        shares = _shares(plans, exposure, cells, rules, weights, scratch)
        wanted, coarsest = chosen()
    seekers = [_Seekers(exposed[wanted[:, t]], coarsest[wanted[:, t], t]) for t in range(len(plans))]
    taken = np.zeros(exposure.size, bool)
    taken[exposed[wanted.any(axis=1)]] = True
    # what changes most crosses is drawn first: whoever moves within a county stays in all tables by county, and takes no part again
    for level, (place, plan) in product(range(_depth(plans)), enumerate(plans)):
        if (share := shares.of(level * len(plans) + place)) is not None:
            rows = plan.background(share, level, taken)
            taken[rows] = True
            seekers[place].others.append((rows, level))
    del shares, taken
    looks = (partial(plan.exchange, some) for plan, some in zip(plans, seekers, strict=True))
    return list(in_order(looks, cores=cores))


@dataclass(frozen=True, eq=False)
class _Seekers:
    """The records that want to exchange a trait: the exposed, with the level at which a partner must differ, and of the others
    all who differ at one."""

    exposed: Ints
    levels: Narrow
    others: list[tuple[Ints, int]] = field(default_factory=list)


def _shares(
    plans: Sequence["_Plan"],
    exposure: Exposure,
    cells: UnitCells,
    rules: RecordRules,
    weights: Sequence[float],
    scratch: Scratch,
) -> Shares:
    """The share of records that exchange each trait, at each of its levels, though no class of theirs is read.

    Raised is what harms least: what stays within the finest class above, then the trait on which numbers depend least, by `weights`.
    """
    shares = Shares(exposure.size, rules, scratch)
    for place, plan in enumerate(plans):
        shares.begin((ACROSS if plan.flat else plan.finest) * len(plans) + place, *plan.usual, exposure.single)
    if not rules.background_exposed:
        return shares
    able = [(cross, ways) for cross in exposure.crosses if (ways := _able(cross, plans, weights))]
    looks = (partial(shares.small, cells, cross.names, ways) for cross, ways in able)
    for (cross, ways), parts in zip(able, in_order(looks, cores=cores_for(exposure.size)), strict=True):
        if parts:
            shares.raise_in(parts, cells.size(cross.names), ways)
    return shares


def _able(cross: KeyCross, plans: Sequence["_Plan"], weights: Sequence[float]) -> dict[int, float]:
    """How often an exchange of a trait at a level changes a cell of a cross, of those that can: what harms least first."""
    ways = product(reversed(range(_depth(plans))), sorted(cross.traits, key=lambda t: weights[t]))
    return {level * len(plans) + t: effect for level, t in ways if (effect := plans[t].effect(cross, level))}


def _depth(plans: Sequence["_Plan"]) -> int:
    """The most levels that a trait has."""
    return max((len(plan.trait.levels) for plan in plans), default=0)


def _choose(exposure: Exposure, rows: Ints, drawn: Bools, plans: Sequence["_Plan"]) -> tuple[Bools, Narrow]:
    """Which traits each of the exposed `rows` is to exchange, and at which level a partner must differ: the coarsest that exposes it.

    A trait counts for less that a whole household has in common, or that hardly anybody alike has another of.
    """
    wanted = np.zeros((len(rows), len(plans)), bool)
    ease = np.ones(wanted.shape)
    for place, plan in enumerate(plans):
        ease[:, place] = plan.ease(rows)
    level = np.tile(np.array([len(plan.trait.levels) - 1 for plan in plans], np.int8), (len(rows), 1))
    found = [(one.cross, np.searchsorted(rows, one.rows)) for one in exposure.found]
    for cross, at in found:
        for t, own in zip(cross.traits, cross.levels, strict=True):
            level[at, t] = np.minimum(level[at, t], own)
    while True:
        hits = np.zeros(wanted.shape, np.int32)
        for cross, at in found:
            these = list(cross.traits)
            left = at[drawn[at] & ~wanted[at][:, these].any(axis=1)]
            for t in these:
                hits[left, t] += 1
        some = np.flatnonzero(hits.any(axis=1))
        if not len(some):
            return wanted, level
        wanted[some, (hits[some] * ease[some]).argmax(axis=1)] = True


@dataclass(frozen=True, eq=False)
class _Plan:
    """How one trait is exchanged by its entities."""

    coded: Coded
    dataset: Dataset
    cells: UnitCells
    trait: Trait
    entity: Entities
    rules: RecordRules
    secret: Secret
    scratch: Scratch

    def own(self, name: str) -> Narrow:
        """The class of each entity."""
        places = self.coded.classes(name)
        return places[self.entity.first] if self.entity.whole else places

    @cached_property
    def associations(self) -> dict[str, float]:
        """How closely the trait goes with the variables in which a partner can be alike, the closest first."""
        rows, trait = self.entity.first if self.entity.whole else None, self.trait.levels[0]
        cells = self.cells.whole
        found = {
            name: cramers_v(cells.counts((trait, name), rows).reshape(cells.size((trait,)), -1))
            for name in matching_variables(self.trait, self.dataset)
        }
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    @cached_property
    def bound(self) -> list[str]:
        """The variables that stand in a structural zero together with the trait, at the finest level named there: a partner who is
        not alike in these could fill it. Confidential ones play no part here either."""
        variables, own = self.dataset.variables, self.trait.levels
        zeros = [{c.variable for c in zero.conditions} for zero in self.dataset.structural_zeros]
        others = [name for zero in zeros if zero & set(own) for name in sorted(zero - set(own))]
        return list(cross_of([n for n in others if variables[n].role in (Role.KEY, Role.OTHER)], self.dataset))

    @property
    def alike(self) -> list[str]:
        """The variables in which a partner is alike: those of structural zeros, then those that go with the trait most closely."""
        coarsest = [self.dataset.levels(name)[0].name for name in self.bound]
        closest = [name for name in self.associations if name not in coarsest]
        return [*self.bound, *closest[: max(MATCHED - len(self.bound), 0)]]

    @property
    def loose(self) -> list[str]:
        """Those of them of which one can be left out: all but the closest, or a child would earn wages, and those of structural
        zeros."""
        closest = next(iter(self.associations), None)
        free = [name for name in self.alike if name not in self.bound]
        return [name for name in free if self.associations[name] < CLOSE or name != closest]

    @property
    def fixed(self) -> bool:
        """Whether nobody exchanges the trait, because it follows from how many people live together."""
        return self.dataset.taken(self.trait.name) is not None

    def ease(self, rows: Ints) -> Floats:
        """How easily records exchange a trait: hardly, where all who are alike in what goes with it most have the same."""
        if self.fixed:
            return np.full(len(rows), NEVER)
        share = len(self.entity.first) / max(len(self.entity.of), 1)
        if not self.alike:
            return np.full(len(rows), share)
        names = self.alike[0], self.trait.levels[0]
        counts = self.cells.counts(names)
        all_alike = counts.reshape(self.cells.size(names[:1]), -1).sum(axis=1)
        alone = counts[self.cells.of(names, rows)] == all_alike[self.cells.of(names[:1], rows)]
        return np.where(alone, HARDLY, 1.0) * share

    @property
    def finest(self) -> int:
        return len(self.trait.levels) - 1

    @property
    def flat(self) -> bool:
        """Whether the key has no class above it that holds several of its own."""
        return not self.can_stay(self.finest)

    def can_stay(self, level: int) -> bool:
        """Whether partners who differ at a level can stay in the class above, which holds several on average."""
        if level == ACROSS:
            return False
        above, own = (class_number(self.dataset.variables[name]) for name in self.trait.levels[level - 1 : level + 1])
        return own >= SEVERAL * above

    @property
    def usual(self) -> tuple[float, float]:
        """The share of records that exchange the trait wherever they are, and of those who are alone somewhere."""
        usual = 0.0 if self.fixed else self.rules.background
        if self.fixed or self.flat:
            usual *= FLAT if class_number(self.dataset.variables[self.trait.name]) > FEW else 0.0
            return usual, usual
        return usual, max(usual, self.rules.background_exposed)

    def effect(self, cross: KeyCross, level: int) -> float:
        """The share of background exchanges of the trait at a level that can change a cell of a cross: where partners differ in what
        it names and are not alike in all its other keys."""
        if self.fixed or level > self.finest:
            return 0.0
        if level != ACROSS and not (self.can_stay(level) and set(self.trait.levels[level:]) & set(cross.names)):
            return 0.0
        others = set(cross.names) - set(self.trait.levels)
        if not others <= set(self.alike):
            return 1.0
        return len(others & set(self.loose)) / max(len(self.loose), 1)

    def background(self, shares: Floats, level: int, taken: Bools) -> Ints:
        """The records of the others, not `taken` yet, that are drawn; an entity is, by the largest share among its records."""
        purpose = f"across {self.trait.name}" if level == ACROSS else f"background {self.trait.levels[level]}"
        keys, of = self.entity.keys, self.entity.of
        if self.entity.whole:
            largest = np.zeros(len(keys))
            raise_to_largest(largest, of, shares)
            shares = largest
        picked = np.zeros(len(keys), bool)
        for part in parts_of(len(keys)):
            some = np.flatnonzero(shares[part])  # of a large file hardly anybody where only small cells are raised
            picked[part][some] = drawn(keys[part][some], self.secret, purpose, shares[part][some])
        return np.flatnonzero((picked[of] if self.entity.whole else picked) & ~taken)

    def exchange(self, seekers: _Seekers) -> Exchange:
        """Partners for those who want one, from the closest match to none."""
        if self.fixed:
            return Exchange(self.trait, np.zeros(0, np.int64), np.zeros(0, np.int32), 0)
        entity, number, finest = self.entity, len(self.entity.first), len(self.trait.levels) - 1
        seeking, must = np.zeros(number, bool), np.zeros(number, bool)
        coarsest = np.full(number, finest, np.int8)
        must[entity.of[seekers.exposed]] = True
        for rows, level in ((seekers.exposed, seekers.levels), *seekers.others):
            units = entity.of[rows]
            seeking[units] = True
            np.minimum.at(coarsest, units, np.asarray(level, np.int8))
        circle = Circle(self.coded, self.trait, entity, self.alike, self.bound, self.loose, self.secret, self.scratch)
        partner = circle.partners(seeking, must, coarsest, least=self.rules.partners)
        del circle, must, coarsest
        if not entity.whole:
            rows = np.flatnonzero(partner >= 0)
            return Exchange(self.trait, rows, partner[rows], int(seeking.sum()))
        rows = np.flatnonzero((partner >= 0)[entity.of])
        return Exchange(self.trait, rows, entity.first[partner[entity.of[rows]]], int(seeking.sum()))
