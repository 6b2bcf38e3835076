"""R11: a covariate beside the class switches the rules on implied tables off, and two such models give the refused means."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, number_secret
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe
from confide.attacks.models.means import ask_means, class_key, covariates, mean_table
from confide.attacks.models.reading import Fit
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.request import Measure

__all__ = ["CovariateSwitch"]

CLOSE = 0.01
"""A mean is learnt if it is known to a hundredth: tables give it with noise of 3 hundredths, or not at all."""


@dataclass(frozen=True)
class CovariateSwitch:
    """Read the mean of a number in every class, though the model of the classes alone is refused.

    Least squares leave no residual in a class: mean of y = intercept + coefficient + slope * mean of x, whatever x is. The
    means of x come from its own model by classes; where that is refused too, from x with another covariate w, and w with x:
    two equations for the two means in each class.

    Tried: (1) the plain model, refused; where it is answered, the means stand there. (2) With a covariate and its published
    means, which have noise: 99 % to a hundredth. (3) With the covariate's own model, or two covariates crosswise: all of
    them, kept. (4) A covariate that is missing for some (hours): as good where a class has it or has it not as a whole.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "covariate-switch"
    code: ClassVar = "R11"
    words: ClassVar = "refused class means from models with a covariate"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        class_key(book)
        if not covariates(book, number_secret(book, self.secret)):
            raise NotApplicable("It needs a number to stand beside the class in a model.")
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        book, number = intruder.book, number_secret(intruder.book, self.secret)
        classes = self.keys[0] if self.keys else class_key(book)
        plain = ask_means(intruder, number, classes)
        guesses = mean_table(intruder, classes, of=number)
        facts = tuple(SetFact(universe({classes: (code,)}), Measure.MEAN, number) for code in codes(book, classes))
        if plain is not None:
            # Nothing needs switching off: the means stand there.
            yield _told(_levels(plain, classes, codes(book, classes)), facts, guesses)
            return
        for covariate in covariates(book, number):
            fit = ask_means(intruder, number, classes, covariate)
            if fit is not None:
                means = self._covariate_means(intruder, classes, covariate, number)
                found = _levels(fit, classes, codes(book, classes)) + fit.estimates[covariate] * means
                yield _told(found, facts, guesses)
                return

    def _covariate_means(self, intruder: Intruder, classes: str, covariate: str, number: str) -> Floats:
        every = codes(intruder.book, classes)
        alone = ask_means(intruder, covariate, classes)
        if alone is not None:
            return _levels(alone, classes, every)
        for other in covariates(intruder.book, number):
            if other != covariate:
                one, two = (
                    ask_means(intruder, *pair) for pair in ((covariate, classes, other), (other, classes, covariate))
                )
                if one is not None and two is not None:
                    return _crosswise(one, two, classes, every, (other, covariate))
        return mean_table(intruder, classes, of=covariate)


def _crosswise(one: Fit, two: Fit, classes: str, every: tuple[str, ...], names: tuple[str, str]) -> Floats:
    """The means of x from x = a + h w and w = b + k x in each class."""
    other, own = names
    h, k = one.estimates[other], two.estimates[own]
    return (_levels(one, classes, every) + h * _levels(two, classes, every)) / (1 - h * k)


def _levels(fit: Fit, classes: str, every: tuple[str, ...]) -> Floats:
    return np.array([fit.level(classes, code) if fit.has(classes, code) else np.nan for code in every])


def _told(found: Floats, facts: tuple[SetFact, ...], guesses: Floats) -> Claims:
    """Claims of the classes that have a coefficient."""
    there = np.isfinite(found)
    kept = tuple(fact for fact, here in zip(facts, there, strict=True) if here)
    return Claims.of(found[there], facts=kept, guesses=guesses[there], within=CLOSE)
