"""How tests subtract: the same question over a set S and over S less one target, under many secrets, one mechanism at a time.

Also what such an intruder may expect, computed from what the mechanism promises and not from the mechanism's own code.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from math import comb, prod, sqrt
from typing import Any

import pyarrow as pa

from asking import Desk, python_table
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.engines.memory.engine import MemoryEngine
from confide.model.catalog.dataset import Dataset
from confide.model.policy import PRESETS, Policy
from confide.site.coding.encode import encode
from confide.site.secret import Secret

__all__ = ["Crowd", "Sites", "alone", "differenced", "hypergeometric", "numbered", "same_drops", "within"]

CLASSES = ("a1", "a2", "b1", "b2")
BIN, TARGET_BINS = "0-19", ("20-39", "40-59", "60-109")
"""The crowd is in the first bin of age; each target is alone in another; two more people are in none of these."""

Numbers = tuple[int, ...]


def alone(**sections: dict[str, object]) -> Policy:
    """A policy under which nothing protects but what these sections switch on."""
    bare = PRESETS["open"]
    return replace(bare, **{name: replace(getattr(bare, name), **fields) for name, fields in sections.items()})


def numbered(secret: int) -> Secret:
    """The secret of that number."""
    return Secret(sha256(f"secret {secret}".encode()).digest())


def within(found: float, promised: float, trials: int, *, errors: float = 4.0) -> bool:
    """Whether a rate lies within so many of its standard errors of what was promised."""
    return abs(found - promised) <= errors * sqrt(promised * (1 - promised) / trials)


@dataclass(frozen=True)
class Crowd:
    """So many people of each class, and targets, each of a class and with an income; the others earn 100 each."""

    numbers: Numbers
    targets: Numbers
    incomes: tuple[float, ...] = (100.0, 100.0, 100.0)

    @property
    def people(self) -> pa.Table:
        places = [CLASSES[at] for at, number in enumerate(self.numbers) for _ in range(number)]
        crowd = [(place, 10, 100.0) for place in places]
        each = zip(self.targets, (30, 50, 70), self.incomes, strict=True)
        targets = [(CLASSES[at], age, income) for at, age, income in each]
        outside = [("b2", 115, 100.0)] * 2
        town, age, income = zip(*crowd, *targets, *outside, strict=True)
        size = len(town)
        same = {"sex": ["f"] * size, "ill": ["no"] * size, "work": ["yes"] * size, "trade": ["p"] * size}
        named = {"id": [str(i) for i in range(size)], "w": [1.0] * size, "town": town, "age": age, "income": income}
        return pa.table({**named, **same, "county": [place[0].upper() for place in town]})

    def where(self, target: int | None) -> dict[str, list[str]]:
        """The universe with that target, or with none."""
        return {"age": [BIN] if target is None else [BIN, TARGET_BINS[target]]}

    def with_target(self, target: int) -> Numbers:
        """The numbers by class in the universe with that target."""
        return tuple(number + (at == self.targets[target]) for at, number in enumerate(self.numbers))


class Sites:
    """One crowd behind any policy and secret; coded once a secret, as a site does at ingest."""

    def __init__(self, dataset: Dataset, crowd: Crowd, *, people: pa.Table | None = None) -> None:
        self.dataset, self.crowd, self.people = dataset, crowd, crowd.people if people is None else people
        self._engines: dict[int, MemoryEngine] = {}
        self._answers: dict[Any, Any] = {}

    def engine(self, secret: int) -> MemoryEngine:
        if secret not in self._engines:
            self._engines[secret] = MemoryEngine(encode(self.dataset, self.people, secret=numbered(secret)))
        return self._engines[secret]

    def desk(self, policy: Policy, secret: int, *, keys: int | None = None) -> Desk:
        """A site with this secret; with the record keys of another one if `keys` says which."""
        engine = self.engine(secret if keys is None else keys)
        return Desk(Road(self.dataset, engine, Shield(policy, numbered(secret))))

    def answer(self, policy: Policy, secret: int, target: int | None, **words: Any) -> Any:
        """The column of a table by class that a site gives; remembered, since a site gives the same for ever."""
        asked = (policy, secret, target, *words.items())
        if asked not in self._answers:
            self._answers[asked] = self.values(self.desk(policy, secret), target, **words)
        return self._answers[asked]

    def values(self, desk: Desk, target: int | None, **words: Any) -> Any:
        """A column of the table by class, the total last; classes that hold nobody in any universe are left out."""
        words = {"measure": "count", **words}
        answer = desk.consider(python_table("people", rows="town", where=self.crowd.where(target), **words))
        assert not answer.reasons, answer.reasons
        declared = [code.code for code in self.dataset.variables["town"].codes or ()]
        return answer.columns[words["measure"]].values[[*(declared.index(name) for name in CLASSES), -1]]


def differenced(
    sites: Sites, policy: Policy, target: int, *, secrets: range, **words: Any
) -> Iterator[tuple[Any, Any]]:
    """What the intruder holds under each secret: the answer over S, and over S less the target."""
    for secret in secrets:
        yield sites.answer(policy, secret, target, **words), sites.answer(policy, secret, None, **words)


def hypergeometric(numbers: Sequence[int], q: int) -> dict[Numbers, float]:
    """Every way in which q units can be lost from classes of these sizes, and its probability."""
    ways = (way for way in product(*(range(min(q, n) + 1) for n in numbers)) if sum(way) == q)
    every = comb(sum(numbers), q)
    return {way: prod(comb(n, x) for n, x in zip(numbers, way, strict=True)) / every for way in ways}


def same_drops(numbers: Numbers, more: Numbers, *, k: int) -> float:
    """The probability that two sets lose the same number from every class: formula (5) for sets of any size."""
    both = ((hypergeometric(numbers, q), hypergeometric(more, q)) for q in range(2, k + 1))
    return sum(one.get(way, 0.0) * p for one, two in both for way, p in two.items()) / (k - 1) ** 2
