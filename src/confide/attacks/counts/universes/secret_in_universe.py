"""T18: the confidential variable in the universe, the keys in the table, one bin of a key left out and put back."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import class_secret, codes
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.counts.keys import by_use
from confide.attacks.counts.universes.changes import cell_states, class_posterior
from confide.attacks.intruder import Intruder, values
from confide.attacks.passing import within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["SecretInUniverse", "moved_in_half", "random_half"]


@dataclass(frozen=True)
class SecretInUniverse:
    """Read the confidential class of people who are alone on a few keys.

    For random halves H of the confidential classes, the table of two keys over H is compared with the same table without one
    bin of another key. The cell of a target in that bin moves if, and hardly unless, the target's class is in H.

    Tried: (1) all bins but one against all bins, one question a bin and half serves all targets: kept. (2) One bin alone
    against none: universes too small, refused. (3) Fixed binary codes of the classes instead of random halves: fewer
    questions where nothing is dropped, but no second look at an unlucky half.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "secret-in-universe"
    code: ClassVar = "T18"
    words: ClassVar = "the confidential class in the universe, keys in the table, one bin in and out"
    knows: ClassVar = "three keys of the target, or a few more, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        found = by_use(book, self.keys)
        more = found[3 : policy.tables.dimensions + 1]
        wanted = UnitTargets(found[:3], class_secret(book, self.secret), more=more)
        return within_rules(wanted, book, policy, given=self.keys)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        classes = codes(intruder.book, wanted.secret)
        bins = np.unique(next(iter(intruder.known.places.values())))
        margin = intruder.table(wanted.secret)
        prior = np.ones(len(classes)) if margin is None else np.maximum(np.nan_to_num(values(margin)), 0.5)
        states: list[Ints] = []
        halves: list[Bools] = []
        while intruder.left > len(bins):
            half = random_half(intruder.rng, len(classes))
            states.append(moved_in_half(intruder, wanted, half, bins))
            halves.append(half)
            belief = class_posterior(np.stack(states, 1), np.stack(halves)[None], prior / prior.sum())
            yield _claims(belief, np.stack(states, 1))


def moved_in_half(
    intruder: Intruder, wanted: UnitTargets, half: Bools, bins: Ints, *, measure: tuple[str, ...] = ("count",)
) -> Ints:
    """What each target's cell does when its bin is left out of the universe of this half of the classes; -1 if unasked."""
    book, known = intruder.book, intruder.known
    hidden, *shown = known.places
    inside = [code for code, there in zip(codes(book, wanted.secret), half, strict=True) if there]
    state = np.full(known.size, -1)
    whole = intruder.table(*shown, where={wanted.secret: inside}, measure=measure)
    if whole is None:
        return state
    cells = tuple(known.places[key] for key in shown)
    every = codes(book, hidden)
    for bin in bins:
        rest = [code for place, code in enumerate(every) if place != bin]
        part = intruder.table(*shown, where={wanted.secret: inside, hidden: rest}, measure=measure)
        if part is not None:
            moved = cell_states(values(whole), values(part))[cells]
            state = np.where(known.places[hidden] == bin, moved, state)
    return state


def random_half(rng: np.random.Generator, classes: int) -> Bools:
    """A random half of the classes."""
    return np.asarray(rng.permutation(classes) < (classes + 1) // 2)


def _claims(belief: Floats, states: Ints) -> Claims:
    """The likeliest class of every target whose cell was looked at."""
    return Claims(belief.argmax(axis=1).astype(np.float64), np.asarray((states >= 0).any(axis=1)))
