"""T14 and T14c: the same questions before and after an update, and which cells changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Ints
from confide.attacks.choosing import class_secret, codes, keys, size
from confide.attacks.claims import Claims, NotApplicable, UnitTargets
from confide.attacks.counts.universes.changes import MOVED, cell_states, class_posterior
from confide.attacks.intruder import Intruder, Where, values
from confide.attacks.passing import within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["BeforeAfter", "Leavers"]

ROUNDS = 8
"""So many halves of the codes of each key are asked about."""


@dataclass(frozen=True)
class BeforeAfter:
    """Read the confidential class of people who joined the data between two versions.

    Each table of one or two keys by the confidential class is asked for of both versions, over everyone and over random
    halves of the codes of the third key. A cell that changed holds a newcomer; what a target's cells did, class by class, is
    weighed as in the attack on changed cells.

    The targets are the update, together with as many others, or as many as `updates.least` wants: a smaller one is refused or waits. A
    newcomer among many still has cells of its own.

    Tried: tables over everyone and over random halves of the third key, together. On 20,000 people under `standard` all that is
    learnt is learnt by the eighth question (84 % of 50 targets): most of the halves are refused (universe.gamma).
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "before-after"
    code: ClassVar = "T14"
    words: ClassVar = "the same tables before and after the target joined, and which cells changed"
    knows: ClassVar = "three keys of the target, that nobody else has them, and that the target is new in the data"
    update: ClassVar = "joins"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        chosen = self.keys or _coarse(book)
        if len(chosen) != 3:
            raise NotApplicable("It needs three keys.")
        wanted = UnitTargets(chosen, class_secret(book, self.secret))
        return within_rules(wanted, book, policy, given=self.keys)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted, before = self.wants(intruder.book, intruder.policy).met(intruder.known), intruder.before
        if before is None:
            raise NotApplicable("It needs two versions of the data: a site on this machine.")
        before = before.afresh()
        classes = len(codes(intruder.book, wanted.secret))
        states: list[Ints] = []
        following = 4
        for by, where, inside in _questions(intruder, wanted.keys):
            if intruder.left <= 0:
                break
            now = intruder.table(*by, wanted.secret, where=where)
            then = before.table(*by, wanted.secret, where=where) if now is not None else None
            if now is not None and then is not None:
                cells = tuple(intruder.known.places[key] for key in by)
                moved = cell_states(values(then), values(now))[cells]
                states.append(np.where(inside[:, None], moved, -1))
            if states and intruder.asked >= following:
                following = 2 * intruder.asked
                yield _claims(states, classes)
        if states:
            yield _claims(states, classes)


@dataclass(frozen=True)
class Leavers(BeforeAfter):
    """Read the confidential class of people who left the data between two versions, in the same way.

    What the later version lacks is how the leavers stood in the earlier one, protected among all who were there then; or how others
    alike stood, where those who would be told of stay as they were.

    Tried: the same tables as for newcomers. Of 20 targets of the Massachusetts extract, over twenty secrets, 27 % were read among 100
    who left and 38 % among 800 (35 % without the targets); 37 and 40 % where nobody leaves in their stead.
    """

    name: ClassVar = "leavers"
    code: ClassVar = "T14c"
    words: ClassVar = "the same tables before and after the target left, and which cells changed"
    knows: ClassVar = (
        "three keys of the target, that nobody else has them, and that the target is no longer in the data"
    )
    update: ClassVar = "leaves"


def _claims(states: list[Ints], classes: int) -> Claims:
    """The likeliest class of each target of whom some cell changed: each comparison has a state for each class."""
    seen = np.concatenate(states, axis=1)
    own = np.tile(np.eye(classes, dtype=bool), (len(states), 1))
    belief = class_posterior(seen, own[None], np.full(classes, 1 / classes))
    changed = (seen == MOVED).any(axis=1) & (belief.max(axis=1) > 1.5 / classes)
    return Claims(belief.argmax(axis=1).astype(np.float64), np.asarray(changed))


def _questions(intruder: Intruder, known: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Where, Bools]]:
    """Keys for the table, the universe, and which targets are in it: coarser questions later, for they are answered."""
    everyone = np.ones(intruder.known.size, bool)
    for number in (2, 1):
        for by in combinations(known, number):
            yield by, {}, everyone
    for _ in range(ROUNDS):
        for number in (2, 1):
            for by in combinations(known, number):
                hidden = next(key for key in known if key not in by)
                names = codes(intruder.book, hidden)
                half = intruder.rng.random(len(names)) < 0.5
                if half.any() and not half.all():
                    where = {hidden: [name for name, there in zip(names, half, strict=True) if there]}
                    yield by, where, half[intruder.known.places[hidden]]


def _coarse(book: Dataset) -> tuple[str, ...]:
    """The three finest keys; a class of theirs is seldom shared by many newcomers."""
    return tuple(v.name for v in keys(book) if size(v) > 1)[:3]
