"""T10: zeros. A published zero proves absence; a class is left over where all others are zero."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import class_secret, codes
from confide.attacks.claims import Claims, Units
from confide.attacks.counts.cell_facts import Schedule
from confide.attacks.counts.changes import MOVED, SAME, class_posterior
from confide.attacks.counts.pairs import table_keys
from confide.attacks.intruder import Intruder, values
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["Zeros"]

MOST, SURE = 50, 0.5


@dataclass(frozen=True)
class Zeros:
    """Claim the confidential class of people for whom every other class is ruled out by a zero.

    Tables of the keys, all three and two at a time, over one confidential class or a random half of them. Where the target's
    cell is zero, its class is not among them. How far a zero is to be trusted, since small counts are moved to zero, and
    how often other people fill a cell, is learnt for each table along the way.

    Under `standard` tables.sparsity refuses those tables in which a cell is one person, and in the others a cell is
    seldom zero; what is learnt there is not more than the guess.

    Tried: (1) the confidential variable in the table: refused, a whole group falls into one class; (2) in the universe, class
    by class, and the class with the fewest zeros: certain where zeros are true, else no better than the guess; (3) random
    halves of the classes and a few bins of the third key in the universe: refused by universe.remainder; (4) classes and
    halves, weighted by what each table's zeros are worth: kept.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "zeros"
    code: ClassVar = "T10"
    words: ClassVar = "published zeros rule out all classes but one"
    knows: ClassVar = "three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> Units:
        return Units(self.keys or table_keys(book), class_secret(book, self.secret))

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy)
        classes, schedule = len(codes(intruder.book, wanted.secret)), Schedule(intruder)
        tables = [_Table(by) for by in (wanted.keys, *itertools.combinations(wanted.keys, 2))]
        for half in itertools.islice(_sets(intruder.rng, classes), MOST):
            if intruder.left < len(tables):
                break
            for table in tables:
                table.ask(intruder, wanted.secret, half)
            if schedule.due(len(tables)):
                yield _claims(tables, intruder.known.size, classes)
        yield _claims(tables, intruder.known.size, classes)


def _claims(tables: Sequence["_Table"], targets: int, classes: int) -> Claims:
    """The class that is likelier than all others together, by all tables."""
    belief = np.ones((targets, classes))
    for table in tables:
        belief = belief * table.belief(classes)
    belief /= np.maximum(belief.sum(axis=1, keepdims=True), 1e-300)
    return Claims(belief.argmax(axis=1).astype(np.float64), np.asarray(belief.max(axis=1) > SURE))


def _sets(rng: np.random.Generator, classes: int) -> Iterator[Bools]:
    """Every class by itself, then random halves of them."""
    yield from np.eye(classes, dtype=bool)
    while True:
        yield np.asarray(rng.permutation(classes) < (classes + 1) // 2)


@dataclass(frozen=True)
class _Table:
    """A table by some keys over several sets of classes, and what was zero in it."""

    by: tuple[str, ...]
    sets: list[Bools] = field(default_factory=list)
    states: list[Ints] = field(default_factory=list)

    def ask(self, intruder: Intruder, secret: str, inside: Bools) -> None:
        """Whether the cells of the targets are zero among the people of these classes."""
        named = [code for code, there in zip(codes(intruder.book, secret), inside, strict=True) if there]
        table = intruder.table(*self.by, where={secret: named})
        if table is not None:
            counts = values(table)[tuple(intruder.known.places[key] for key in self.by)]
            self.sets.append(inside)
            self.states.append(np.where(counts > 0, MOVED, SAME))

    def belief(self, classes: int) -> Floats:
        """How likely each class is for each target by this table alone."""
        even = np.full(classes, 1 / classes)
        if not self.sets:
            return even[None]
        return class_posterior(np.stack(self.states, axis=1), np.stack(self.sets)[None], even)
