"""T2b: padding. The same difference under many pads that do not matter, averaged."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import class_secret
from confide.attacks.claims import Claims, Units
from confide.attacks.counts.pairs import Pairs, table_keys
from confide.attacks.intruder import Intruder
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["Padding"]


@dataclass(frozen=True)
class Padding:
    """Read the confidential class of people who are alone on three keys by averaging what their bin adds to each class.

    As differencing, but a pad of other bins is drawn anew for every pair, so that all cells of the target's row hold other
    people each time, and only the mean of the differences is looked at: 1 in the class of the target, 0 in others. It needs
    no cell to stay the same, so noise that is keyed on the whole universe does not stop it.

    Tried: (1) the plain mean of the differences: right less often, since cells of many people are as noisy as those of few;
    (2) the mean with each difference cut off at the reach of the noise: the same; (3) differences weighted by how often the
    class moves less in the rows of others: kept, as the law of the noise is the same for every cell but a cell that is
    zero both times is not noisy at all.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "padding"
    code: ClassVar = "T2b"
    words: ClassVar = "differences by the bin of the target under many irrelevant pads, averaged"
    knows: ClassVar = "three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> Units:
        return Units(self.keys or table_keys(book), class_secret(book, self.secret))

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy)
        hidden, *shown = wanted.keys
        pairs = Pairs(intruder, hidden, tuple(shown), wanted.secret)
        found: list[Floats] = []
        while intruder.left > len(pairs.bins):
            found.append(pairs.compare(pairs.half()).gained)
            yield averaged(np.stack(found, axis=1))


def averaged(gained: Floats) -> Claims:
    """The class with the largest mean difference; `gained` has targets, pairs and classes for axes."""
    seen = np.isfinite(gained)
    times = np.maximum(seen.sum(axis=1), 1)
    mean = np.where(seen, gained, 0.0).sum(axis=1) / times
    return Claims(mean.argmax(axis=1).astype(np.float64), np.asarray(seen.any(axis=(1, 2))))
