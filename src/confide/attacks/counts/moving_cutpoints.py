"""T8: order statistics. Sums below a cutpoint and below the next one differ by what lies between them."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import codes, confidential, keys
from confide.attacks.claims import Claims, NotApplicable, UnitTargets
from confide.attacks.counts.cell_facts import Schedule
from confide.attacks.intruder import Intruder
from confide.attacks.passing import candidates, within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["MovingCutpoints"]

BASES = 100


@dataclass(frozen=True)
class MovingCutpoints:
    """Find the confidential number of people who are alone in their area with a number of that size.

    Of the largest it is known that they have the largest, and where they live. Totals by area over bins of the number itself,
    with and without the bin of the target, differ by the target. Each total comes with the spread of its noise, so that
    differences of small totals, which are less noisy, count for more.

    Tried, under `standard`: (1) everything below one cutpoint and below the next: 14 % within a tenth, as the noise is a share of
    a large total; (2) random sets of the other bins, weighted by their stated noise, each with its own pair of
    tables: 39 % with 247 questions; (3) one table for a set and one for each bin in or out: 52 % with 248, kept.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "moving-cutpoints"
    code: ClassVar = "T8"
    words: ClassVar = "totals below one cutpoint minus totals below another"
    knows: ClassVar = "a key of the target and the bin of its number, and that nobody else has both"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        secret = _binned_number(book, self.secret)
        areas = [v.name for v in keys(book) if not v.binned]
        if not areas:
            raise NotApplicable("It needs a key with classes.")
        area = self.keys[0] if self.keys else areas[0]
        wanted = UnitTargets((area, secret), secret, number=True, weighted=book.weight is not None, largest=True)
        among = (candidates(book, lambda v: not v.binned), (secret,))
        return within_rules(wanted, book, policy, given=self.keys, among=among)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        area, secret = wanted.keys
        bins, schedule = np.unique(intruder.known.places[secret]), Schedule(intruder)
        sums, weights = np.zeros(intruder.known.size), np.zeros(intruder.known.size)
        bases = itertools.islice(_bases(intruder, len(codes(intruder.book, secret)), bins), BASES)
        for place, base in enumerate(bases):
            if intruder.left < len(bins) + 1:
                break
            gained, noise = _gained(intruder, area, secret, base, bins)
            weight = np.where(np.isfinite(gained), 1 / (noise**2 + 1e-12), 0.0)
            sums += weight * np.nan_to_num(gained)
            weights += weight
            if schedule.due(len(bins) + 1, last=place == BASES - 1):
                yield Claims.of(np.where(weights > 0, sums / np.where(weights > 0, weights, 1.0), np.nan))


def _bases(intruder: Intruder, size: int, bins: Ints) -> Iterator[Bools]:
    """All bins below the first of the targets, all below the last, and random sets, most of them small."""
    yield np.arange(size) < bins[0]
    yield np.arange(size) < bins[-1]
    while True:
        yield np.asarray(intruder.rng.random(size) < intruder.rng.uniform(0.1, 0.6))


def _gained(intruder: Intruder, area: str, secret: str, base: Bools, bins: Ints) -> tuple[Floats, Floats]:
    """What the bin of each target adds to the total of its area, and the spread of the noise in that."""
    whole = _totals(intruder, area, secret, base)
    gained, noise = np.full(intruder.known.size, np.nan), np.ones(intruder.known.size)
    for bin in bins if np.isfinite(whole).any() else ():
        changed = base.copy()
        changed[bin] = ~base[bin]
        other = _totals(intruder, area, secret, changed)
        here = intruder.known.places[secret] == bin
        gained[here] = (whole[0] - other[0] if base[bin] else other[0] - whole[0])[here]
        noise[here] = np.hypot(whole[1], other[1])[here]
    return gained, noise


def _totals(intruder: Intruder, area: str, secret: str, bins: Bools) -> Floats:
    """The total of every target's area over some bins, and the spread of its noise; NaN where it is not told."""
    inside = [code for code, there in zip(codes(intruder.book, secret), bins, strict=True) if there]
    table = intruder.table(area, where={secret: inside}, measure="total", of=secret) if inside else None
    if table is None:
        return np.full((2, intruder.known.size), np.nan)
    column, cells = table.columns["total"], intruder.known.places[area]
    return np.stack([column.values[cells], column.noise[cells]])


def _binned_number(book: Dataset, name: str) -> str:
    """A confidential number that is cut into bins."""
    for variable in confidential(book):
        if name in ("", variable.name) and variable.measurable and variable.classifies and variable.universe:
            return variable.name
    raise NotApplicable("No confidential number is cut into bins.")
