"""T16: questions and a decision rule found by machine, on invented data behind the same policy."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats, Ints
from confide.attacks.choosing import class_secret, codes
from confide.attacks.claims import Claims, Units
from confide.attacks.counts.keys import three_keys
from confide.attacks.intruder import Intruder
from confide.attacks.search.invented import invented, targets
from confide.attacks.search.panel import Panel
from confide.attacks.search.rule import fit, log_belief
from confide.attacks.search.shapes import Shape, mutated, random_shape
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["Search"]

FIRST, BEST, OFFSPRING, GENERATIONS = 120, 12, 4, 5
"""So many shapes are drawn at random; then so many of the best have so many offspring each, so often."""

FINALISTS, REPEATS = 6, 4
"""So many of the best are asked so often, to see which go on telling something new."""

ROUNDS = 25
"""A shape with something random in it is asked about the targets so often at most."""


@dataclass(frozen=True)
class Search:
    """FILL"""

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "search"
    code: ClassVar = "T16"
    words: ClassVar = "questions and a decision rule evolved on invented data behind the same policy"
    knows: ClassVar = "three keys of the target, that nobody else has them, and the code of the site"

    def wants(self, book: Dataset, policy: Policy) -> Units:
        return Units(three_keys(book, self.keys), class_secret(book, self.secret))

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy)
        people = invented(intruder, wanted)
        prior = np.log(np.bincount(people[wanted.secret], minlength=len(codes(intruder.book, wanted.secret))) + 0.5)
        known, truth = targets(people, wanted)
        with intruder.simulate(people) as site:
            own = Intruder(site, intruder.book, intruder.policy, intruder.rng, 10**9, known)
            shape, weights = _Trial(own, intruder, wanted, truth, prior).best()
        score = np.zeros((intruder.known.size, len(prior)))
        for _ in range(ROUNDS if shape.random else 1):
            score += Panel.draw(intruder, wanted, intruder.rng).features(shape) @ weights
            yield Claims.of((score + prior).argmax(axis=1))


@dataclass(frozen=True)
class _Trial:
    """Invented targets to try shapes on: half of them to learn the rule, half to see what it is worth."""

    own: Intruder
    real: Intruder
    wanted: Units
    truth: Ints
    prior: Floats

    def best(self) -> tuple[Shape, Floats]:
        """The shape that tells most for the questions there are, and its rule."""
        leading = self._evolved()[:FINALISTS]
        panels = [Panel.draw(self.own, self.wanted, self.own.rng) for _ in range(REPEATS)]
        repeated = {shape: self._repeated(shape, panels) for shape in leading}
        found = max(leading, key=lambda shape: self._gain(repeated[shape]))
        return found, fit(repeated[found], self.truth, self.prior)

    def _evolved(self) -> list[Shape]:
        """Shapes, the most promising first, by one round each and what it costs."""
        rng, panel = self.own.rng, Panel.draw(self.own, self.wanted, self.own.rng)
        tried: dict[Shape, float] = {}
        shapes = [random_shape(rng) for _ in range(FIRST)]
        for _ in range(GENERATIONS + 1):
            for shape in shapes:
                if shape not in tried:
                    tried[shape] = self._gain(panel.features(shape)) * self._rounds(shape)
            leading = sorted(tried, key=lambda shape: -tried[shape])
            shapes = [mutated(shape, rng) for shape in leading[:BEST] for _ in range(OFFSPRING)]
        return leading

    def _repeated(self, shape: Shape, panels: list[Panel]) -> Floats:
        """What is seen in as many rounds as can be paid for."""
        rounds = max(1, min(REPEATS, int(self._rounds(shape))))
        return np.asarray(sum(panel.features(shape) for panel in panels[:rounds]))

    def _rounds(self, shape: Shape) -> float:
        """How often the shape can be asked about the real targets with profit."""
        cost = Panel.draw(self.real, self.wanted, np.random.default_rng(0)).cost(shape)
        return min(self.real.left / max(cost, 1), ROUNDS if shape.random else 1.0)

    def _gain(self, features: Floats) -> float:
        """How much likelier the truth becomes for targets that the rule was not learnt from."""
        learn = np.arange(len(self.truth)) % 2 == 0
        weights = fit(features[learn], self.truth[learn], self.prior)
        rest = self.truth[~learn]
        belief, before = (log_belief(features[~learn], w, self.prior) for w in (weights, 0 * weights))
        return float((belief - before)[np.arange(len(rest)), rest].mean())
