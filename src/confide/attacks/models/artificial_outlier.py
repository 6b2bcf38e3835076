"""R1: a target made an outlier, so that the fit goes through it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, keys, number_secret
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.intruder import Intruder, values
from confide.attacks.models.reading import fit_of, quoted
from confide.attacks.models.sizes import bin_middles
from confide.attacks.models.targets import class_and_bins, held
from confide.attacks.passing import candidates, within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["ArtificialOutlier"]

CROWD = (10, 60)
"""So many units stand at the other end: fewer vary too much, more outweigh the target."""

TRUSTED = 0.5
"""A claim is made if the target makes up at least so much of its own fitted value."""


@dataclass(frozen=True)
class ArtificialOutlier:
    """Read the number of people who are alone on three keys, from a line between them and a small crowd far off.

    Bleninger et al. (2011) take z = 1 / (|x - x0| + eps), which is huge for the target alone. The language of formulas has
    no such transformation, but a universe can leave out all that lies between: a piece of a crowd at one end of a number,
    and a piece with the target alone at the other. The leverage h of the target is then near 1 and known, and its
    value is mean + (fit - mean) / h.

    Tried: (1) z itself: cannot be written. (2) Powers of the number over everyone: see influence. (3) The universe of a crowd
    and the target: kept. (4) The same with a larger piece in which the target is alone of its class, to pass the least
    size of a piece: see boxes.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "artificial-outlier"
    code: ClassVar = "R1"
    words: ClassVar = "a universe in which the target lies far off, so that a line goes through it"
    knows: ClassVar = "some keys of the target, one of them a number, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        classes, number = class_and_bins(book)
        coarsest = [v.name for v in keys(book) if v.name not in (classes, number)][-1:]
        wanted = UnitTargets(self.keys or (classes, number, *coarsest), number_secret(book, self.secret), number=True)
        every = candidates(book, lambda v: not v.binned)
        return within_rules(wanted, book, policy, given=self.keys, among=(every, (number,), every[::-1]))

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        y, x = quoted(wanted.secret), wanted.keys[1]
        intruder.regression(f"{y} ~ 1/({quoted(x)} - 40)")
        found = np.full(intruder.known.size, np.nan)
        table = intruder.table(wanted.keys[0], x)
        if table is None:
            return
        counts = np.nan_to_num(values(table))
        for target in range(len(found)):
            found[target] = _line(intruder, target, wanted, counts)
        yield Claims.of(found)


def _line(intruder: Intruder, target: int, wanted: UnitTargets, counts: Floats) -> float:
    """The target's value by the line through the crowd and the target, NaN if there is none or it is not trusted."""
    classes, x = wanted.keys[:2]
    middles = bin_middles(intruder, x)
    own = int(intruder.known.places[x][target])
    suitable = (counts >= CROWD[0]) & (counts <= CROWD[1])
    away = np.where(suitable, np.abs(middles - middles[own])[None, :], 0.0)
    row, column = np.unravel_index(int(away.argmax()), away.shape)
    crowd = {classes: (codes(intruder.book, classes)[row],), x: (codes(intruder.book, x)[column],)}
    formula = f"{quoted(wanted.secret)} ~ {quoted(x)}"
    fit = fit_of(intruder.regression(formula, where=[crowd, held(intruder, target, *wanted.keys)]))
    if fit is None or not away[row, column]:
        return np.nan
    width = float(np.diff(middles).mean())
    n, apart = counts[row, column], away[row, column]
    leverage = 1 / (n + 1) + (n / (n + 1)) ** 2 * apart**2 / (n / (n + 1) * apart**2 + n * width**2 / 12)
    if leverage < TRUSTED:
        return np.nan
    mean, here = (fit.intercept + fit.estimates[x] * middles[place] for place in (column, own))
    return float(mean + (here - mean) / leverage)
