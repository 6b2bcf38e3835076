"""R2: a dummy of the target, from an interaction of declared classes in whose cell nobody else is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, keys, number_secret, size
from confide.attacks.claims import Claims, NotApplicable, UnitTargets
from confide.attacks.intruder import Intruder
from confide.attacks.models.means import covariates
from confide.attacks.models.reading import Fit, fit_of, quoted
from confide.attacks.models.targets import code_of, held
from confide.attacks.passing import candidates, within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["StrategicDummy"]

MOST_COLUMNS = 450


@dataclass(frozen=True)
class StrategicDummy:
    """Read the number of people who are alone in a cell of two keys, as the coefficient of that cell.

    The language of formulas has no indicator of one's own, but an interaction of two classes is one: y ~ a*b has a column
    for the cell, and where only the target is in it the fitted value is the target's.

    Tried: (1) an indicator written out, as in (a=1)*(b=2), and a weight: not in the language. (2) y ~ a*b: refused as
    saturated. (3) y ~ a*b + x, for each x as limits are moved a little for each model: kept; classes of few units are
    absorbed, and a cell of one unit has no robust standard error, which refuses the model where there are weights.
    (4) y ~ b + x over a universe of the target's class a: its dummy of b is absorbed likewise.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "strategic-dummy"
    code: ClassVar = "R2"
    words: ClassVar = "the coefficient of an interaction in whose cell the target is alone"
    knows: ClassVar = "two keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        wanted = UnitTargets(self.keys or _pair(book), number_secret(book, self.secret), number=True)
        every = candidates(book, lambda v: not v.binned)
        return within_rules(wanted, book, policy, given=self.keys, among=(every, every))

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        a, b = wanted.keys
        y = quoted(wanted.secret)
        intruder.regression(f"{y} ~ ({quoted(a)}=1)*({quoted(b)}=1)")
        intruder.regression(f"{y} ~ {quoted(a)}*{quoted(b)}")
        found = np.full(intruder.known.size, np.nan)
        for x in covariates(intruder.book, wanted.secret):
            fit = fit_of(intruder.regression(f"{y} ~ {quoted(a)}*{quoted(b)} + {quoted(x)}"))
            if fit is not None:
                found = _cells(intruder, fit, (a, b), x)
                yield Claims.of(found)
                if np.isfinite(found).any():
                    return
        for target in range(len(found)):
            found[target] = _within(intruder, target, wanted)
        yield Claims.of(found)


def _cells(intruder: Intruder, fit: Fit, pair: tuple[str, str], covariate: str) -> Floats:
    """The fitted value of each target, NaN where its cell has no column; the covariate at the middle of its range."""
    variable = intruder.book.variable(covariate)
    x = 0.0 if variable.maximum is None else (variable.maximum + (variable.minimum or 0.0)) / 4
    found = np.full(intruder.known.size, np.nan)
    for target in range(len(found)):
        parts = [f"{name}={code_of(intruder, target, name)}" for name in pair]
        joint = [label for label in (":".join(parts), ":".join(parts[::-1])) if label in fit.estimates]
        if joint and all(part in fit.estimates for part in parts):
            total = sum(fit.estimates[label] for label in (*parts, joint[0]))
            found[target] = fit.intercept + total + fit.estimates[covariate] * x
    return found


def _within(intruder: Intruder, target: int, wanted: UnitTargets) -> float:
    """The level of the target's class in a universe of its other key."""
    a, b = wanted.keys
    x = covariates(intruder.book, wanted.secret)[0]
    formula = f"{quoted(wanted.secret)} ~ {quoted(b)} + {quoted(x)}"
    fit = fit_of(intruder.regression(formula, where=held(intruder, target, a)))
    code = code_of(intruder, target, b)
    return fit.level(b, code) if fit is not None and fit.has(b, code) else np.nan


def _pair(book: Dataset) -> tuple[str, str]:
    """The two keys with most classes that a model has room for all cells of."""
    names = [v.name for v in keys(book) if not v.measurable]
    sizes = {name: len(codes(book, name)) for name in names}
    found = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if sizes[a] * sizes[b] <= MOST_COLUMNS]
    if not found or not covariates(book, ""):
        raise NotApplicable("It needs two keys with classes, and a number.")
    return max(found, key=lambda pair: (size(book.variable(pair[0])) * size(book.variable(pair[1])), pair))
