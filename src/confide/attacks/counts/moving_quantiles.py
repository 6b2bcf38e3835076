"""T8: order statistics. A person more moves the quantiles of a group: up those below the person, down those above."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import codes, confidential, named
from confide.attacks.claims import Claims, NotApplicable, UnitTargets
from confide.attacks.counts.cell_facts import Schedule
from confide.attacks.counts.keys import by_use
from confide.attacks.intruder import Intruder, values
from confide.attacks.passing import within_rules
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.policy import Policy
from confide.model.release import Release
from confide.model.request import Measure

__all__ = ["MovingQuantiles"]

QUANTILES = tuple(measure for measure in Measure if measure.quantile)
SHARES = np.array([measure.quantile for measure in QUANTILES])

CLIP = 1.5
"""What a person moves is between -1 and 1; more than this is noise."""

LEAST = 0.3
"""The standard deviation of one look, at least: the density at a quantile is known no better."""


@dataclass(frozen=True)
class MovingQuantiles:
    """Find the class of the confidential number of people who are alone on a few keys.

    Quantiles of the number by two keys, over some bins of another key, with and without the bin of the target: a quantile q of
    n people moves by (q - [the target is below it]) / (n f), where f is the density there, which the other quantiles tell. Looks
    over many sets of bins are averaged, and the likeliest class is claimed, given how common each is.

    Tried: (1) all bins against all but one; (2) random halves of the bins with and without each: more looks at one target, kept.
    (3) The sign of each move alone: worse, as most moves of noisy quantiles are noise.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "moving-quantiles"
    code: ClassVar = "T8c"
    words: ClassVar = "quantiles of a group with the target and without"
    knows: ClassVar = "two or three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        wanted = UnitTargets(by_use(book, self.keys)[:3], _binned_number(book, self.secret).name)
        return within_rules(wanted, book, policy, given=self.keys)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        hidden = next(iter(intruder.known.places))
        bins, schedule = np.unique(intruder.known.places[hidden]), Schedule(intruder)
        margin = intruder.table(wanted.secret)
        middles = _middles(intruder.book.variable(wanted.secret))
        prior = np.ones(len(middles)) if margin is None else np.maximum(values(margin)[: len(middles)], 0.5)
        looks: list[tuple[Floats, Floats]] = []
        while intruder.left > len(bins) and not intruder.hopeless:
            looks.append(_look(intruder, wanted, bins))
            if schedule.due(len(bins) + 1):
                yield _claims(looks, middles, prior / prior.sum())


def _look(intruder: Intruder, wanted: UnitTargets, bins: Ints) -> tuple[Floats, Floats]:
    """For each target and quantile, whether the target seems to be above it (1) or below (0), and the quantile itself."""
    hidden, *shown = intruder.known.places
    every = codes(intruder.book, hidden)
    half: Bools = intruder.rng.random(len(every)) < 0.7
    with_all = _table(intruder, wanted.secret, hidden, shown, half)
    above = np.full((intruder.known.size, len(SHARES)), np.nan)
    ladder = np.full_like(above, np.nan)
    for bin in bins if with_all is not None else ():
        changed = half.copy()
        changed[bin] = ~half[bin]
        other = _table(intruder, wanted.secret, hidden, shown, changed) if changed.any() else None
        here = intruder.known.places[hidden] == bin
        if other is not None and with_all is not None:
            pair = (with_all, other) if half[bin] else (other, with_all)
            cells = tuple(intruder.known.places[key][here] for key in shown)
            above[here], ladder[here] = _moved(*pair, cells)
    return above, ladder


def _table(intruder: Intruder, secret: str, hidden: str, shown: list[str], chosen: Bools) -> Release | None:
    inside = named(intruder.book, hidden, chosen)
    measure = ("count", *(str(measure) for measure in QUANTILES))
    return intruder.table(*shown, where={hidden: inside}, measure=measure, of=secret) if inside else None


def _moved(whole: Release, without: Release, cells: tuple[Ints, ...]) -> tuple[Floats, Floats]:
    """What the person more did to the quantiles of these cells, in persons."""
    many = values(whole)[cells][:, None]
    more, less = (np.stack([values(table, str(q))[cells] for q in QUANTILES], axis=1) for table in (whole, without))
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.gradient(SHARES)[None, :] / np.apply_along_axis(np.gradient, 1, more)
        moved = (more - less) * many * density
    return np.clip(np.where(np.isfinite(moved), moved, np.nan), -CLIP, CLIP) + 1 - SHARES, more


def _claims(looks: list[tuple[Floats, Floats]], middles: Floats, prior: Floats) -> Claims:
    """The likeliest class of each target that was seen, if looks have errors of their own and independent ones."""
    above, ladder = (np.stack([look[part] for look in looks]) for part in (0, 1))
    seen = np.isfinite(above) & np.isfinite(ladder)
    number = np.maximum(seen.sum(axis=0), 1)
    mean, middle = (np.where(seen, a, 0.0).sum(axis=0) / number for a in (above, ladder))
    spread = np.sqrt(np.where(seen, (above - mean) ** 2, 0.0).sum(axis=0) / number)
    expected = middles[None, :, None] > middle[:, None, :]
    off = (mean[:, None, :] - expected) / (np.maximum(spread, LEAST) / np.sqrt(number))[:, None, :]
    looked: Bools = np.asarray(seen.any(axis=0))
    belief = np.log(prior) - 0.5 * np.where(looked[:, None, :], off**2, 0.0).sum(axis=-1)
    return Claims(belief.argmax(axis=1).astype(np.float64), np.asarray(looked.any(axis=1)))


def _middles(variable: Variable) -> Floats:
    """A number in each bin; of an open one its end."""
    cuts = np.array(variable.cutpoints)
    least = cuts[0] - 1 if variable.minimum is None else variable.minimum
    return np.array([(least + cuts[0] - 1) / 2, *((cuts[:-1] + cuts[1:]) / 2), cuts[-1]])


def _binned_number(book: Dataset, name: str) -> Variable:
    for variable in confidential(book):
        if name in ("", variable.name) and variable.measurable and variable.classifies:
            return variable
    raise NotApplicable("No confidential number is cut into bins.")
