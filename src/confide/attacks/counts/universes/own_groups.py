"""T22: groups of an intruder's own that do not nest, in the table instead of the universe."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.choosing import class_secret, codes
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.counts.keys import three_keys
from confide.attacks.counts.universes.random_universes import non_negative
from confide.attacks.intruder import Intruder, values
from confide.attacks.passing import within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.definition.definition import AllHold, Clause, Definition, InCodes, OneHolds
from confide.model.policy import Policy
from confide.model.request import TableRequest
from confide.model.universe import EVERYONE

__all__ = ["OwnGroups"]

LOOKS = (30, 60, 100, 160, 250)
"""After so many tables claims are made; the last time for good."""


@dataclass(frozen=True)
class OwnGroups:
    """Read the confidential class of people who are alone on three keys by tables of groups that the intruder makes.

    Every table is of everyone: by a variable of the intruder's own that puts each combination of two keys into one of two classes at
    random, by the third key and by the confidential class. No group nests in another, so that each combination is told by the
    differences of many; both classes of a table are a look at the same cells.

    It is random-universes (T19) by another door. It works where a variable of one's own is judged by its own few classes; judged as
    the classes it is made of, it is refused or answered as the table of these is, and reaches what that reaches.

    Tried on 10,000 people and 40 targets, under cell keys alone and a mean cell of 2 units, own classes judged by themselves (30 % by
    guessing), after 30, 60, 100 tables: groups half and half, both classes as looks: 70, 80, 82.5 %; more tables change nothing.
    Judged as what they are made of, every one of these tables is refused. Under `standard`, 110 tables, 15 targets: 13 %, less
    than by guessing.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "own-groups"
    code: ClassVar = "T22"
    words: ClassVar = (
        "tables by groups of one's own that do not nest, and least squares of cells on what they are made of"
    )
    knows: ClassVar = "three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        wanted = UnitTargets(three_keys(book, self.keys), class_secret(book, self.secret))
        return within_rules(wanted, book, policy, given=self.keys)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        first, shown, second = wanted.keys
        shape = len(codes(intruder.book, first)), len(codes(intruder.book, second))
        places = intruder.known.places
        own = np.ravel_multi_index((places[first], places[second]), shape)
        inside: list[Bools] = []
        cells: list[Floats] = []
        while len(cells) < 2 * LOOKS[-1] and not intruder.hopeless:
            drawn = intruder.rng.random(shape) < 0.5
            looks = _looks(intruder, (first, second), drawn, (shown, wanted.secret))
            if looks is not None:
                inside += [drawn.ravel(), ~drawn.ravel()]
                cells += [np.nan_to_num(look[places[shown]]) for look in looks]
                if len(cells) // 2 in LOOKS:
                    yield Claims.of(_told(np.stack(inside), np.stack(cells), own))


def _looks(intruder: Intruder, keys: tuple[str, str], drawn: Bools, by: tuple[str, str]) -> list[Floats] | None:
    """The cells of both classes of a table by a variable of one's own; None if it is refused."""
    name = "own_group"
    while name in intruder.book.variables:
        name += "_"
    request = TableRequest(
        intruder.book.name, (name, *by), (), EVERYONE, define=(_defined(name, keys, drawn, intruder.book),)
    )
    table = intruder.ask(request)
    return None if table is None else [values(table)[place] for place in (0, 1)]


def _defined(name: str, keys: tuple[str, str], drawn: Bools, book: Dataset) -> Definition:
    """Who has one of some combinations of codes: for each code of the second key, some of the first."""
    first, second = (codes(book, key) for key in keys)
    clauses: list[Clause] = []
    for place, code in enumerate(second):
        some = tuple(one for one, there in zip(first, drawn[:, place], strict=True) if there)
        if some:
            clauses.append(AllHold((InCodes(keys[1], (code,)), InCodes(keys[0], some))))
    return Definition(name, name, OneHolds(tuple(clauses)) if len(clauses) > 1 else clauses[0])


def _told(inside: Bools, cells: Floats, own: np.typing.NDArray[np.int64]) -> Floats:
    """The class of each target whose cell has most people in the target's combination."""
    looks, targets, classes = cells.shape
    held = non_negative(inside.astype(np.float64), cells.reshape(looks, -1)).reshape(-1, targets, classes)
    return np.asarray(held[own, np.arange(targets)].argmax(axis=1), np.float64)
