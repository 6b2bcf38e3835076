"""R4: covariances with vectors that the intruder knows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.attacks.choosing import number_secret
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.intruder import Intruder, Where, values
from confide.attacks.models.reading import fit_of, quoted
from confide.attacks.models.targets import class_and_bins, code_of, other_codes
from confide.attacks.passing import candidates, within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["KnownVectors"]


@dataclass(frozen=True)
class KnownVectors:
    """Read the number of people who are alone of their class in a bin, from correlations with the indicator of the class.

    No vector can be given to a site: there are no uploads, no row numbers, no seeded random variables. But the keys are known
    vectors, and the indicator of a class is one: its correlation with y, the spread of y and the size of the class
    make the sum of y over the class. The sum over everyone less that without the target's bin is the target's.

    Tried: (1) a vector in the question, as in y ~ c(1, 0, 0): not in the language. (2) Correlations with indicators over two
    universes: kept; their two decimals leave an error of some spreads of y. (3) The same by class means of models, which have
    more digits: see boxes.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "known-vectors"
    code: ClassVar = "R4"
    words: ClassVar = "covariances with indicators that are known of everyone"
    knows: ClassVar = "a class of the target and a bin of a number, and that nobody else has both"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        chosen = self.keys or class_and_bins(book)
        wanted = UnitTargets(chosen, number_secret(book, self.secret), number=True)
        among = (candidates(book, lambda v: not v.binned), chosen[1:])
        return within_rules(wanted, book, policy, given=self.keys, among=among)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        intruder.regression(f"{quoted(wanted.secret)} ~ c(1, 0, 0)")
        seen: dict[str, dict[str, float]] = {"": _sums(intruder, wanted, ())}
        found = np.full(intruder.known.size, np.nan)
        for target in range(len(found)):
            own, bin = (code_of(intruder, target, key) for key in wanted.keys)
            if bin not in seen:
                seen[bin] = _sums(intruder, wanted, {wanted.keys[1]: other_codes(intruder, target, wanted.keys[1])})
            if own in seen[""] and own in seen[bin]:
                found[target] = max(seen[""][own] - seen[bin][own], 0.0)
        yield Claims.of(found)


def _sums(intruder: Intruder, wanted: UnitTargets, where: Where) -> dict[str, float]:
    """The sum of the number in each class over a universe, in mean weights; of those classes that have an indicator."""
    classes, number = wanted.keys[0], wanted.secret
    release = intruder.correlation(number, classes, where=where)
    measure = "weighted_count" if intruder.book.weight else "count"
    table = intruder.table(classes, where=where, measure=(measure, "mean"), of=number)
    fit = fit_of(intruder.regression(f"{quoted(number)} ~ {quoted(wanted.keys[1])}", where=where))
    if release is None or table is None or fit is None:
        return {}
    sizes, mean = values(table, measure), float(table.columns["mean"].values[-1])
    total = float(np.nansum(sizes))
    spread = fit.statistics["sigma"] / (1 - fit.statistics["r_squared"]) ** 0.5
    grid = release.grids["correlations"]
    found: dict[str, float] = {}
    for place, code in enumerate(intruder.book.variable(classes).codes or ()):
        if f"{classes}={code.code}" in grid.columns:
            r = float(grid.rows[0][grid.columns.index(f"{classes}={code.code}")] or 0.0)
            share = sizes[place] / total
            found[code.code] = float(sizes[place] * mean + total * r * spread * (share * (1 - share)) ** 0.5)
    return found
