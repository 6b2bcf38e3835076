"""Who exchanges which key with whom: the exposed, and a share of the others, with a unit that is alike in all else.

An exposed unit exchanges a key that stands in most of the crosses that expose it, and more keys until none of these is left
as it was. Its partner differs in that key at the coarsest level at which it is exposed, and is alike in the variables that
go with the key most closely, three at most, and fewer where too few units would be left to draw from; of a number it is not far
from. Confidential variables play no part in that.

The others exchange within the class above, where a key has one, so that only fine tables change. Where that leaves small cells
as they are, more do, and across classes (`confide.records.background`): the key on which confidential numbers depend least.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.engines import Coded
from confide.model.catalog.dataset import Dataset
from confide.model.policy import RecordRules
from confide.records.background import raise_shares
from confide.records.entities import Entities, entities_of, wholes
from confide.records.exposure import Exposure, KeyCross, UnitCells, confidential_numbers
from confide.records.lots import drawn, lots
from confide.records.pairing import FURTHEST, find_partners
from confide.records.traits import Trait, class_number, matching_variables
from confide.site.secret import Secret

__all__ = ["Exchange", "plan_exchanges"]

FLAT = 0.1
"""Of a key without a coarser level, so much less is exchanged by the others: there is no class above it to stay in."""

SEVERAL = 1.5
"""A class above holds several if it holds so many on average."""

FEW = 5
"""Of such a key with at most so many classes nothing is: groups are large, and slopes would shrink."""

WITHIN, ACROSS = 0, 1
"""Two ways to exchange a key: within the class above it, which leaves coarser tables as they are, or with anybody alike."""

HARDLY = 0.01
"""What a trait counts for that nobody alike has another of, beside one that somebody has."""

ZONES = 4
"""Of a key that is a number, as age is, a partner is sought first in one of so many parts of its range: a shop that had the workers
of a steelworks would by itself change a slope by more than a standard error."""

MATCHED = 3
"""A partner is alike in at most so many variables: one alike in all would tell almost as much as the unit itself."""


CLOSE = 0.3
"""The variable that goes with a key this closely (Cramér's V) is the same for partners whatever else is not."""


@dataclass(frozen=True, eq=False)
class Exchange:
    """For each record, from which record it gets the trait; itself where it keeps its own."""

    trait: Trait
    source: Ints
    sought: int
    """How many units looked for a partner."""

    @property
    def touched(self) -> Bools:
        return np.asarray(self.source != np.arange(len(self.source)))


def plan_exchanges(
    coded: Coded, dataset: Dataset, exposure: Exposure, rules: RecordRules, secret: Secret, household: Ints | None
) -> list[Exchange]:
    """An exchange for each key: whatever order they are carried out in, the result is the same."""
    larger = list(wholes(coded, household))
    plans = [
        _Plan(coded, dataset, trait, entities_of(coded, trait, larger), rules, secret) for trait in exposure.traits
    ]
    ease = np.ones((exposure.size, len(plans)))
    for place, plan in enumerate(plans):
        ease[:, place] = plan.ease()
    wanted, level = _choose(exposure, drawn(coded.units, secret, "exchange", rules.exchange), ease)
    exposed, taken = wanted.copy(), np.asarray(wanted.any(axis=1))
    shares = _shares(plans, exposure, UnitCells(coded, dataset), rules)
    for place, plan in enumerate(plans):
        for way in WITHIN, ACROSS:
            some = plan.background(shares[way, place], way) & ~taken
            wanted[some, place] = taken[some] = True
            level[some, place] = len(plan.trait.levels) - 1 if way == WITHIN else 0
    return [plan.exchange(wanted[:, place], exposed[:, place], level[:, place]) for place, plan in enumerate(plans)]


def _shares(plans: Sequence["_Plan"], exposure: Exposure, cells: UnitCells, rules: RecordRules) -> Floats:
    """The share of records that exchange each trait in either way though no class of theirs is read.

    Raised is what harms least: what stays within the class above, then the trait on which numbers depend least.
    """
    shares = np.zeros((2, len(plans), exposure.size))
    for place, plan in enumerate(plans):
        shares[ACROSS if plan.flat else WITHIN, place] = plan.usual(exposure.single)
    rows = shares.reshape(2 * len(plans), exposure.size)
    for cross in exposure.crosses if rules.background_exposed else ():
        across = sorted(cross.traits, key=lambda t: plans[t].weight)
        ways = [*((WITHIN, t) for t in cross.traits), *((ACROSS, t) for t in across)]
        able = {way * len(plans) + t: effect for way, t in ways if (effect := plans[t].effect(cross, way))}
        if able:
            places, effects = np.array(list(able)), np.array(list(able.values()))
            raise_shares(rows, cells.of(cross.names), places, effects, rules.background_exposed)
    return shares


def _choose(exposure: Exposure, drawn: Bools, ease: Floats) -> tuple[Bools, Ints]:
    """Which traits each record is to exchange, and at which level a partner must differ: the coarsest that exposes it.

    With `ease`, a trait counts for less that a whole household has in common, or that hardly anybody alike has another of.
    """
    traits = len(exposure.traits)
    wanted = np.zeros((exposure.size, traits), bool)
    finest = [len(trait.levels) - 1 for trait in exposure.traits]
    level = np.tile(np.array(finest, np.int64), (exposure.size, 1))
    for one in exposure.found:
        for t, own in zip(one.cross.traits, one.cross.levels, strict=True):
            level[one.rows, t] = np.minimum(level[one.rows, t], own)
    while True:
        hits = np.zeros((exposure.size, traits), np.int32)
        for one in exposure.found:
            these = list(one.cross.traits)
            left = one.rows[drawn[one.rows] & ~wanted[one.rows][:, these].any(axis=1)]
            for t in these:
                hits[left, t] += 1
        rows = np.flatnonzero(hits.any(axis=1))
        if not len(rows):
            return wanted, level
        wanted[rows, (hits[rows] * ease[rows]).argmax(axis=1)] = True


@dataclass(frozen=True, eq=False)
class _Plan:
    """How one trait is exchanged by its entities."""

    coded: Coded
    dataset: Dataset
    trait: Trait
    entity: Entities
    rules: RecordRules
    secret: Secret

    @cached_property
    def associations(self) -> dict[str, float]:
        """How closely the trait goes with the variables in which a partner can be alike, the closest first."""
        first = self.entity.first
        own = self.coded.places(self.trait.levels[0])[first]
        found = {
            name: _association(own, self.coded.places(name)[first])
            for name in matching_variables(self.trait, self.dataset)
        }
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    @property
    def alike(self) -> list[str]:
        """The variables in which a partner is alike, those that go with the trait most closely first."""
        return list(self.associations)[:MATCHED]

    @property
    def loose(self) -> list[str]:
        """Those of them of which one can be left out: all but the closest, or a child would earn wages."""
        return [name for name in self.alike if self.associations[name] < CLOSE or name != self.alike[0]]

    def ease(self) -> Floats:
        """How easily each record exchanges a trait: hardly, where all who are alike in what goes with it most have the same."""
        own = self.coded.places(self.trait.levels[0])
        share = len(self.entity.first) / max(len(self.entity.of), 1)
        if not self.alike:
            return np.full(len(own), share)
        alike = self.coded.places(self.alike[0])
        cell = alike * (int(own.max(initial=0)) + 1) + own
        alone = np.bincount(cell)[cell] == np.bincount(alike)[alike]
        return np.where(alone, HARDLY, 1.0) * share

    @cached_property
    def flat(self) -> bool:
        """Whether the key has no class above it that holds several of its own."""
        classes = [class_number(self.dataset.variables[name]) for name in self.trait.levels[-2:]]
        return classes[-1] < SEVERAL * classes[0]

    def usual(self, single: Bools) -> Floats:
        """The share of records that exchange the trait wherever they are."""
        usual = self.rules.background
        if self.flat:
            flat = FLAT if class_number(self.dataset.variables[self.trait.name]) > FEW else 0.0
            return np.full(len(single), usual * flat)
        return np.where(single, max(usual, self.rules.background_exposed), usual)

    @cached_property
    def weight(self) -> float:
        """How much confidential numbers depend on the trait: the largest share of the spread of a logarithm between its classes."""
        places = self.coded.places(self.trait.levels[0])
        numbers = [self.coded.numbers(v.name) for v in confidential_numbers(self.dataset)]
        return max((_explained(values, places) for values in numbers), default=0.0)

    def effect(self, cross: KeyCross, way: int) -> float:
        """The share of background exchanges of the trait that can change a cell of a cross: where partners differ at its level
        and are not alike in all its other keys."""
        if way == WITHIN and (self.flat or self.trait.name not in cross.names):
            return 0.0
        others = set(cross.names) - set(self.trait.levels)
        if not others <= set(self.alike):
            return 1.0
        return len(others & set(self.loose)) / max(len(self.loose), 1)

    def background(self, shares: Floats, way: int) -> Bools:
        """The records of the others that are drawn; an entity is, by the largest share among its records."""
        share = np.zeros(len(self.entity.first))
        np.maximum.at(share, self.entity.of, shares)
        purpose = f"background {self.trait.name}" if way == WITHIN else f"across {self.trait.name}"
        return drawn(self.entity.keys, self.secret, purpose, share)[self.entity.of]

    def exchange(self, wanted: Bools, exposed: Bools, level: Ints) -> Exchange:
        """Partners for those who want one, from the closest match to none."""
        trait, entity, first = self.trait, self.entity, self.entity.first
        values = np.column_stack([self.coded.places(name)[first] for name in trait.levels])
        seeking = np.zeros(len(first), bool)
        seeking[entity.of[wanted]] = True
        must = np.zeros(len(first), bool)
        must[entity.of[exposed]] = True
        coarsest = np.full(len(first), len(trait.levels) - 1, np.int64)
        np.minimum.at(coarsest, entity.of[wanted], level[wanted])
        spot, aim = (lots(entity.keys, self.secret, f"{place} {trait.name}") for place in ("spot", "aim"))
        partner = np.full(len(first), -1, np.int64)
        ladder = self.ladder()
        # Whoever is to differ at a fine level stays in the class above it; only the exposed leave it where they must.
        within = [(at, _joined(group, values[:, at - 1])) for at in range(1, values.shape[1]) for group in ladder]
        # The others exchange with the closest only: a worker without an industry would be nobody that there is.
        rungs = [(group, coarsest == at) for at, group in within]
        mixed, others, near = self.mixed(), ~must & (coarsest == 0), self.near()
        rungs += [(_joined(mixed, zone), others) for zone in near] + [(mixed, others)]
        rungs += [(_joined(group, zone), must) for group in ladder[:-2] for zone in near]
        rungs += [(group, must) for group in ladder]
        for rung, (group, may) in enumerate(rungs, 1):
            left = seeking & (partner < 0) & may
            if left.any():
                free = np.where(partner < 0, group, -1)
                far = len(first) if rung == len(rungs) else FURTHEST  # nobody who is exposed stays as they are
                least = self.rules.partners
                found = find_partners(free, values, coarsest, left, spot, aim, least=least, furthest=far)
                partner = np.where(found >= 0, found, partner)
        from_entity = np.where(partner >= 0, partner, np.arange(len(first)))
        source = np.where(partner[entity.of] >= 0, first[from_entity][entity.of], np.arange(len(entity.of)))
        return Exchange(trait, source, int(seeking.sum()))

    def near(self) -> list[Ints]:
        """Zones of classes that follow each other, of a trait that is a number, and zones between these; none of any other."""
        if not self.trait.numbers:
            return []
        places, number = (values[self.entity.first] for values in (
            self.coded.places(self.trait.levels[0]), np.nan_to_num(self.coded.numbers(self.trait.numbers[0]))
        ))  # fmt: skip
        means = np.bincount(places, number) / np.maximum(np.bincount(places), 1)
        rank = np.argsort(np.argsort(means, kind="stable"), kind="stable")[places]
        width = max(2, len(means) // ZONES)
        return [rank // width, (rank + width // 2) // width]

    def mixed(self) -> Ints:
        """Groups of units alike in what goes with the trait most closely but for one variable, drawn for each: were partners
        alike in all, no table by the trait and these would ever change."""
        lot = lots(self.entity.keys, self.secret, f"left out {self.trait.name}")
        left_out = (lot * max(len(self.loose), 1)).astype(int)
        group = _joined(self.entity.kind, left_out)
        for name in self.alike:
            column = self.coded.places(name)[self.entity.first]
            number = self.loose.index(name) if name in self.loose else -1
            group = _joined(group, np.where(left_out == number, 0, column))
        return group

    def ladder(self) -> list[Ints]:
        """Groups of units alike, by fewer and fewer variables: those that go with the trait most closely stay longest."""
        groups = [self.entity.kind]
        for name in self.alike:
            groups.append(_joined(groups[-1], self.coded.places(name)[self.entity.first]))
        return [*groups[::-1], np.zeros(len(self.entity.first), np.int64)]


def _joined(group: Ints, column: Ints) -> Ints:
    """Groups parted by a column too, numbered without gaps."""
    cell = group * (int(column.max(initial=0)) + 1) + column
    if int(cell.max(initial=0)) > 8 * len(cell):
        return np.asarray(np.unique(cell, return_inverse=True)[1].ravel())
    return np.asarray(np.cumsum(np.bincount(cell) > 0)[cell] - 1)


def _association(first: Ints, second: Ints) -> float:
    """Cramér's V of two classifications."""
    width = int(second.max(initial=0)) + 1
    table = np.bincount(first * width + second, minlength=(int(first.max(initial=0)) + 1) * width).reshape(-1, width)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0].astype(np.float64)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    chi = float(((table - expected) ** 2 / expected).sum() / table.sum())
    return float(np.sqrt(chi / max(1, min(table.shape) - 1)))


def _explained(values: Floats, places: Ints) -> float:
    """The share of the variance of the logarithm of what is above 0 that lies between classes."""
    there = np.nan_to_num(values) > 0
    logs, of = np.log(values[there]), places[there]
    if not len(logs) or not logs.var():
        return 0.0
    size = np.bincount(of)
    means = np.bincount(of, logs) / np.maximum(size, 1)
    return float(means[of].var() / logs.var())
