"""R5: powers of a number push up the leverage of those who have much of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, number_secret
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.attacks.models.reading import fit_of, quoted
from confide.attacks.models.sizes import bin_middles
from confide.attacks.models.targets import class_and_bins, code_of, held, other_codes
from confide.attacks.passing import candidates, within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["Influence"]

TRUSTED = 0.05
"""A claim is made if the leverage of the target is at least this."""


@dataclass(frozen=True)
class Influence:
    """Read the number of people who are alone of their class in a high bin of another number.

    Within the class, y is explained by the square of that number, once with the target's bin and once without. The two fits at
    the target differ by its leverage h times (y - fit without it), and h follows from the published counts by bins.

    Tried, without weights and rules: (1) one model, taking its fit for the value: 30 %. (2) Two models, with and without, on
    the number as it is: 77 %. (3) On its square: 93 %, kept.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "influence"
    code: ClassVar = "R5"
    words: ClassVar = "the fit to the square of a number, with and without the target's bin"
    knows: ClassVar = "a class of the target and a bin of a number, and that nobody else has both"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        chosen = self.keys or class_and_bins(book)
        high = codes(book, chosen[1])[len(codes(book, chosen[1])) // 2 :]
        where = universe({chosen[1]: high})
        wanted = UnitTargets(chosen, number_secret(book, self.secret), number=True, where=where)
        among = (candidates(book, lambda v: not v.binned), chosen[1:])
        return within_rules(wanted, book, policy, given=self.keys, among=among)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        table = intruder.table(*wanted.keys)
        if table is None:
            return
        counts = np.maximum(np.nan_to_num(values(table)), 0)
        found = np.array([_read(intruder, target, wanted, counts) for target in range(intruder.known.size)])
        yield Claims.of(found)


def _read(intruder: Intruder, target: int, wanted: UnitTargets, counts: Floats) -> float:
    classes, x = wanted.keys
    own = int(intruder.known.places[x][target])
    squares = bin_middles(intruder, x) ** 2
    n = counts[int(intruder.known.places[classes][target])].copy()
    n[own] = 1
    mean = n @ squares / n.sum()
    leverage = 1 / n.sum() + (squares[own] - mean) ** 2 / (n @ (squares - mean) ** 2)
    if leverage < TRUSTED:
        return np.nan
    formula = f"{quoted(wanted.secret)} ~ square({quoted(x)})"
    inside = {classes: (code_of(intruder, target, classes),)}
    fits = [
        fit_of(intruder.regression(formula, where=where))
        for where in (held(intruder, target, classes), {**inside, x: other_codes(intruder, target, x)})
    ]
    if fits[0] is None or fits[1] is None:
        return np.nan
    whole, less = (fit.intercept + fit.estimates[f"square({x})"] * squares[own] for fit in fits if fit is not None)
    return float(less + (whole - less) / leverage)
