"""The true records of a data set: who makes a target, what is true of them, and what could have been guessed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.claims import Claims, Known, MemberTargets, NotApplicable, SetFact, UnitTargets
from confide.attacks.passing import combinations_with_room
from confide.engines import Coded
from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.request import Measure
from confide.model.universe import Universe
from confide.records.ceilings.ceiling import best_guess
from confide.records.keeping import read_truth
from confide.site.coding.encode import encode
from confide.site.folder import Folder
from confide.site.secret import Secret
from confide.site.vintages import split_level
from confide.sources.source import read_source

__all__ = ["Chosen", "Truth", "truth_elsewhere", "truth_of_site"]

ENOUGH = 50
"""With fewer targets than this, more is known of each."""

NOISE = 15
"""No policy moves a count further before a rule looks at it."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Targets: what is known of them, what is true of them, and all the records of their units."""

    known: Known
    units: Ints
    truth: Floats
    guess: float
    """What somebody would claim who has not seen the site."""
    present: Bools
    """Which of them are in the data, for attacks on membership."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The records as they are, coded."""

    dataset: Dataset
    coded: Coded

    def places(self, name: str) -> Ints:
        """The place of each record's code."""
        return self.coded.places(name)

    def numbers(self, name: str) -> Floats:
        """A numeric variable, NaN where it is missing."""
        return self.coded.numbers(name)

    @cached_property
    def units(self) -> Ints:
        return self.coded.units

    @cached_property
    def weights(self) -> Floats:
        return self.coded.weights

    def within(self, where: Universe) -> Bools:
        """Which records a universe holds."""
        if not where:
            return np.ones(len(self.units), bool)
        inside = np.zeros(len(self.units), bool)
        for piece in where.pieces:
            these = np.ones(len(self.units), bool)
            for condition in piece.conditions:
                variable = self.dataset.variable(condition.variable)
                wanted = {c for code in condition.codes for c in variable.nodes.get(code, (code,))}
                these &= np.isin(self.places(condition.variable), [variable.place(code) for code in wanted])
            inside |= these
        return inside

    def fact(self, fact: SetFact) -> float:
        """What is true of a set; NaN for the mean of nobody."""
        inside = self.within(fact.where)
        if fact.measure is Measure.COUNT:
            # Tables count records, thresholds count units.
            return float(inside.sum() if fact.least is None else len(np.unique(self.units[inside])) >= fact.least)
        if fact.measure is Measure.WEIGHTED_COUNT:
            return float(self.weights[inside].sum())
        assert fact.of is not None
        values, weights = self.numbers(fact.of)[inside], self.weights[inside]
        there = np.isfinite(values)
        total, people = float((values[there] * weights[there]).sum()), float(weights[there].sum())
        if fact.measure is Measure.TOTAL:
            return total
        return total / people if people else float("nan")

    def facts(self, claims: Claims) -> Floats:
        return np.array([self.fact(fact) for fact in claims.facts], np.float64)

    def choose(self, wanted: UnitTargets | MemberTargets, most: int, rng: np.random.Generator) -> Chosen:
        """At most so many targets, drawn at random or the largest."""
        return self._members(wanted, most, rng) if isinstance(wanted, MemberTargets) else self._units(wanted, most, rng)

    def _members(self, wanted: MemberTargets, most: int, rng: np.random.Generator) -> Chosen:
        able = np.arange(len(self.units))
        if wanted.alone:
            cell = self._cells(wanted.keys)
            able = np.flatnonzero(_alone(cell, self.units)[cell])
        if not len(able):
            raise NotApplicable(f"Nobody is alone in the cross of {', '.join(wanted.keys)}.")
        records = rng.choice(able, min(most, len(able)), replace=False)
        present = rng.permutation(len(records)) < len(records) // 2
        return Chosen(self._known(wanted.keys, records), self.units[records], present.astype(float), 0.0, present)

    def _units(self, wanted: UnitTargets, most: int, rng: np.random.Generator) -> Chosen:
        wanted = self._passing(wanted) if wanted.among else wanted
        records, values, own = self._rivals(wanted) if wanted.rival else (*self._eligible(wanted), None)
        if wanted.rival and not len(records):
            raise NotApplicable(f"No cell of {', '.join(wanted.keys)} has two contributors.")
        while len(records) < min(most, ENOUGH) and wanted.more:
            wanted = replace(wanted, keys=(*wanted.keys, wanted.more[0]), more=wanted.more[1:])
            records, values = self._eligible(wanted)
        if not len(records):
            raise NotApplicable(f"Nobody is alone in the cross of {', '.join(wanted.keys)}.")
        guess = _best_guess(values, number=wanted.number)
        order = np.argsort(-values, kind="stable") if wanted.largest else rng.permutation(len(records))
        taken = np.sort(order[:most])
        rows = records[taken]
        present = np.ones(len(rows), bool)
        known = self._known(wanted.keys, rows)
        known = known if own is None else replace(known, own=own[taken])
        return Chosen(known, self.units[rows], values[taken], guess, present)

    def _passing(self, wanted: UnitTargets) -> UnitTargets:
        """The keys, of those that the rules have room for, on which most are alone."""
        # Rules look at counts with noise: who stays clear of it is answered for certain.
        units = len(np.unique(self.units)) - NOISE
        each = combinations_with_room(self.dataset, wanted.among, room=wanted.room, units=units)
        tried = [replace(wanted, keys=chosen, among=()) for chosen in each]
        if not tried:
            raise NotApplicable("No cross of such keys passes.")
        return max(tried, key=lambda one: len((self._rivals if one.rival else self._eligible)(one)[0]))

    def _eligible(self, wanted: UnitTargets) -> tuple[Ints, Floats]:
        """One record for each possible target, and what is true of the target."""
        inside = self.within(wanted.where)
        if wanted.number:
            inside &= np.nan_to_num(self.numbers(wanted.secret)) > 0
        rows = np.flatnonzero(inside)
        cell = self._cells(wanted.keys)
        if wanted.alone:
            rows = rows[_alone(cell, self.units)[cell[rows]]]
        if not wanted.number:
            first = rows[np.unique(cell[rows], return_index=True)[1]] if wanted.alone else rows
            return first, self.places(wanted.secret)[first].astype(np.float64)
        amounts = np.nan_to_num(self.numbers(wanted.secret)) * (self.weights if wanted.weighted else 1.0)
        if not wanted.alone:
            return rows, amounts[rows]
        cells, first = np.unique(cell[rows], return_index=True)
        return rows[first], np.asarray(np.bincount(cell, amounts)[cells], np.float64)

    def _rivals(self, wanted: UnitTargets) -> tuple[Ints, Floats, Floats]:
        """A record of the largest contributor to each cell, what it contributes, and what the second largest does."""
        amounts = np.nan_to_num(self.numbers(wanted.secret)) * (self.weights if wanted.weighted else 1.0)
        rows = np.flatnonzero(self.within(wanted.where))
        cell = self._cells(wanted.keys)[rows]
        pair, first, of = np.unique(np.stack([cell, self.units[rows]]), axis=1, return_index=True, return_inverse=True)
        sums = np.asarray(np.bincount(of.ravel(), amounts[rows]), np.float64)
        order = np.lexsort((-sums, pair[0]))
        cells, sums, first = pair[0][order], sums[order], first[order]
        leads = np.flatnonzero(np.append(True, cells[1:] != cells[:-1]) & np.append(cells[1:] == cells[:-1], False))
        leads = leads[sums[leads + 1] > 0]
        return np.asarray(rows[first[leads]], np.int64), sums[leads], sums[leads + 1]

    def _cells(self, keys: Sequence[str]) -> Ints:
        """The cell of the cross of the keys that each record lies in, numbered from 0 without gaps."""
        cell, width = np.zeros(len(self.units), np.int64), 1
        for key in keys:
            places = self.places(key)
            wide = int(places.max(initial=0)) + 1
            cell, width = cell * wide + places, width * wide
            if width > 8 * len(cell):
                cell = np.unique(cell, return_inverse=True)[1]
                width = int(cell.max(initial=0)) + 1
        return np.asarray(np.cumsum(np.bincount(cell, minlength=1) > 0)[cell] - 1)

    def _known(self, keys: Sequence[str], records: Ints) -> Known:
        return Known(len(records), {key: self.places(key)[records] for key in keys})


def _alone(cell: Ints, units: Ints) -> Bools:
    """Which cells hold exactly one unit."""
    size = int(cell.max(initial=-1)) + 1
    least, most = np.full(size, np.iinfo(np.int64).max), np.full(size, np.iinfo(np.int64).min)
    np.minimum.at(least, cell, units)
    np.maximum.at(most, cell, units)
    return np.asarray(least == most)


def _best_guess(values: Floats, *, number: bool) -> float:
    """The one claim that is right most often: the commonest class, or the number with most others near it."""
    if not number:
        return float(np.bincount(values.astype(np.int64)).argmax())
    return best_guess(values)


def truth_of_site(site: Path, name: str) -> Truth:
    """The true records of a site: of its store, or those kept beside protected ones."""
    folder = Folder(site)
    return Truth(folder.dataset(name), read_truth(folder, name))


def truth_elsewhere(given: Path, book: Dataset) -> Truth:
    """What a site elsewhere was made of, for its codebook: the data, or the folder of the site or of a copy of it.

    Of a level above people only a folder tells: what is taken of them is not public. A Mistake if either does not fit.
    """
    if given.is_dir():
        return _truth_of_copy(given, book)
    if split_level(book.name)[1]:
        raise Mistake(
            f"{given.name} does not tell what {book.name!r} was made of: how it is taken of people is not public.",
            suggestions=["Give the folder of the site, or a copy of it (confide backup)."],
        )
    return _truth_of_file(given, book)


def _truth_of_copy(site: Path, book: Dataset) -> Truth:
    truth = truth_of_site(site, book.name)
    for theirs in book.variables.values():
        ours = truth.dataset.variables.get(theirs.name)
        if ours is None or ours.kind is not theirs.kind or _codes(ours) != _codes(theirs):
            raise Mistake(
                f"The site in {site} describes {theirs.name!r} of {book.name!r} otherwise than the codebook elsewhere.",
                suggestions=["Give the folder that the site is served from, or a copy of it as it is now."],
            )
    return truth


def _codes(variable: Variable) -> list[str]:
    return [code.code for code in variable.codes or ()]


def _truth_of_file(file: Path, book: Dataset) -> Truth:
    try:
        return Truth(book, encode(book, read_source(file).table, secret=Secret(b"for scoring only" * 2)))
    except Mistake as mistake:
        raise Mistake(
            f"The truth file does not match the codebook of {book.name!r}. {mistake.message}",
            suggestions=[*mistake.suggestions, "Give the file that the site was made of, or the folder of the site."],
        ) from None
