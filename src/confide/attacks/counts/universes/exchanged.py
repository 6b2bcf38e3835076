"""What is likely of somebody whose record exchanged a key: the cells of a protected cross, read by who knows the rules of exchange.

The record found under somebody's keys may be another's, and their own may stand in any cell that differs in one key. How much
each of these tells is learnt on records that the intruder invents and exchanges themselves, never on the truth.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from confide.arrays import Floats, Ints
from confide.model.policy import RecordRules

__all__ = ["best_classes", "exchange"]

DRAWS = 6
"""So many times records are invented; half to learn from and half to choose by."""

ROUNDS = 40

SMOOTH = 0.5
"""So much of a person of the whole file's classes is put into every group, or an empty one would rule everything out."""


def best_classes(cells: Ints, places: Ints, rules: RecordRules, rng: np.random.Generator) -> Ints:
    """The likeliest class of each target; `cells` has an axis for each key and one of classes, `places` a row a key."""
    looks = _Looks(cells)
    drawn = [_simulated(cells, rules, rng) for _ in range(DRAWS)]
    drawn = [one for one in drawn if one.places.shape[1]]
    shares = looks.shares(places)
    if len(drawn) < 2:
        return np.asarray(shares[:, 0].argmax(axis=1))
    learnt, judged = drawn[::2], drawn[1::2]
    mixed = _weights(np.concatenate([_Looks(one.cells).shares(one.places) for one in learnt]), _classes(learnt))
    tried = [*np.eye(shares.shape[1]), mixed]
    test, truth = np.concatenate([_Looks(one.cells).shares(one.places) for one in judged]), _classes(judged)
    right = [float((np.einsum("tmc,m->tc", test, one).argmax(axis=1) == truth).mean()) for one in tried]
    return np.asarray(np.einsum("tmc,m->tc", shares, tried[int(np.argmax(right))]).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class _Looks:
    """Classes among those who share some of the keys, for every choice of keys; the first is all of them."""

    cells: Ints

    def shares(self, places: Ints) -> Floats:
        """By target, choice of keys and class."""
        keys = self.cells.ndim - 1
        usual = self.cells.sum(axis=tuple(range(keys))) + 0.5
        usual = usual / usual.sum()
        found = []
        for kept in product((True, False), repeat=keys):
            dropped = tuple(axis for axis in range(keys) if not kept[axis])
            table = self.cells.sum(axis=dropped)
            rows = table[tuple(places[axis] for axis in range(keys) if kept[axis])]
            rows = np.broadcast_to(rows, (places.shape[1], len(usual))) + SMOOTH * usual
            found.append(rows / rows.sum(axis=1, keepdims=True))
        return np.stack(found, axis=1)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Invented records after the exchange, and the keys and the class of those who were alone before it."""

    cells: Ints
    places: Ints
    classes: Ints


def _classes(drawn: list[_Drawn]) -> Ints:
    return np.concatenate([one.classes for one in drawn])


def _simulated(cells: Ints, rules: RecordRules, rng: np.random.Generator) -> _Drawn:
    """People with the keys and classes that the cells hold, some of them alone, after an exchange under the rules."""
    records = np.repeat(np.argwhere(cells > 0), cells[cells > 0], axis=0)
    places, classes = records[:, :-1].T.copy(), records[:, -1]
    # who holds a class within a group of people alike is drawn anew: the file itself was exchanged
    sizes = cells.shape[:-1]
    cell = np.ravel_multi_index(tuple(places), sizes)
    alone = np.flatnonzero(np.bincount(cell, minlength=1)[cell] == 1)
    moved = exchange(places, sizes, alone, rules, rng)
    after = np.zeros_like(cells)
    np.add.at(after, (*moved, classes), 1)
    return _Drawn(after, places[:, alone], classes[alone])


def exchange(places: Ints, sizes: tuple[int, ...], alone: Ints, rules: RecordRules, rng: np.random.Generator) -> Ints:
    """The keys after those who are alone, and some others, exchanged one with somebody alike in the others."""
    records = places.shape[1]
    seeking = np.asarray(rng.random(records) < rules.background)
    seeking[alone] = rng.random(len(alone)) < (rules.exchange if rules.keys else 0.0)
    axis, moved = rng.integers(len(places), size=records), places.copy()
    for own in range(len(places)):
        rows = np.flatnonzero(seeking & (axis == own))
        others = [key for key in range(len(places)) if key != own]
        line = np.ravel_multi_index(tuple(places[others]), tuple(sizes[key] for key in others)) if others else 0
        line = np.broadcast_to(line, records)
        order = np.argsort(line, kind="stable")
        first, last = (np.searchsorted(line[order], line[rows], side) for side in ("left", "right"))
        partner = order[first + (rng.random(len(rows)) * (last - first)).astype(np.int64)]
        # alike in all else there may be nobody: then anybody
        same = places[own, partner] == places[own, rows]
        partner = np.where(same, rng.integers(records, size=len(rows)), partner)
        moved[own, rows], moved[own, partner] = places[own, partner], places[own, rows]
    return moved


def _weights(shares: Floats, classes: Ints) -> Floats:
    """How far each choice of keys is to be believed: the likeliest mixture, by expectation and maximisation."""
    chance = shares[np.arange(len(classes)), :, classes]
    weights = np.full(chance.shape[1], 1 / chance.shape[1])
    for _ in range(ROUNDS):
        belief = weights * chance
        weights = (belief / belief.sum(axis=1, keepdims=True)).mean(axis=0)
    return np.asarray(weights)
