"""D2: the same difference under many pads, each a piece of the universe that does not matter (Lucero et al. 2011, 3.1.2)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import class_secret, codes, named
from confide.attacks.claims import Claims, NotApplicable, UnitTargets
from confide.attacks.counts.keys import three_keys
from confide.attacks.counts.universes.changes import class_posterior
from confide.attacks.intruder import Intruder, values
from confide.attacks.passing import within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.universe import Piece, Universe

__all__ = ["DropPadding", "gains"]

FARTHEST = 3
"""Differences beyond this are taken as this."""

PAD = 0.3
"""About this share of the bins makes a pad: a target that is in it is not looked at."""


@dataclass(frozen=True)
class DropPadding:
    """Read the confidential class of people who are alone on three keys under pads that renew drops and noise.

    U are the people of a random half H of the confidential classes, x the bin of the target in one key, P a pad: everybody
    in some other bins. The table of the two other keys over U + P is compared with that over U - x + P. In the cell of the
    target the difference is 1 if the target is in H, else 0, but for drops and noise, and those are others under every pad.
    How often each difference is seen, with the target in H and not, is learnt along the way.

    Tried (20,000 people): (1) pads of a third variable: all refused, as three variables leave groups of one or two people.
    (2) Pads of bins of the same key: 95 % against `census-mas` in 133 questions and 97 % against `standard` in 295, kept;
    each pad makes another part of what is left of U, which has drops of its own. (3) What a cell does (same or moved) in place
    of the differences: 97 % too, but it needs cells that stay the same.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "drop-padding"
    code: ClassVar = "D2"
    words: ClassVar = "differences by the bin of the target, under many pieces that do not matter"
    knows: ClassVar = "three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        if policy.universe.pieces < 2 or policy.universe.variables < 2:
            raise NotApplicable("It needs universes of two pieces and two variables.")
        wanted = UnitTargets(three_keys(book, self.keys), class_secret(book, self.secret))
        return within_rules(wanted, book, policy, given=self.keys)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        classes = codes(intruder.book, wanted.secret)
        bins = np.unique(intruder.known.places[wanted.keys[0]])
        margin = intruder.table(wanted.secret)
        prior = np.ones(len(classes)) if margin is None else np.maximum(np.nan_to_num(values(margin)), 0.5)
        found: list[Ints] = []
        halves: list[Bools] = []
        while intruder.left > len(bins):
            half = intruder.rng.permutation(len(classes)) < (len(classes) + 1) // 2
            found.append(self._compare(intruder, wanted, half, bins))
            halves.append(half)
            made = np.stack(found, axis=1)
            belief = class_posterior(made, np.stack(halves)[None], prior / prior.sum(), start=_start())
            yield Claims(belief.argmax(axis=1).astype(np.float64), np.asarray((made >= 0).any(axis=1)))

    def _compare(self, intruder: Intruder, wanted: UnitTargets, half: Bools, bins: Ints) -> Ints:
        """What each target's cell gains by its bin, under a new pad; -1 for those in the pad or where an answer was refused."""
        known = intruder.known
        hidden, *shown = wanted.keys
        inside = named(intruder.book, wanted.secret, half)
        padded = _pad(intruder.rng, len(codes(intruder.book, hidden)))
        pad = Piece.of({hidden: named(intruder.book, hidden, padded)})
        gained = np.full(known.size, -1)
        whole = intruder.table(*shown, where=Universe((Piece.of({wanted.secret: inside}), pad)))
        if whole is None:
            return gained
        cells = tuple(known.places[key] for key in shown)
        for bin in bins[~padded[bins]]:
            rest = named(intruder.book, hidden, np.arange(len(padded)) != bin)
            part = intruder.table(*shown, where=Universe((Piece.of({wanted.secret: inside, hidden: rest}), pad)))
            if part is not None:
                gained = np.where(known.places[hidden] == bin, gains(values(whole), values(part))[cells], gained)
        return gained


def gains(first: Floats, second: Floats) -> Ints:
    """The difference of each cell, numbered from 0 for the least; the last number is for cells that are zero both times."""
    seen = np.isfinite(first) & np.isfinite(second)
    difference = np.clip(np.where(seen, first - second, 0.0), -FARTHEST, FARTHEST).astype(np.int64)
    unseen = ~seen | ((first == 0) & (second == 0))
    return np.where(unseen, 2 * FARTHEST + 1, difference + FARTHEST)


def _start() -> Floats:
    """Before anything was learnt: differences near 0 with the target out, near 1 with the target in."""
    steps = np.arange(-FARTHEST, FARTHEST + 1)
    chance = np.exp(-np.abs(steps[None] - np.array([[0], [1]])))
    return np.asarray(np.hstack([0.7 * chance / chance.sum(axis=1, keepdims=True), [[0.3], [0.3]]]))


def _pad(rng: np.random.Generator, bins: int) -> Bools:
    """Which bins are in a pad."""
    return np.asarray(rng.permutation(bins) < max(1, round(PAD * bins)))
