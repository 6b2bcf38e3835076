"""T16: questions and a decision rule found by machine, on invented data behind the same policy."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats, Ints
from confide.attacks.choosing import class_secret, codes
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.counts.keys import three_keys
from confide.attacks.intruder import Intruder
from confide.attacks.passing import within_rules
from confide.attacks.search.invented import invented, targets
from confide.attacks.search.panel import Panel
from confide.attacks.search.rule import fit, log_belief
from confide.attacks.search.shapes import Shape, mutated, random_shape
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["Search"]

FIRST, BEST, OFFSPRING, GENERATIONS = 120, 12, 4, 5
"""So many shapes are drawn at random; then so many of the best have so many offspring each, so often."""

REPEATS = 6
"""The best shape of each kind is asked so often, to see whether it goes on telling something new."""

TOGETHER = 2
"""So many shapes are used together."""

ROUNDS = 25
"""A shape with something random in it is asked about the targets so often at most."""


@dataclass(frozen=True)
class Search:
    """Let a machine find the questions, and the rule that reads a confidential class from their answers.

    The intruder invents people from published tables and opens a site of their own with them, under the same policy and a
    secret that they draw. There they know the truth: shapes of two or three questions are drawn from a grammar, and the best
    are varied; a conditional logistic regression learns from half of the invented targets what the answers say, and the
    other half shows what that is worth. The best two together are then asked about the real targets. No time is measured:
    about 500 questions to their own site.

    Tried (20,000 people; 28 to 33 % by guessing): (1) the one best shape by a single round: 73 %
    of 60 under `tablebuilder`, as some shapes say nothing new when asked again. (2) The best after four rounds: 89 % of 100,
    and 66 % under `standard`. (3) Two shapes that add most to each other: 100 % of 40 under `tablebuilder` after 300
    questions, 62 % of 60 under `standard`, where half of the questions were refused as on invented data they are not. (4) As
    (3), each tried on the real site first: 75 % of 60 under `standard` after 600 questions. (5) As (4), chosen and learnt by
    one round as well as by many: 93 % of 40 under `tablebuilder` after 300
    questions (88 % after 57), 80 % of 60 under `standard` after 600. It finds changed cells and
    the secret in the universe by itself.
    References: Cretu and others (2022), QuerySnout.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "search"
    code: ClassVar = "T16"
    words: ClassVar = "questions and a decision rule evolved on invented data behind the same policy"
    knows: ClassVar = "three keys of the target, that nobody else has them, and the code of the site"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        wanted = UnitTargets(three_keys(book, self.keys), class_secret(book, self.secret))
        return within_rules(wanted, book, policy, given=self.keys)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        people = invented(intruder, wanted)
        prior = np.log(np.bincount(people[wanted.secret], minlength=len(codes(intruder.book, wanted.secret))) + 0.5)
        known, truth = targets(people, wanted)
        with intruder.simulate(people) as site:
            own = Intruder(site, intruder.book, intruder.policy, intruder.rng, 10**9, known)
            found = _Trial(own, intruder, wanted, truth, prior).best()
        score = np.zeros((intruder.known.size, len(prior)))
        for number in range(ROUNDS):
            panel = Panel.draw(intruder, wanted, intruder.rng)
            for shape, weights in found.items():
                if shape.random or number == 0:
                    score += panel.features(shape) @ weights
            yield Claims.of((score + prior).argmax(axis=1))


@dataclass(frozen=True)
class _Trial:
    """Invented targets to try shapes on: half of them to learn the rule, half to see what it is worth."""

    own: Intruder
    real: Intruder
    wanted: UnitTargets
    truth: Ints
    prior: Floats

    def best(self) -> dict[Shape, Floats]:
        """The shapes that together tell most for the questions there are, and the rule for each."""
        panels = [Panel.draw(self.own, self.wanted, self.own.rng) for _ in range(REPEATS)]
        finalists = self._finalists()
        once, seen = ({shape: self._repeated(shape, some) for shape in finalists} for some in (panels[:1], panels))
        answered = {shape: Panel.draw(self.real, self.wanted, self.own.rng).answered(shape) for shape in seen}
        chosen: list[Shape] = []
        gain = 0.0
        for _ in range(TOGETHER):
            rest = [shape for shape in seen if shape not in chosen]
            # What is told at once counts as well as what is told in the end: all that is told in the end may be the same.
            joint = {s: sum(self._gain(_joined(told, [*chosen, s])) for told in (once, seen)) for s in rest}
            chosen.append(max(rest, key=lambda shape: (joint[shape] - gain) * answered[shape]))
            gain = joint[chosen[-1]]
        # Learnt from one round and from many, since nobody knows beforehand how many will be answered.
        both = np.concatenate([_joined(once, chosen), _joined(seen, chosen)])
        weights = fit(both, np.tile(self.truth, 2), self.prior)
        ends = np.cumsum([seen[shape].shape[2] for shape in chosen])
        return dict(zip(chosen, np.split(weights, ends[:-1]), strict=True))

    def _finalists(self) -> list[Shape]:
        """The most promising shape of each kind: of rows, and with the wanted variable in the table or in the universe."""
        found: dict[tuple[tuple[str, ...], bool], Shape] = {}
        for shape in self._evolved():
            found.setdefault((shape.rows, shape.halved), shape)
        return list(found.values())

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


def _joined(seen: dict[Shape, Floats], shapes: list[Shape]) -> Floats:
    return np.concatenate([seen[shape] for shape in shapes], axis=2)
