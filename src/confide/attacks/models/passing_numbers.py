"""R14 and R15: the numbers of people alone in a cross that passes, from totals over unions of its cells."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import codes, confidential, number_secret
from confide.attacks.claims import Claims, NotApplicable, UnitTargets
from confide.attacks.intruder import Intruder, values
from confide.attacks.models.joint_numbers import NumberLaw
from confide.attacks.passing import candidates, within_rules
from confide.attacks.totals.parts import parts_of_sums
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.policy import Policy

__all__ = ["ClassOfNumber", "PassingNumbers"]

LOOKS = (40, 80, 160, 320)
"""After so many subsets claims are made."""

HANDY = 20
"""The key that is left to universes has about so many codes: with fewer there are few subsets, with more all are large."""

ROUNDED = 0.01
"""Totals are rounded by about this share."""

SURE = 3.0
"""A total counts as read if it is so many standard errors above nothing."""

THERE = 0.5
"""With fewer people than this, nobody is in a cell."""


@dataclass(frozen=True)
class PassingNumbers:
    """Read the number of people who are alone on a few keys whose cross is answered.

    Totals by the other keys over random halves of the codes of one key: totals have no noise but their rounding, and least
    squares over many halves give that of the cell of the target alone. Weights follow from the keys. So every number of the
    record is known as it stands in the protected file. Wages and taxes have noise of their own, so all numbers are read, and
    what they say together about the wanted one is weighed by the law of the noise and by how they go together, which the
    readings of many targets tell, or models.

    Tried: (1) the table of all keys itself: a cell of one person has a protected count of zero in two of three cases, and then
    no total. (2) Means: they are totals over protected counts, which are far off in small cells. (3) The wanted number alone,
    drawn towards what the keys predict. (4) All numbers together, their law by models: R15 29 % right, as by guessing. (5) Their
    law by the readings, less the noise: 45 %, kept; 29 to 32 % since those who are alone exchange keys too. (6) Keys that are not
    the finest of their levels, as most exchanges stay within the class above: kept.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "passing-numbers"
    code: ClassVar = "R14"
    words: ClassVar = "all numbers of a cell of a cross that passes, by least squares over unions, read together"
    knows: ClassVar = "two to four keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        return _wanted(book, policy, self.keys, number_secret(book, self.secret), number=True)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        law = NumberLaw(intruder, wanted.keys, _numbers(intruder.book, wanted.secret))
        for readings in read_numbers(intruder, wanted.keys, law.numbers):
            yield Claims.of(law.belief(readings).best())


@dataclass(frozen=True)
class ClassOfNumber:
    """Read the class of a confidential number without naming its classes: by the number itself, as in passing numbers.

    A cross need not have room for the classes of the number then, so more people are alone in it, and those exchange no key.

    Tried: (1) the class that the number read lies in. (2) The likeliest class, all numbers read together: kept.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "class-of-number"
    code: ClassVar = "R15"
    words: ClassVar = "the class of a number from all numbers of a cell of a cross that passes"
    knows: ClassVar = "two to four keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        found = [v.name for v in confidential(book) if v.measurable and v.binned and self.secret in ("", v.name)]
        if not found:
            raise NotApplicable("No confidential number is cut into bins.")
        return _wanted(book, policy, self.keys, found[0], number=False)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        law = NumberLaw(intruder, wanted.keys, _numbers(intruder.book, wanted.secret))
        cuts = np.array(intruder.book.variable(wanted.secret).cutpoints)
        for readings in read_numbers(intruder, wanted.keys, law.numbers):
            below = law.belief(readings).below(cuts)
            chance = np.diff(below, axis=1, prepend=0.0, append=1.0)
            likeliest = np.where(readings[0] == 0, np.searchsorted(cuts, 0, "right"), chance.argmax(axis=1))
            yield Claims.of(likeliest.astype(np.float64))


def _wanted(book: Dataset, policy: Policy, given: tuple[str, ...], secret: str, *, number: bool) -> UnitTargets:
    every = candidates(book, lambda key: _above(book, key)) or candidates(book)
    if len(given or every) < 2:
        raise NotApplicable("It needs two keys.")
    first = given or tuple(dict.fromkeys((every[0], *every[-2:])))
    # the question names no class of the secret, so that none takes up room
    asked = UnitTargets(first, secret, number=True)
    among = (every, every, (*every, ""), (*every, ""))
    asked = within_rules(asked, book, policy, given=given, among=among)
    return UnitTargets(first, secret, number=number, among=asked.among, room=asked.room)


def _above(book: Dataset, key: Variable) -> bool:
    """Whether a key is not the finest of several levels."""
    return len(levels := book.levels(key.name)) == 1 or levels[-1].name != key.name


def _numbers(book: Dataset, first: str) -> tuple[str, ...]:
    return first, *(v.name for v in confidential(book) if v.measurable and v.name != first)


def read_numbers(intruder: Intruder, keys: tuple[str, ...], numbers: tuple[str, ...]) -> Iterator[Floats]:
    """The numbers of whoever stands under the keys of each target, better and better known; NaN where nobody does."""
    at = int(np.argmin([abs(np.log(len(codes(intruder.book, key)) / HANDY)) for key in keys]))
    hidden, shown = keys[at], keys[:at] + keys[at + 1 :]
    bins, cells = codes(intruder.book, hidden), tuple(intruder.known.places[key] for key in shown)
    weights, own = _weights(intruder, keys), intruder.known.places[hidden]
    halves: list[Bools] = []
    told: list[Floats] = []
    while len(told) < LOOKS[-1] and intruder.left > 2 * len(numbers) + len(numbers) ** 2 and not intruder.hopeless:
        half = intruder.rng.random(len(bins)) < 0.5
        where = {hidden: list(compress(bins, half))}
        if half.any() and (found := _told(intruder, shown, where, numbers, cells)) is not None:
            halves.append(half)
            told.append(found)
            if len(told) in LOOKS:
                yield _readings(np.stack(halves), np.stack(told), own) / weights
    if told and len(told) not in LOOKS:
        yield _readings(np.stack(halves), np.stack(told), own) / weights


def _weights(intruder: Intruder, keys: tuple[str, ...]) -> Floats:
    """The weight of each target: that of their cell where it is shown, else as their keys have it one by one."""
    found = np.ones(intruder.known.size)
    if intruder.book.weight is None:
        return found
    for key in keys:
        table = intruder.table(key, measure=("count", "weighted_count"))
        if table is not None:
            count, weighted = (np.nan_to_num(table.columns[m].values) for m in ("count", "weighted_count"))
            overall = weighted[-1] / count[-1]
            shares = np.where(count > 0, weighted / np.maximum(count, 1), overall) / overall
            found *= shares[intruder.known.places[key]] * (overall if key == keys[0] else 1.0)
    table = intruder.table(*keys, measure=("count", "weighted_count"))
    if table is not None:
        cells = tuple(intruder.known.places[key] for key in keys)
        count, weighted = (np.nan_to_num(values(table, m)[cells]) for m in ("count", "weighted_count"))
        # weights are rounded to tens or so, which three of one person leave vague
        found = np.where((count > 0) & (weighted > 0), (found + weighted / np.maximum(count, 1)) / 2, found)
    return found


def _told(
    intruder: Intruder,
    shown: tuple[str, ...],
    where: dict[str, list[str]],
    numbers: tuple[str, ...],
    cells: tuple[Ints, ...],
) -> Floats | None:
    """The total of each number, and last the count, in the cell of each target; None if a table is refused."""
    found: list[Floats] = []
    count = np.zeros(0)
    for number in numbers:
        table = intruder.table(*shown, where=where, measure=("count", "total"), of=number)
        if table is None:
            return None
        found.append(values(table, "total")[cells])
        count = np.nan_to_num(values(table, "count")[cells])
    return np.array([*found, count])


def _readings(halves: Bools, told: Floats, own: Ints) -> Floats:
    """By number and target, sums over whoever is there for each person; `told` has halves, numbers and targets for axes."""
    targets = np.arange(told.shape[2])
    people = np.linalg.lstsq(halves.astype(np.float64), told[:, -1], rcond=None)[0][own, targets]
    found = np.full((told.shape[1] - 1, len(targets)), np.nan)
    spread = np.full(len(halves), ROUNDED)
    for number in range(len(found)):
        for target in targets:
            part, variance = parts_of_sums(halves, told[:, number, target], spread)
            # what is within the rounding of the sums is nothing
            sure = part[own[target]] ** 2 > SURE**2 * variance[own[target]]
            found[number, target] = part[own[target]] if sure else 0.0
    return np.where((people > THERE) | (found > 0).any(axis=0), found / np.maximum(np.rint(people), 1.0), np.nan)
