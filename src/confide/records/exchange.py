"""Who exchanges which key with whom: the exposed, and a share of the others, with a unit that is alike in all else.

The others stay within the class above, where a key has one: then only fine tables change, whose counts would else be exact.
More of them do who are alone where numbers are read and not classes: all numbers of a record together tell what the noise of each
hides, so that it must not be certain whose record stands under somebody's keys.

An exposed unit exchanges a key that stands in most of the crosses that expose it, and more keys until none of these is left
as it was. Its partner differs in that key at the coarsest level at which it is exposed, and is alike in the variables that
go with the key most closely, three at most, and fewer where too few units would be left to draw from. Confidential variables
play no part.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.engines import Coded
from confide.model.catalog.dataset import Dataset
from confide.model.policy import RecordRules
from confide.records.exposure import Exposure
from confide.records.lots import drawn, lots
from confide.records.pairing import FURTHEST, find_partners
from confide.records.traits import Trait, class_number, matching_variables
from confide.site.secret import Secret

__all__ = ["Exchange", "plan_exchanges"]

FLAT = 0.1
"""Of a key without a coarser level, so much less is exchanged by the others: there is no class above it to stay in."""

FEW = 5
"""Of such a key with at most so many classes nothing is: groups are large, and slopes would shrink."""

HARDLY = 0.01
"""What a trait counts for that nobody alike has another of, beside one that somebody has."""

MATCHED = 3
"""A partner is alike in at most so many variables: one alike in all would tell almost as much as the unit itself."""


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
    wholes = list(_wholes(coded, household))
    plans = [_Plan(coded, dataset, trait, _entities(coded, trait, wholes), rules, secret) for trait in exposure.traits]
    ease = np.ones((exposure.size, len(plans)))
    for place, plan in enumerate(plans):
        ease[:, place] = plan.ease()
    wanted, level = _choose(exposure, drawn(coded.units, secret, "exchange", rules.exchange), ease)
    exposed, taken = wanted.copy(), np.asarray(wanted.any(axis=1))
    for place, plan in enumerate(plans):
        some = plan.background(exposure.single) & ~taken
        wanted[some, place] = taken[some] = True
    return [plan.exchange(wanted[:, place], exposed[:, place], level[:, place]) for place, plan in enumerate(plans)]


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
    entity: "_Entities"
    rules: RecordRules
    secret: Secret

    @cached_property
    def closest(self) -> list[str]:
        """The variables in which a partner can be alike, those that go with the trait most closely first."""
        first = self.entity.first
        own = self.coded.places(self.trait.levels[0])[first]
        others = matching_variables(self.trait, self.dataset)
        return sorted(others, key=lambda name: -_association(own, self.coded.places(name)[first]))

    def ease(self) -> Floats:
        """How easily each record exchanges a trait: hardly, where all who are alike in what goes with it most have the same."""
        own = self.coded.places(self.trait.levels[0])
        share = len(self.entity.first) / max(len(self.entity.of), 1)
        if not self.closest:
            return np.full(len(own), share)
        alike = self.coded.places(self.closest[0])
        cell = alike * (int(own.max(initial=0)) + 1) + own
        alone = np.bincount(cell)[cell] == np.bincount(alike)[alike]
        return np.where(alone, HARDLY, 1.0) * share

    def background(self, single: Bools) -> Bools:
        """The records of a share of the others; of more of those with the numbers of somebody who is alone."""
        read = np.zeros(len(self.entity.first), bool)
        read[self.entity.of[single]] = True
        usual = self.rules.background
        share = np.where(read, max(usual, self.rules.background_exposed), usual)
        if len(self.trait.levels) == 1:
            share *= FLAT if class_number(self.dataset.variables[self.trait.name]) > FEW else 0.0
        return drawn(self.entity.keys, self.secret, f"background {self.trait.name}", share)[self.entity.of]

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
        rungs += [(group, must | (rung == 0 and values.shape[1] == 1)) for rung, group in enumerate(ladder)]
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

    def ladder(self) -> list[Ints]:
        """Groups of units alike, by fewer and fewer variables: those that go with the trait most closely stay longest."""
        groups = [self.entity.kind]
        for name in self.closest[:MATCHED]:
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


@dataclass(frozen=True, eq=False)
class _Entities:
    """What exchanges as a whole: records, units, or households. `of` numbers each record's, `first` is one record of each,
    `keys` name them to the secret, and `kind` parts those that may not exchange with each other."""

    of: Ints
    first: Ints
    keys: Ints
    kind: Ints


def _wholes(coded: Coded, household: Ints | None) -> Iterator[_Entities]:
    """What may exchange as a whole: households, and units that have several records."""
    for names in (household, coded.units if coded.facts.several else None):
        if names is not None:
            keys, first, of, sizes = np.unique(names, return_index=True, return_inverse=True, return_counts=True)
            yield _Entities(of, first, keys, np.minimum(sizes, 8))


def _entities(coded: Coded, trait: Trait, wholes: Sequence[_Entities]) -> _Entities:
    """Households where the trait is the same for all who live in one; else units, if it is for all their records."""
    values = coded.places(trait.name)
    for whole in wholes:
        if (values == values[whole.first][whole.of]).all():
            return whole
    rows = np.arange(len(values))
    keys = coded.units if not coded.facts.several else np.asarray(coded.units ^ coded.records["key"].to_numpy())
    return _Entities(rows, rows, keys, np.zeros(len(values), np.int64))
