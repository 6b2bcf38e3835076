"""Keys within the rules: an intruder who knows that crosses are judged takes keys whose cross with what they ask for passes."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from math import prod

from confide.attacks.choosing import keys, size
from confide.attacks.claims import UnitTargets
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.policy import Policy

__all__ = ["candidates", "combinations_with_room", "within_rules"]


def within_rules(
    wanted: UnitTargets,
    book: Dataset,
    policy: Policy,
    *,
    given: tuple[str, ...] = (),
    among: tuple[tuple[str, ...], ...] = (),
) -> UnitTargets:
    """The same with candidates for its keys where the policy judges the cross and nobody gave keys: by default a key to leave
    bins out of, one of many classes for the table, and one of few."""
    if given or not policy.tables.cross:
        return wanted
    named = 1 if wanted.number or wanted.secret in wanted.keys else size(book.variable(wanted.secret))
    return replace(wanted, among=among or _three(book), room=policy.tables.mean_cell * named, more=())


def candidates(book: Dataset, suits: Callable[[Variable], bool] = lambda v: True) -> tuple[str, ...]:
    """All levels and recodes of the keys that suit, those with most classes first."""
    found = {level.name: level for key in keys(book) for level in book.levels(key.name) if level.universe}
    return tuple(v.name for v in sorted(found.values(), key=lambda v: (-size(v), v.name)) if size(v) > 1 and suits(v))


def _three(book: Dataset) -> tuple[tuple[str, ...], ...]:
    every = candidates(book)
    return tuple(sorted(every, key=lambda name: not book.variable(name).binned)), every, every[::-1]


def combinations_with_room(
    book: Dataset, among: tuple[tuple[str, ...], ...], *, room: float, units: int
) -> Iterator[tuple[str, ...]]:
    """Every set of keys, once and in the first order that the candidates have, whose cells have so many units on average."""
    seen: set[frozenset[str]] = set()
    for places in product(*among):
        chosen = tuple(name for name in places if name)
        roots = {book.levels(name)[-1].name for name in chosen}
        if frozenset(chosen) in seen or len(roots) < len(chosen) or not chosen:
            continue
        seen.add(frozenset(chosen))
        if prod(size(book.variable(name)) for name in chosen) * room <= units:
            yield chosen
