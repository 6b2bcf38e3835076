"""Areas that were drawn two a stratum, by the public codebook: the sampling units that standard errors tell of."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.choosing import codes, keys, size
from confide.attacks.claims import NotApplicable
from confide.attacks.intruder import Intruder, Where, values
from confide.model.catalog.dataset import Dataset

__all__ = ["Condition", "TwoAreas", "two_areas"]

Condition = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class TwoAreas:
    """A key whose classes are sampling units, and the classes of the level above, the strata, that have two of them each.

    Strata are in their declared order.
    """

    area: str
    stratum: str
    pairs: dict[str, tuple[str, str]]

    @property
    def strata(self) -> tuple[str, ...]:
        return tuple(self.pairs)

    def of(self, intruder: Intruder, values: Floats) -> Floats:
        """Numbers by area, as two rows: of the first and of the second area of each stratum."""
        place = {code: at for at, code in enumerate(codes(intruder.book, self.area))}
        return np.array([[values[place[pair[side]]] for pair in self.pairs.values()] for side in (0, 1)])

    def parts(self, book: Dataset, given: tuple[str, ...], *, coarsest: int) -> Iterator[Condition]:
        """Everyone, and each class of the given keys, or of so many of the coarsest others."""
        yield {}
        others = [v.name for v in keys(book) if book.root(v.name) != book.root(self.area) and size(v) > 1]
        for name in given or others[-coarsest:]:
            for code in codes(book, name):
                yield {name: (code,)}

    def within(self, intruder: Intruder) -> Bools:
        """Which classes of the level above are such strata, in their declared order."""
        return np.isin(np.array(codes(intruder.book, self.stratum)), list(self.pairs))

    def shares(self, intruder: Intruder, where: Where) -> Floats | None:
        """What share of its stratum each area has, by published counts; None if these are refused."""
        measure = "weighted_count" if intruder.book.weight else "count"
        table = intruder.table(self.area, where=where, measure=measure)
        if table is None:
            return None
        sizes = np.maximum(np.nan_to_num(self.of(intruder, values(table, measure))), 0.5)
        return np.asarray(sizes / sizes.sum(axis=0))


def two_areas(book: Dataset) -> TwoAreas:
    """The first key of which several classes of the level above have two each; NotApplicable if none has, or nothing was drawn."""
    if book.sampling is None:
        raise NotApplicable("How units were drawn is not declared, so that there are no standard errors.")
    for variable in book.variables.values():
        if variable.parent is None or not variable.universe or not book.variable(variable.parent).universe:
            continue
        inside: dict[str, list[str]] = {}
        for code in variable.codes or ():
            inside.setdefault(code.parent or "", []).append(code.code)
        strata = [code for code in codes(book, variable.parent) if len(inside.get(code, ())) == 2]
        pairs = {code: (inside[code][0], inside[code][1]) for code in strata}
        if len(pairs) > 2:
            return TwoAreas(variable.name, variable.parent, pairs)
    raise NotApplicable("No key has areas that may have been drawn two a stratum.")
