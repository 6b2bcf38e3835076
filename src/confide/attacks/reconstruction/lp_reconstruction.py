"""D1: counts over many overlapping universes, and the linear program that explains them best (Dinur and Nissim 2003)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.choosing import class_secret, codes, named
from confide.attacks.claims import Claims, Units
from confide.attacks.counts.keys import three_keys
from confide.attacks.intruder import Intruder, values
from confide.attacks.reconstruction.least_error import least_error
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["LinearPrograms"]

SETS = 2.0
"""So many universes for each bin of the first key: with fewer, the program has too little to hold on to."""


@dataclass(frozen=True)
class LinearPrograms:
    """Read the confidential class of people who are alone on three keys by reconstructing who is in each bin.

    For a random half H of the confidential classes, the table of two keys is asked over H and many random sets of bins of
    the third key. In the cell of a target the numbers of people in H in each bin are unknown, and at most 1 in the
    target's own. Those that explain all published counts with the least absolute error say whether the target is in H.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "lp-reconstruction"
    code: ClassVar = "D1"
    words: ClassVar = "counts over many overlapping universes, explained with the least error"
    knows: ClassVar = "three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> Units:
        return Units(three_keys(book, self.keys), class_secret(book, self.secret))

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy)
        classes = codes(intruder.book, wanted.secret)
        margin = intruder.table(wanted.secret)
        prior = np.ones(len(classes)) if margin is None else np.maximum(np.nan_to_num(values(margin)), 0.5)
        sets = int(SETS * len(codes(intruder.book, wanted.keys[0])))
        bits: list[Floats] = []
        halves: list[Bools] = []
        while intruder.left >= sets:
            half = intruder.rng.permutation(len(classes)) < (len(classes) + 1) // 2
            found = self._bits(intruder, wanted, half, sets)
            if found is not None:
                bits.append(found)
                halves.append(half)
                yield _claims(np.stack(bits), np.stack(halves), prior / prior.sum())

    def _bits(self, intruder: Intruder, wanted: Units, half: Bools, sets: int) -> Floats | None:
        """How much of each target is in this half of the classes; None if too little was answered."""
        known = intruder.known
        hidden, *shown = wanted.keys
        inside = named(intruder.book, wanted.secret, half)
        bins = codes(intruder.book, hidden)
        asked: list[Bools] = []
        counts: list[Floats] = []
        for _ in range(sets):
            some = intruder.rng.random(len(bins)) < 0.5
            chosen = named(intruder.book, hidden, some)
            table = intruder.table(*shown, where={wanted.secret: inside, hidden: chosen}) if chosen else None
            if table is not None:
                asked.append(some)
                counts.append(values(table)[tuple(known.places[key] for key in shown)])
        if len(asked) < len(bins):
            return None
        own = np.arange(len(bins)) == known.places[hidden][:, None]
        found = least_error(np.stack(asked), np.stack(counts, axis=1), np.where(own, 1.0, np.inf))
        return np.asarray(found[own])


def _claims(bits: Floats, halves: Bools, prior: Floats) -> Claims:
    """The class that lies in the halves the target is in, weighed by the spread of the bits, learnt along the way."""
    belief = np.tile(prior, (bits.shape[1], 1))
    for _ in range(20):
        expected = halves.T[None].astype(np.float64)
        squares = ((bits.T[:, None, :] - expected) ** 2).sum(axis=2)
        spread = max(float((belief * squares).sum()) / bits.size, 0.01)
        log = np.log(prior) - squares / (2 * spread)
        belief = np.exp(log - log.max(axis=1, keepdims=True))
        belief /= belief.sum(axis=1, keepdims=True)
    return Claims.of(belief.argmax(axis=1))
