"""The road of one answer, for one data set under one policy: admit, gather, protect, decide, release.

Nothing here asks what kind of question it has: that is its analysis' business. Nothing is recorded here either.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from typing import Any

from confide.answering.analysis import Admitted, Analysis, Near, ReleaseFacts
from confide.answering.auditing.counting import Store
from confide.answering.correlations.analysis import CorrelationAnalysis
from confide.answering.cross import JudgedCross
from confide.answering.mechanisms.dropq.draw import drop
from confide.answering.mechanisms.safe.base import Base
from confide.answering.notes import definition_notes, scope
from confide.answering.regressions.analysis import RegressionAnalysis
from confide.answering.rules.rule import Checked, Stage, Verdicts
from confide.answering.rules.table import CROSS_RULES
from confide.answering.rules.universe import JudgedUniverse
from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.answering.tables.analysis import TableAnalysis
from confide.answering.universe.census import Census
from confide.answering.universe.resolve import Resolved, resolve
from confide.answering.universe.strata import strata
from confide.arrays import Floats, Ints
from confide.engines import Engine
from confide.engines.derived.engine import deriving
from confide.errors import Fault, Mistake, Reason, Suggestion
from confide.model.admission.derived import with_definitions
from confide.model.admission.own_words import in_declared_words
from confide.model.catalog.dataset import Dataset
from confide.model.design import Design
from confide.model.evidence import Box, Step, Tally
from confide.model.policy import Policy
from confide.model.request import Family, Request
from confide.model.universe import EVERYONE, Universe
from confide.records.ceilings.ceiling import Ceiling, ceiling_note, read_ceilings
from confide.site.secret import Secret
from confide.site.vintages import parse
from confide.spelling.json import write_request
from confide.spelling.url import write_url

__all__ = ["ANALYSES", "Considered", "Road"]

ANALYSES: tuple[Analysis[Any, Any, Any], ...] = (TableAnalysis(), RegressionAnalysis(), CorrelationAnalysis())
"""The kinds of questions that are answered."""

LISTED = 200
"""At most so many nearby requests are looked at for suggestions."""

TRIED = 12
"""At most so many of them, whose cross passes, are tried."""

CROSSES = 4096
"""So many crosses are remembered: what a rule has once found of one is a few numbers."""

_ON_CROSSES = (Stage.CROSS, Stage.CROSS_CELLS)
_ON_NUMBERS = tuple(stage for stage in Stage if stage > Stage.UNIVERSE)


@dataclass(frozen=True)
class Considered:
    """What the policy makes of a question: how every rule came out, and the protected numbers if none said no.

    It may be another question than the one that was asked, if an analysis answers that instead; `said` are the words for it.
    """

    question: Admitted[Request[Any]]
    checked: tuple[Checked, ...]
    reasons: tuple[Reason, ...]
    protected: Any
    said: tuple[str, ...] = ()


class Road:
    """Answers questions about one data set under one policy, without recording them."""

    def __init__(
        self,
        dataset: Dataset,
        engine: Engine,
        shield: Shield,
        *,
        base: Callable[[], Base] | None = None,
        analyses: Sequence[Analysis[Any, Any, Any]] = ANALYSES,
    ) -> None:
        shield.prepare()
        self.dataset, self.policy = dataset, shield.policy
        self._engine, self._shield, self._read_base = engine, shield, base
        self._base = base() if base is not None and shield.policy.counts.mechanism == "safe" else None
        self._analyses = {analysis.kind: analysis for analysis in analyses}
        self._cached = lru_cache(maxsize=64)(engine.tally)
        self._cross = lru_cache(maxsize=CROSSES)(self._judge_cross)
        self._drops = lru_cache(maxsize=4096)(self._draw_drops)
        self._extended = lru_cache(maxsize=64)(partial(with_definitions, dataset))

    def under(self, policy: Policy) -> "Road":
        """The same data under another policy; closing it is not the caller's business. The records stay as they are."""
        shield, analyses = replace(self._shield, policy=policy), tuple(self._analyses.values())
        return Road(self.dataset, self._engine, shield, base=self._read_base, analyses=analyses)

    def admit(self, request: Request[Any]) -> Admitted[Request[Any]]:
        """The question as it will be considered; a Mistake if it does not fit the codebook."""
        analysis = self._analyses.get(type(request))
        if analysis is None:
            raise Mistake(f"This site answers no {request.ask}.")
        dataset = self._extended(request.define)
        admitted = in_declared_words(analysis.admit(request, dataset), dataset)
        dataset = self._extended(admitted.define)
        base = None if self._base is None else self._base.by
        return Admitted(admitted, dataset, resolve(admitted.where, dataset), base)

    def consider(self, question: Admitted[Request[Any]]) -> Considered:
        """What the policy makes of a question: protected numbers, or the reasons to refuse."""
        analysis, shield = self._analysis(question), self._shield
        verdicts, protected = self._verdicts(question), None
        if self._opens(question, verdicts):
            protected = None if self._base is None else analysis.read(question, self._base, shield)
            if protected is None and verdicts.passes(self._judged(question.universe), [Stage.UNIVERSE]):
                evidence = analysis.gather(question, self._selection(question), shield)
                protected = analysis.protect(question, evidence, shield)
            if protected is not None and not verdicts.passes(protected, _ON_NUMBERS):
                protected = None
        instead = None if protected is None else self._instead(analysis.instead(question, protected))
        return instead or Considered(question, tuple(verdicts.checked()), tuple(verdicts.reasons), protected)

    def _instead(self, near: Near[Any] | None) -> Considered | None:
        """What the policy makes of a question that is answered in place of another, which passed: judged, recorded and told as if
        it had been asked. None if it is refused."""
        with suppress(Mistake):
            if near is None:
                return None
            considered = self.consider(self.admit(near.request))
            if not considered.reasons:
                return replace(considered, said=(near.words, *considered.said))
        return None

    def release(self, considered: Considered, *, diagnostics: bool = False) -> Any:
        """The answer as it leaves."""
        if considered.protected is None:
            raise Fault("A refused question has no answer.")
        question = considered.question
        facts = ReleaseFacts(
            title=self.dataset.title,
            scope=scope(question.request.where, self.dataset),
            policy=self.policy.title,
            receipt=self.receipt(question),
            source=self.dataset.source,
        )
        analysis = self._analysis(question)
        release = analysis.release(question, considered.protected, facts, diagnostics=diagnostics)
        own = definition_notes(question.request.define)
        said = ceiling_note(self.ceilings)
        return replace(release, notes=(*considered.said, *own, *release.notes, *([said] if said else [])))

    def suggest(self, question: Admitted[Request[Any]]) -> Iterator[Suggestion]:
        """Nearby requests that pass. Each could have been asked by the analyst, so naming them tells nothing more.

        An intruder saves no question by them either: most are decided on their cross, by a public rule on a number of units
        that every refusal tells alike; and whatever else a rule looks at comes from records and draws that a direct
        question meets too, at most `TRIED` times.
        """
        for words, near in islice(self._hopeful(question), TRIED):
            if not self.consider(near).reasons:
                yield Suggestion(words, write_url(near.request))

    def receipt(self, question: Admitted[Request[Any]]) -> str:
        """The content address of the answer: the request bound to the versions of data, policy and keys."""
        facts = self._engine.facts
        # A vintage is told by its data: the receipt is the same when it was the newest and had no other name.
        asked = {**write_request(question.request), "dataset": parse(question.request.dataset)[0]}
        bound: list[Any] = [asked, facts.data, facts.keys, self.policy.mark]
        bound += [self._base.mark] if self._base is not None else []
        bound += sorted(zero.plain for zero in self.dataset.structural_zeros)
        return "cfd-" + hashlib.sha256(json.dumps(bound, sort_keys=True).encode()).hexdigest()[:32]

    def products(self, design: Design, within: Universe = EVERYONE) -> Floats:
        """The sums of products of a design's columns, with nobody dropped: for the frontier, never an answer."""
        boxes = resolve(within, self.dataset).boxes
        return self._engine.moments(Step(design, Family.GAUSSIAN, boxes)).gram

    @property
    def ceilings(self) -> list[Ceiling]:
        """What nobody can pass, however much they ask; none if the records are as they came."""
        return read_ceilings(self._engine.facts)

    @property
    def store(self) -> Store:
        """The data as the auditor of questions sees them, never an answer: tallies, and the noise of what rules look at."""
        shield = self._shield
        return Store(self.dataset, lambda by: self._engine.tally(Tally(by=by)), shield.decision, shield.counts)

    @property
    def data(self) -> str:
        """The version of the data."""
        return self._engine.facts.data

    def close(self) -> None:
        self._engine.close()

    def _analysis(self, question: Admitted[Request[Any]]) -> Analysis[Any, Any, Any]:
        return self._analyses[type(question.request)]

    def _verdicts(self, question: Admitted[Request[Any]]) -> Verdicts:
        rules, own = self._analysis(question).rules, CROSS_RULES if question.request.define else ()
        return Verdicts([rule for rule in rules if rule.concerns(self.policy) or rule in own], self.policy)

    def _opens(self, question: Admitted[Request[Any]], verdicts: Verdicts) -> bool:
        """Whether what a question names may stand together: decided before anything of its universe is gathered."""
        return verdicts.passes(question, [Stage.SHAPE]) and verdicts.passes(self._crosses(question), _ON_CROSSES)

    def _hopeful(self, question: Admitted[Request[Any]]) -> Iterator[tuple[str, Admitted[Request[Any]]]]:
        """Nearby requests whose shape and cross pass, which costs next to nothing to see."""
        for near in islice(self._analysis(question).near(question), LISTED):
            with suppress(Mistake):
                admitted = self.admit(near.request)
                if self._opens(admitted, self._verdicts(admitted)):
                    yield near.words, admitted

    def _crosses(self, question: Admitted[Request[Any]]) -> Sequence[JudgedCross]:
        """What the question addresses, as rules see it; nothing if the policy does not judge it.

        What is asked by the asker's own classes is judged by those they are made of under any policy: of other classes made of the
        same ones it is the union, and differences reach every one of them.
        """
        if not self.policy.tables.cross and not question.request.define:
            return ()
        return [self._cross(names) for names in self._analysis(question).cross(question)]

    def _judge_cross(self, names: tuple[str, ...]) -> JudgedCross:
        sparse = self.policy.tables.sparse_below
        return JudgedCross(names, self.dataset, self._cached, self._shield.decision, sparse)

    def _judged(self, universe: Resolved) -> JudgedUniverse:
        return JudgedUniverse(universe, self.dataset, self._census(universe), self._shield.decision)

    def _selection(self, question: Admitted[Request[Any]]) -> Selection:
        universe, dataset = question.universe, question.dataset
        without = self._drops(universe) if self.policy.drop.k >= 2 else ()
        return Selection(dataset, deriving(self._engine, dataset), universe.boxes, without, self._base)

    def _census(self, universe: Resolved) -> Census:
        return Census(self._cached, universe.variables, self._engine.facts.several)

    def _draw_drops(self, universe: Resolved) -> tuple[int, ...]:
        def units(within: Sequence[Box], low: int, high: int) -> Ints:
            return self._engine.units(within, low=low, high=high)

        census = self._census(universe)
        boxes = strata(universe, census, self.dataset)
        return drop(boxes, census, units, k=self.policy.drop.k, secret=self._secret)

    @property
    def _secret(self) -> Secret:
        return self._shield.secret
