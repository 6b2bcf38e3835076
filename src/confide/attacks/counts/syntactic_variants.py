"""T13: syntactic variants. The same units through different words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.choosing import codes, keys
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.counts.cell_facts import cell_facts
from confide.attacks.intruder import Intruder, Where, values
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.policy import Policy

__all__ = ["SyntacticVariants"]


@dataclass(frozen=True)
class SyntacticVariants:
    """Find true counts by asking for the same people in different words, and averaging if the answers differ.

    Words: a class, all its parts on a finer level, all but those of other classes, the parts in two pieces, pieces that
    overlap, the class with a condition that everybody meets.

    Against every policy of Confide it fails: keys and drops belong to the set of units, and a universe is brought to one
    form before anything is drawn. It works where noise depends on the words of a question.

    Tried: (1) the order of codes and pieces: lost when a question is read; (2) levels of a hierarchy, and pieces: kept;
    (3) conditions that everybody meets and pieces within other pieces: kept. (For sets that are the same only in the data,
    see words-for-a-set.)
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "syntactic-variants"
    code: ClassVar = "T13"
    words: ClassVar = "the same units through different words, averaged"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        self._keys(book)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        coarse, fine, shown = self._keys(intruder.book)
        facts: list[SetFact] = []
        answers: list[Floats] = []
        for code in codes(intruder.book, coarse.name):
            ways = list(_ways(intruder.book, coarse, fine, shown, code))
            if intruder.left < len(ways):
                break
            found = [values(table) for way in ways if (table := intruder.table(shown, where=way)) is not None]
            if found:
                facts += cell_facts(intruder.book, [shown], {coarse.name: [code]})
                answers.append(np.stack(found))
                yield Claims(*_averaged(answers), tuple(facts), np.concatenate([found[0] for found in answers]))

    def _keys(self, book: Dataset) -> tuple[Variable, Variable, str]:
        layered = [book.levels(v.name) for v in keys(book) if not v.binned and len(book.levels(v.name)) > 1]
        flat = [v.name for v in keys(book) if not v.binned and len(book.levels(v.name)) == 1]
        if not layered or not flat:
            raise NotApplicable("It needs a key of several levels, and another.")
        return layered[0][0], layered[0][1], self.keys[0] if self.keys else flat[-1]


def _ways(book: Dataset, coarse: Variable, fine: Variable, shown: str, code: str) -> Iterator[Where]:
    """Universes in different words, all of the people of one class."""
    lifted = book.lift(fine.name, coarse.name)
    parts = [c for c, up in zip(codes(book, fine.name), lifted, strict=True) if codes(book, coarse.name)[up] == code]
    yield {coarse.name: [code]}
    yield {fine.name: parts}
    yield {coarse.name: [code], fine.name: parts}
    yield [{fine.name: parts[:1]}, {fine.name: parts[1:]}] if len(parts) > 1 else {fine.name: parts}
    yield [{coarse.name: [code]}, {fine.name: parts[:1]}]
    yield {coarse.name: [code], shown: codes(book, shown)}


def _averaged(answers: list[Floats]) -> tuple[Floats, Bools]:
    """The mean of the answers for every cell, claimed where they differ."""
    mean = np.concatenate([found.mean(axis=0) for found in answers])
    differ = np.concatenate([(found != found[0]).any(axis=0) for found in answers])
    return np.rint(mean), differ
