"""T10: zeros. A published zero proves absence; a class is left over where all others are zero."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.choosing import codes
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.counts.alone import AloneOnKeys
from confide.attacks.counts.cell_facts import Schedule
from confide.attacks.intruder import Intruder, values

__all__ = ["Zeros"]

MOST = 60


@dataclass(frozen=True)
class Zeros(AloneOnKeys):
    """Claim the confidential class of people for whom every other class is ruled out by a zero.

    The table of the keys over each confidential class, and over random halves of them. The target is alone in its cell, so
    a zero says that its class is not among them, and anything else that it is. Where small counts are moved to zero a
    cell of one person shows always or never, since the same person has the same key: nothing is claimed of those who
    never show.

    Tried, under `standard`: (1) one class at a time: refused as sparse; (2) two keys at a time: a cell with other people in it is
    seldom zero; (3) a few bins of the third key in the universe: refused by the remainder; (4) learning how far zeros can
    be trusted for all targets together: misled, as one target's zeros are all true or all false; (5) random halves, and
    the class that fits all of them: kept, 37 % claimed, and every claim right.
    """

    name: ClassVar = "zeros"
    code: ClassVar = "T10"
    words: ClassVar = "published zeros rule out all classes but one"

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        classes, schedule = len(codes(intruder.book, wanted.secret)), Schedule(intruder)
        sets: list[Bools] = []
        shows: list[Bools] = []
        for inside in itertools.islice(_sets(intruder.rng, classes), MOST):
            if intruder.left < 1:
                break
            counts = _counts(intruder, wanted, inside)
            if counts is not None:
                sets.append(inside)
                shows.append(np.asarray(counts > 0))
            if sets and schedule.due(1):
                yield _fitting(np.stack(sets), np.stack(shows))
        if sets:
            yield _fitting(np.stack(sets), np.stack(shows))


def _sets(rng: np.random.Generator, classes: int) -> Iterator[Bools]:
    """Every class by itself, then random halves of them."""
    yield from np.eye(classes, dtype=bool)
    while True:
        yield np.asarray(rng.permutation(classes) < (classes + 1) // 2)


def _counts(intruder: Intruder, wanted: UnitTargets, inside: Bools) -> Floats | None:
    """The published counts of the targets' cells among the people of some classes."""
    named = [code for code, there in zip(codes(intruder.book, wanted.secret), inside, strict=True) if there]
    table = intruder.table(*wanted.keys, where={wanted.secret: named})
    return None if table is None else values(table)[tuple(intruder.known.places[key] for key in wanted.keys)]


def _fitting(sets: Bools, shows: Bools) -> Claims:
    """The class of each target that shows at all, if one class fits what it did in more of the sets than any other."""
    fits = (shows[:, :, None] == sets[:, None, :]).sum(axis=0)
    best = fits.max(axis=1, keepdims=True)
    only = ((fits == best).sum(axis=1) == 1) & shows.any(axis=0)
    return Claims(fits.argmax(axis=1).astype(np.float64), np.asarray(only))
