"""T18: the confidential variable in the universe, the keys in the table, one bin of a key left out and put back."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import class_secret, codes, keys, size
from confide.attacks.claims import Claims, NotApplicable, Units
from confide.attacks.counts.changes import cell_states, class_posterior
from confide.attacks.intruder import Intruder, values
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["SecretInUniverse"]


@dataclass(frozen=True)
class SecretInUniverse:
    """Read the confidential class of people who are alone on three keys.

    For random halves H of the confidential classes, the table of two keys over H is compared with the same table without one
    bin of the third key. The cell of a target in that bin moves if, and hardly unless, the target's class is in H.

    Tried: (1) all bins but one against all bins, one question a bin and half serves all targets: kept. (2) One bin alone
    against none: universes too small, refused. (3) Fixed binary codes of the classes instead of random halves: fewer
    questions where nothing is dropped, but no second look at an unlucky half.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "secret-in-universe"
    code: ClassVar = "T18"
    words: ClassVar = "the confidential class in the universe, keys in the table, one bin in and out"
    knows: ClassVar = "three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> Units:
        chosen = self.keys or _three(book)
        if len(chosen) != 3:
            raise NotApplicable("It needs three keys: one to leave bins out of, two for the table.")
        return Units(chosen, class_secret(book, self.secret))

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy)
        hidden, *shown = wanted.keys
        classes = codes(intruder.book, wanted.secret)
        bins = np.unique(intruder.known.places[hidden])
        margin = intruder.table(wanted.secret)
        prior = np.ones(len(classes)) if margin is None else np.maximum(np.nan_to_num(values(margin)), 0.5)
        states: list[Ints] = []
        halves: list[Bools] = []
        while intruder.left > len(bins):
            half = _half(intruder.rng, len(classes))
            states.append(self._compare(intruder, hidden, shown, wanted.secret, half, bins))
            halves.append(half)
            belief = class_posterior(np.stack(states, 1), np.stack(halves)[None], prior / prior.sum())
            yield _claims(belief, np.stack(states, 1))

    def _compare(self, intruder: Intruder, hidden: str, shown: list[str], secret: str, half: Bools, bins: Ints) -> Ints:
        """What each target's cell does when its bin is left out of the universe of this half."""
        book, known = intruder.book, intruder.known
        inside = [code for code, there in zip(codes(book, secret), half, strict=True) if there]
        state = np.full(known.size, -1)
        whole = intruder.table(*shown, where={secret: inside})
        if whole is None:
            return state
        cells = tuple(known.places[key] for key in shown)
        every = codes(book, hidden)
        for bin in bins:
            rest = [code for place, code in enumerate(every) if place != bin]
            part = intruder.table(*shown, where={secret: inside, hidden: rest})
            if part is not None:
                moved = cell_states(values(whole), values(part))[cells]
                state = np.where(known.places[hidden] == bin, moved, state)
        return state


def _three(book: Dataset) -> tuple[str, ...]:
    """A number in bins to leave one out of, if there is one, and the finest and the coarsest other keys for the table."""
    found = keys(book)
    binned = [v for v in found if v.binned and size(v) > 3] or found
    others = [v for v in found if v is not binned[0]] if found else []
    if len(others) < 2:
        raise NotApplicable("It needs three keys: one to leave bins out of, two for the table.")
    return binned[0].name, others[0].name, others[-1].name


def _half(rng: np.random.Generator, classes: int) -> Bools:
    """A random half of the classes."""
    return np.asarray(rng.permutation(classes) < (classes + 1) // 2)


def _claims(belief: Floats, states: Ints) -> Claims:
    """The likeliest class of every target whose cell was looked at."""
    return Claims(belief.argmax(axis=1).astype(np.float64), np.asarray((states >= 0).any(axis=1)))
