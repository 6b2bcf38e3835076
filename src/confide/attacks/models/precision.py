"""R8: digits of coefficients say more of the moments than tables do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.attacks.choosing import codes, keys, number_secret, size
from confide.attacks.claims import Claims, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe
from confide.attacks.models.means import ask_means, mean_table
from confide.attacks.models.reading import Fit
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.request import Measure

__all__ = ["Precision"]

CLOSE = 0.001
"""A mean is learnt if it is known to a thousandth."""

MOST_CLASSES = 12


@dataclass(frozen=True)
class Precision:
    """Read class means to three digits and more, from the digits of coefficients.

    The mean of the reference is the intercept, that of another class intercept and coefficient. Each is rounded to a
    twentieth of its standard error.

    Tried: (1) intercept and coefficient as they stand: 93 %, kept. (2) The statistic times the sharpened standard error in
    place of a small estimate: the same. (3) The reference, too, where no other class stands with it: kept.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "precision"
    code: ClassVar = "R8"
    words: ClassVar = "class means to a thousandth from the digits of coefficients"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        number_secret(book, self.secret)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        book, number = intruder.book, number_secret(intruder.book, self.secret)
        roots = dict.fromkeys(book.root(v.name) for v in keys(book) if not v.measurable)
        found: list[float] = []
        guesses: list[float] = []
        facts: tuple[SetFact, ...] = ()
        for classes in self.keys or [name for name in roots if size(book.variable(name)) <= MOST_CLASSES]:
            fit = ask_means(intruder, number, classes)
            if fit is None:
                continue
            published = mean_table(intruder, classes, of=number)
            for place, code in enumerate(codes(book, classes)):
                level = _level(fit, classes, code, codes(book, classes))
                if level is not None:
                    found.append(level)
                    guesses.append(float(published[place]))
                    facts += (SetFact(universe({classes: (code,)}), Measure.MEAN, number),)
        yield Claims.of(np.array(found), facts=facts, guesses=np.array(guesses), within=CLOSE)


def _level(fit: Fit, classes: str, code: str, every: tuple[str, ...]) -> float | None:
    """The mean of a class; the reference's only where no other class stands with it."""
    if fit.has(classes, code):
        return fit.level(classes, code)
    alone = sum(not fit.has(classes, other) for other in every) == 1
    return fit.intercept if alone else None
