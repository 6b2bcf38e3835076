"""T21: a cross that the rules let pass, read until its cells are known exactly."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import class_secret, codes
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.counts.keys import table_keys
from confide.attacks.counts.universes.exchanged import best_classes
from confide.attacks.intruder import Intruder, values
from confide.attacks.passing import candidates, within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["PassingCross", "protected_cells"]

LOOKS = (60, 120, 250, 500, 900)
"""After so many tables claims are made; the last time for good."""


@dataclass(frozen=True)
class PassingCross:
    """Read the confidential class of people who are alone on a few keys whose cross with it is answered.

    The table of the other keys and the class over random halves of the codes of one key, and least squares: every half has
    noise of its own, so that all cells of the cross are known exactly in the end, as they stand in the records that
    the site answers from. No question tells more than those records. What they say of somebody whose record exchanged
    a key is then weighed by who knows the rules of the exchange.

    Tried, on 20,000 people under `standard`: see the figures beside the ceiling in `limits.md`. (1) The commonest class of the
    record under the keys alone: worse than guessing, for it is another's. (2) All who share all keys but one. (3) A mixture of
    all choices of keys, weights learnt on invented records: whichever does best on other invented records is kept.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "passing-cross"
    code: ClassVar = "T21"
    words: ClassVar = "all cells of a cross that passes, by least squares over random halves, read knowing the exchange"
    knows: ClassVar = "two to four keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        wanted = UnitTargets(self.keys or table_keys(book), class_secret(book, self.secret))
        every = candidates(book)
        among = (every, every, (*every, ""), (*every, ""))
        return within_rules(wanted, book, policy, given=self.keys, among=among)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        places = np.stack([intruder.known.places[key] for key in wanted.keys])
        for cells in protected_cells(intruder, wanted):
            yield Claims.of(best_classes(cells, places, intruder.policy.records, np.random.default_rng(1)))


def protected_cells(intruder: Intruder, wanted: UnitTargets) -> Iterator[Ints]:
    """The cells of the cross by keys and class, better and better known."""
    at = int(np.argmax([len(codes(intruder.book, key)) for key in wanted.keys]))
    hidden, shown = wanted.keys[at], wanted.keys[:at] + wanted.keys[at + 1 :]
    bins = codes(intruder.book, hidden)
    halves: list[Bools] = []
    tables: list[Floats] = []
    while len(tables) < LOOKS[-1] and intruder.left and not intruder.hopeless:
        half = intruder.rng.random(len(bins)) < 0.5
        table = (
            intruder.table(*shown, wanted.secret, where={hidden: list(compress(bins, half))}) if half.any() else None
        )
        if table is not None:
            halves.append(half)
            tables.append(np.nan_to_num(values(table)))
        if table is not None and (len(tables) in LOOKS or not intruder.left):
            yield np.moveaxis(_solved(np.stack(halves), np.stack(tables)), 0, at)


def _solved(halves: Bools, tables: Floats) -> Ints:
    """Whole people in each bin of each cell."""
    design = halves.astype(np.float64)
    found = np.linalg.lstsq(design, tables.reshape(len(tables), -1), rcond=None)[0]
    return np.asarray(np.maximum(np.rint(found), 0).astype(np.int64).reshape(-1, *tables.shape[1:]))
