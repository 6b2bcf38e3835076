"""R3b: rank correlations of indicators of one's own are cells of a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, confidential, keys, size
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.model.catalog.dataset import Dataset
from confide.model.choices import CorrelationMethod
from confide.model.definition.definition import Definition, InCodes, OwnClass
from confide.model.policy import Policy
from confide.model.request import CorrelationRequest

__all__ = ["DummyRanks"]

MOST_CLASSES = 30


@dataclass(frozen=True)
class DummyRanks:
    """Read the counts of a two-way table from rank correlations of indicators that the intruder defines.

    Ranks of a yes or no are the yes or no: the share of a cell is p q + r sqrt(p (1-p) q (1-q)), as in R3. An indicator of several
    classes at once is another question about the same cell, whose answers might be averaged.

    Against Confide it fails: r comes from the table of both indicators, with the protected counts of the classes they are made of.

    Tried: (1) each cell by its own indicators; (2) with a class more in one of them, less what that class has, averaged: kept.
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "dummy-ranks"
    code: ClassVar = "R3b"
    words: ClassVar = "a table from rank correlations of indicators of one's own"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        if len(self._variables(book)) < 2:
            raise NotApplicable("It needs two variables with three classes or more.")
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        found: list[tuple[float, float, SetFact]] = []
        for pair in combinations(self._variables(intruder.book), 2):
            found += _read(intruder, pair)
            if found:
                claimed, guesses, facts = zip(*found, strict=True)
                yield Claims.of(np.array(claimed), facts=facts, guesses=np.array(guesses))

    def _variables(self, book: Dataset) -> list[str]:
        roots = dict.fromkeys(book.root(v.name) for v in (*confidential(book), *keys(book)) if v.classifies)
        few = [n for n in roots if 2 < size(book.variable(n)) <= MOST_CLASSES and not book.variable(n).binned]
        return list(self.keys) or sorted(few, key=lambda name: size(book.variable(name)))[:4]


def _read(intruder: Intruder, pair: tuple[str, str]) -> list[tuple[float, float, SetFact]]:
    """Of each cell: what is claimed, what the table says or what independence would, and what of."""
    both, margins = intruder.table(*pair), [intruder.table(name) for name in pair]
    if margins[0] is None or margins[1] is None:
        return []
    rows, columns = (np.nan_to_num(values(table)) for table in margins if table is not None)
    published = np.round(np.outer(rows, columns) / rows.sum()) if both is None else np.nan_to_num(values(both))
    found: list[tuple[float, float, SetFact]] = []
    for i, j in np.ndindex(published.shape):
        # A second look has the largest other class too, which is taken away again.
        more = int(np.argmax(np.where(np.arange(len(columns)) == j, -1.0, columns)))
        if intruder.left < 2:
            break
        looks = [_cell(intruder, pair, (i, some), (rows, columns)) for some in ((j,), (j, more))]
        seen = [look - less for look, less in zip(looks, (0.0, published[i, more]), strict=True) if look is not None]
        if seen:
            own = {name: (codes(intruder.book, name)[at],) for name, at in zip(pair, (i, j), strict=True)}
            found.append((max(round(float(np.mean(seen))), 0), float(published[i, j]), SetFact(universe(own))))
    return found


def _cell(
    intruder: Intruder, names: tuple[str, str], cell: tuple[int, tuple[int, ...]], counts: tuple[Floats, Floats]
) -> float | None:
    """How many are of one class of the first and of some classes of the second variable; None if it is refused."""
    chosen = ((cell[0],), cell[1])
    own = tuple(
        _indicator(intruder.book, f"own{at}", name, places)
        for at, (name, places) in enumerate(zip(names, chosen, strict=True))
    )
    request = CorrelationRequest(
        intruder.book.name, tuple(o.name for o in own), method=CorrelationMethod.SPEARMAN, define=own
    )
    release = intruder.ask(request)
    if release is None:
        return None
    told = [v for v in release.grids["correlations"].rows[0][1:] if isinstance(v, float) and v != 1]
    if not told:  # of classes that nobody else has, or everybody
        return None
    r = told[0]
    total = counts[0].sum()
    p, q = (counts[at][list(places)].sum() / total for at, places in enumerate(chosen))
    # the class that is coded first has the lower rank in both, so that signs agree
    return float(total * (p * q + r * (p * (1 - p) * q * (1 - q)) ** 0.5))


def _indicator(book: Dataset, name: str, variable: str, places: tuple[int, ...]) -> Definition:
    inside = tuple(codes(book, variable)[place] for place in places)
    return Definition(name, name, (OwnClass("in", "in", InCodes(variable, inside)), OwnClass("out", "out", None)))
