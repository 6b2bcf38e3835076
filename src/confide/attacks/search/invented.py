"""People invented from published tables, and those among them who could be targets."""

import numpy as np

from confide.arrays import Floats, Ints
from confide.attacks.choosing import codes
from confide.attacks.claims import Known, NotApplicable, UnitTargets
from confide.attacks.intruder import Intruder, values

__all__ = ["invented", "targets"]

MOST = 20_000
"""So many people are invented at most."""

FEWEST = 20
"""With fewer invented targets no rule can be learnt."""

BINS, TARGETS = 4, 160
"""Invented targets are so many at most, and lie in so few bins: each bin costs questions to the intruder's own site."""


def invented(intruder: Intruder, wanted: UnitTargets) -> dict[str, Ints]:
    """People with the keys and the wanted variable, which depends on the first key; all as the site's tables have it."""
    first, second, third = wanted.keys
    rng = intruder.rng
    both, other, secret = (_table(intruder, *by) for by in ((first, third), (second,), (first, wanted.secret)))
    size = int(min(max(both.sum(), 1_000), MOST))
    pairs = rng.choice(both.size, size, p=(both / both.sum()).ravel())
    bins = pairs // both.shape[1]
    given = np.maximum(secret, 1e-9) / np.maximum(secret, 1e-9).sum(axis=1, keepdims=True)
    classes = (given.cumsum(axis=1)[bins] < rng.random((size, 1))).sum(axis=1)
    return {
        first: bins,
        second: rng.choice(len(other), size, p=other / other.sum()),
        third: pairs % both.shape[1],
        wanted.secret: np.minimum(classes, given.shape[1] - 1),
    }


def targets(people: dict[str, Ints], wanted: UnitTargets) -> tuple[Known, Ints]:
    """Those who are alone on the keys, in the bins that have most of them; and what is true of them."""
    first, second, third = (people[key] for key in wanted.keys)
    cell = (first * (second.max() + 1) + second) * (third.max() + 1) + third
    _, at, number = np.unique(cell, return_index=True, return_counts=True)
    alone = at[number == 1]
    common = np.argsort(-np.bincount(first[alone]), kind="stable")[:BINS]
    there = alone[np.isin(first[alone], common)]
    if len(there) < FEWEST:
        raise NotApplicable("Too few of the people whom the intruder invents are alone on these keys to learn from.")
    taken = there[:: -(-len(there) // TARGETS)]
    return Known(len(taken), {key: people[key][taken] for key in wanted.keys}), people[wanted.secret][taken]


def _table(intruder: Intruder, *by: str) -> Floats:
    """A table as published; all cells alike if it is refused."""
    release = intruder.table(*by)
    if release is None:
        return np.ones([len(codes(intruder.book, name)) for name in by])
    return np.maximum(np.nan_to_num(values(release)), 0.0)
