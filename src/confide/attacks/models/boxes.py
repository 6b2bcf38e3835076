"""R10: class means over a universe, and over the same without a box in which the target is alone of its class."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, keys, number_secret, size
from confide.attacks.claims import Claims, NotApplicable, UnitTargets
from confide.attacks.intruder import Intruder
from confide.attacks.models.numbers import TRANSFORMS, Reading, best_claim
from confide.attacks.models.reading import Fit, fit_of, quoted
from confide.attacks.models.sizes import ClassSizes, Part, bin_middles
from confide.attacks.passing import candidates, within_rules
from confide.model.catalog.dataset import Dataset, Role
from confide.model.policy import Policy

__all__ = ["BoxesInModels"]

Pieces = tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]

BELIEVED = 0.3
"""A claim is made if it is at least so likely."""

UNIVERSES = 2
"""So many universes are tried for a target; a third adds little for its questions."""

STEP = 1.6
"""Claims are made each time that so many times the questions have been asked."""


@dataclass(frozen=True)
class BoxesInModels:
    """Read the number of people who are alone of their class in a box of three coarse keys.

    A covariate beside the class keeps the rule of implied tables away, so levels of classes are released. The level of the
    target's class over U and over U without the box, the latter as a union of pieces (key one not b, or key two not s, or
    key three not r), differ by (y - mean) / n. U is as small as the class may be without being absorbed, for the rounding
    is a share of the standard error. Readings through log, root and identity, and over several U, are put together.

    Tried, on 100 people: (1) y = n m(U) - (n-1) m(U - box) from one model: 48 to 61 % within a tenth. (2) All readings
    together, with a covariate whose value the intruder does not know (children): 62 %. (3) A key as covariate, of which the
    target's bin is known, with levels moved to the class's mean of it, and one posterior with the target's weight unknown:
    84 %, kept. (4) Geography as the class: many there have no income, 21 %.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "boxes"
    code: ClassVar = "R10"
    words: ClassVar = "class means of a regression over a universe, and over the same without a box around the target"
    knows: ClassVar = "a class and some coarser keys of the target, and that nobody else has them all"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        chosen = self.keys or _class_and_box(book)
        if len(chosen) < 3:
            raise NotApplicable("It needs a key with many classes, and two coarser keys for a box.")
        secret = number_secret(book, self.secret)
        _covariate(book, chosen[1:], secret)
        every = candidates(book, lambda v: not v.binned)
        among = (every, chosen[1:2], every[::-1], (*every[::-1], ""))
        return within_rules(UnitTargets(chosen, secret, number=True), book, policy, given=self.keys, among=among)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        survey = _Survey(intruder, wanted.keys[0], wanted.keys[1:], wanted.secret)
        everyone = range(intruder.known.size)
        readings: list[list[Reading]] = [[] for _ in everyone]
        told = intruder.asked
        for place, transform in [(p, t) for p in range(UNIVERSES) for t in TRANSFORMS]:
            for target in everyone:
                if (found := survey.reading(target, place, transform)) is not None:
                    readings[target].append(found)
                if intruder.asked > told * STEP:
                    told = intruder.asked
                    yield _claims(readings)
            yield _claims(readings)


def _claims(readings: Sequence[Sequence[Reading]]) -> Claims:
    claimed = [best_claim(found) if found else (0.0, 0.0) for found in readings]
    values, belief = np.array(claimed).T if claimed else np.zeros((2, 0))
    return Claims(values, belief >= BELIEVED)


def _class_and_box(book: Dataset) -> tuple[str, ...]:
    """Many classes for the model; for the box a number in bins, the coarsest key, and the top of the finest hierarchy.

    Where there is no hierarchy the key with most classes is in the box, so that people are alone, and the next is the class.
    """
    found = keys(book)
    binned = [v for v in found if v.binned and size(v) > 3][:1]
    rest = [v for v in found if v not in binned]
    if len(rest) < 2:
        return ()
    coarsest, others = rest[-1], rest[:-1]
    tops = ([v for v in others if v.parent] or others)[:1] if len(others) > 1 else []
    box = [*(v.name for v in binned), coarsest.name, *(book.root(v.name) for v in tops)]
    return next(v.name for v in others if v not in tops), *box


def _covariate(book: Dataset, box: Sequence[str], secret: str) -> str:
    """A number among the keys of the box, whose value is known about; else any that is not confidential."""
    numbers = [n for n, v in book.variables.items() if v.measurable and v.role is not Role.CONFIDENTIAL]
    found = [n for n in numbers if n in box] or [n for n in numbers if n != secret]
    if not found:
        raise NotApplicable("It needs a number to stand beside the class in a model.")
    return found[0]


@dataclass(frozen=True)
class _Survey:
    """Models over universes, each asked for once: one serves all targets in it."""

    intruder: Intruder
    classes: str
    box: tuple[str, ...]
    secret: str
    fits: dict[tuple[str, Pieces], Fit | None] = field(default_factory=dict)
    parts: dict[int, list[Part]] = field(default_factory=dict)

    @cached_property
    def sizes(self) -> ClassSizes:
        return ClassSizes(self.intruder, self.classes)

    @cached_property
    def shares(self) -> dict[str, Floats]:
        return {key: self.sizes.shares(key) for key in self.box}

    @cached_property
    def weights(self) -> dict[str, Floats]:
        return {key: self.sizes.weights(key) for key in self.box}

    @cached_property
    def taking(self) -> tuple[Floats, Floats]:
        return self.sizes.taking(self.secret)

    @cached_property
    def covariate(self) -> str:
        return _covariate(self.intruder.book, self.box, self.secret)

    def reading(self, target: int, which: int, transform: str) -> Reading | None:
        """What a universe says of a target, None if it says nothing; it is the one of that place in the target's list."""
        parts = self._parts(target)
        if which >= len(parts):
            return None
        part, code = parts[which], self._code(target, self.classes)
        whole = self._fit(transform, _whole(part))
        if whole is None or not whole.has(self.classes, code):
            return None
        less = self._fit(transform, self._without(target, part))
        sums = self.sizes.of(part)
        if less is None or sums is None or not less.has(self.classes, code):
            return None
        place = self._place(target, self.classes)
        heavy = float(sums[place] * self.taking[transform == "log"][place]) / self._weight(target)
        return self._compared(target, part, transform, whole, less, heavy) if heavy > 1 else None

    def _compared(self, target: int, part: Part, transform: str, whole: Fit, less: Fit, heavy: float) -> Reading:
        label = f"{self.classes}={self._code(target, self.classes)}"
        own, middle, vague = self._covariates(target, part)
        slope, slope_less = whole.estimates[self.covariate], less.estimates[self.covariate]
        levels = [fit.intercept + fit.estimates[label] for fit in (whole, less)]
        mean = levels[1] + slope_less * middle
        rounding = whole.variance("(Intercept)", label) + less.variance("(Intercept)", label)
        return Reading(
            transform,
            change=levels[0] + slope * middle - mean,
            error=(rounding + (slope * vague / heavy) ** 2) ** 0.5,
            size=heavy,
            mean=mean,
            spread=whole.errors[label] * heavy**0.5,
            fit=slope * (own - middle),
        )

    def _covariates(self, target: int, part: Part) -> tuple[float, float, float]:
        """The covariate of the target, its mean in the class, and how vague the former is."""
        if self.covariate not in self.box:
            return 0.0, 0.0, 0.0
        middles = bin_middles(self.intruder, self.covariate)
        own, vague = float(middles[self._place(target, self.covariate)]), float(np.diff(middles).mean() / 4)
        spread = self.shares[self.covariate][self._place(target, self.classes)]
        return own, own if self.covariate in dict(part) else float(spread @ middles), vague

    def _parts(self, target: int) -> list[Part]:
        """The universes for a target, those with the fewest of its class first, but enough that it is not absorbed."""
        if target not in self.parts:
            rules, place, sums = self.intruder.policy, self._place(target, self.classes), self.sizes.of(())
            whole = 0.0 if sums is None else float(np.nan_to_num(sums[place])) / self._weight(target)
            found = []
            for some in (s for width in range(len(self.box)) for s in combinations(self.box, width)):
                inside = whole * float(np.prod([self.shares[k][place, self._place(target, k)] for k in some]))
                found.append((inside, tuple((key, self._code(target, key)) for key in some)))
            least = rules.models.dummy + rules.universe.noise_distance
            self.parts[target] = [part for inside, part in sorted(found) if inside >= least]
        return self.parts[target]

    def _without(self, target: int, part: Part) -> Pieces:
        """The universe without the box: a piece for each key that is still free, in which it is not the target's."""
        free = [key for key in self.box if key not in dict(part)]
        others = {key: tuple(c for c in codes(self.intruder.book, key) if c != self._code(target, key)) for key in free}
        held = tuple((key, (code,)) for key, code in part)
        return tuple((*held, (key, others[key])) for key in free)

    def _fit(self, transform: str, pieces: Pieces) -> Fit | None:
        response = f"{transform}({quoted(self.secret)})" if transform else quoted(self.secret)
        formula = f"{response} ~ {quoted(self.classes)} + {quoted(self.covariate)}"
        if (transform, pieces) not in self.fits:
            release = self.intruder.regression(formula, where=[dict(piece) for piece in pieces])
            self.fits[transform, pieces] = fit_of(release)
        return self.fits[transform, pieces]

    def _weight(self, target: int) -> float:
        """The weight of a target as far as its bins tell it."""
        factors = [self.weights[key][self._place(target, key)] for key in self.box]
        return self.sizes.mean_weight * float(np.prod(factors))

    def _place(self, target: int, key: str) -> int:
        return int(self.intruder.known.places[key][target])

    def _code(self, target: int, key: str) -> str:
        return codes(self.intruder.book, key)[self._place(target, key)]


def _whole(part: Part) -> Pieces:
    return (tuple((key, (code,)) for key, code in part),) if part else ()
