"""Where a question is considered: admit, gather, protect, decide. The only place where engines meet protection."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from confide.answering.correlations.correlation import admit_correlation, correlations
from confide.answering.diagnostics.diagnose import Diagnosed, diagnose
from confide.answering.mechanisms.dropq.draw import drop
from confide.answering.mechanisms.safe.base import Base
from confide.answering.mechanisms.safe.build import read_base
from confide.answering.nearby import neighbours
from confide.answering.notes import BASE_NOTES, adds, model_notes, notes, scope
from confide.answering.regressions.nearby import near_correlations, near_models
from confide.answering.regressions.regression import ModelAnswer, Models
from confide.answering.regressions.terms import admit_model, check_model, check_related
from confide.answering.rules.admission import admit, check_shape, check_universe
from confide.answering.rules.table import judge_table
from confide.answering.rules.universe import Judge, judge_universe
from confide.answering.tables import Answer, Scales, dimensions, gather, prepare, protect
from confide.answering.universe.census import Census
from confide.answering.universe.resolve import Resolved, resolve
from confide.answering.universe.strata import strata
from confide.arrays import Floats, Ints
from confide.engines import Engine
from confide.engines.duckdb.engine import DuckDBEngine
from confide.errors import Mistake, Reason, Suggestion
from confide.model.catalog.dataset import Dataset
from confide.model.design import Design
from confide.model.evidence import Box, Rows, Step
from confide.model.model_release import ModelRelease
from confide.model.policy import Policy
from confide.model.release import Release
from confide.model.request import Correlation, Family, Regression, Request, Table
from confide.site.draws import Draws
from confide.site.encode import catalog_mark
from confide.site.folder import Folder
from confide.site.secret import Secret
from confide.spelling.json import write_request
from confide.spelling.url import write_url

__all__ = ["Desk", "open_desks"]

TRIED = 12
"""At most so many nearby requests are tried for suggestions."""


class Desk:
    """Answers questions about one data set under one policy, without recording them."""

    def __init__(
        self, dataset: Dataset, engine: Engine, policy: Policy, secret: Secret, *, base: Base | None = None
    ) -> None:
        self.dataset, self.policy, self._engine, self._secret, self._base = dataset, policy, engine, secret, base
        prepare(policy, Draws(secret))
        self._cached = lru_cache(maxsize=64)(engine.tally)
        self._drops = lru_cache(maxsize=4096)(self._draw_drops)

    def under(self, policy: Policy) -> "Desk":
        """The same data under another policy; closing it is not the caller's business."""
        return Desk(self.dataset, self._engine, policy, self._secret)

    def admit(self, request: Request) -> Request:
        """The request as it will be considered; a Mistake if it does not fit the codebook."""
        if isinstance(request, Regression):
            return admit_model(request, self.dataset)
        if isinstance(request, Correlation):
            admit_correlation(request, self.dataset)
        else:
            admit(request, self.dataset)
        return request

    def consider(self, request: Request) -> Answer | ModelAnswer:
        """What the policy makes of a request: protected numbers, or the reasons to refuse."""
        request = self.admit(request)
        reasons = self._shape(request)
        if reasons:
            return Answer({}, reasons)
        universe = resolve(request.where, self.dataset)
        if isinstance(request, Table) and self._base is not None and self._base.covers(request, universe):
            return self._read(self._base, request, universe)
        judge = Judge(self.policy.universe, self._draws)
        reasons = judge_universe(universe, self._census(universe), self.dataset, judge)
        if reasons:
            return Answer({}, reasons)
        if isinstance(request, Table):
            return self._answer(request, universe)
        models = self._models(universe)
        return models.answer(request) if isinstance(request, Regression) else correlations(request, models)

    def release(self, request: Request, answer: Answer | ModelAnswer) -> Release | ModelRelease:
        """The answer as it leaves."""
        facts: dict[str, Any] = {
            "title": self.dataset.title,
            "scope": scope(request.where, self.dataset),
            "policy": self.policy.title,
            "receipt": self.receipt(request),
            "source": self.dataset.source,
        }
        if isinstance(request, Table) and isinstance(answer, Answer):
            read = self._base is not None and self._base.covers(request, resolve(request.where, self.dataset))
            return Release(
                request=request,
                dimensions=dimensions(request, self.dataset),
                columns=answer.columns,
                notes=BASE_NOTES if read else notes(request, self.dataset, self.policy),
                totals_add=read or adds(request, self.dataset, self.policy),
                **facts,
            )
        assert isinstance(answer, ModelAnswer) and not isinstance(request, Table)
        return ModelRelease(
            request=request, grids=answer.grids, notes=(*model_notes(self.policy), *answer.notes), **facts
        )

    def diagnose(self, request: Regression) -> Answer | ModelAnswer | Diagnosed:
        """Synthetic diagnostics of a model that may be released; otherwise the answer with the reasons."""
        admitted = self.admit(request)
        answer = self.consider(admitted)
        if answer.reasons or not isinstance(answer, ModelAnswer) or answer.model is None:
            return answer

        def rows(step: Step, inverse: Floats, low: int, high: int) -> Rows:
            return self._engine.rows(step, inverse, low=low, high=high)

        design = answer.model.question.design
        everyone = self._engine.moments(
            Step(replace(design, blocks=design.blocks[:1], numbers=(), classes=()), Family.GAUSSIAN)
        )
        spread = float(
            np.sqrt(max(everyone.response_square / everyone.weight - (everyone.response / everyone.weight) ** 2, 0.0))
        )
        return diagnose(answer.model, self.dataset, rows, spread=spread, secret=self._secret)

    def products(self, design: Design) -> Floats:
        """The true sums of products of a design's columns over everyone: for the custodian, never for an answer."""
        return self._engine.moments(Step(design, Family.GAUSSIAN)).gram

    def suggest(self, request: Request) -> Iterator[Suggestion]:
        """Nearby requests that pass. Each could have been asked by the analyst, so naming them tells nothing more."""
        for words, near in islice(self._near(request), TRIED):
            try:
                passes = not self.consider(near).reasons
            except Mistake:
                continue
            if passes:
                yield Suggestion(words, write_url(near))

    def _near(self, request: Request) -> Iterator[tuple[str, Request]]:
        if isinstance(request, Table):
            yield from neighbours(request, self.dataset)
        elif isinstance(request, Regression):
            yield from near_models(request, self.dataset)
        else:
            yield from near_correlations(request)

    def _shape(self, request: Request) -> list[Reason]:
        if isinstance(request, Table):
            return check_shape(request, self.dataset, self.policy)
        reasons = check_universe(request.where, self.policy)
        if isinstance(request, Regression):
            return [*reasons, *check_model(request, self.dataset, self.policy)]
        return [*reasons, *check_related(request.variables, request.where, self.dataset, self.policy)]

    def _models(self, universe: Resolved) -> Models:
        engine = self._engine
        return Models(
            dataset=self.dataset,
            policy=self.policy,
            draws=self._draws,
            tally=engine.tally,
            moments=engine.moments,
            spread=engine.spread,
            within=universe.boxes,
            without=self._drops(universe) if self.policy.drop.k >= 2 else (),
            several=engine.facts.several,
            weighted=engine.facts.weighted,
        )

    def receipt(self, request: Request) -> str:
        """The content address of the answer: the request bound to the versions of data, policy and keys."""
        facts = self._engine.facts
        bound = [write_request(request), facts.data, facts.keys, self.policy.mark]
        bound += [self._base.mark] if self._base is not None else []
        return "cfd-" + hashlib.sha256(json.dumps(bound, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def data(self) -> str:
        return self._engine.facts.data

    def close(self) -> None:
        self._engine.close()

    @property
    def _draws(self) -> Draws:
        return Draws(self._secret)

    def _census(self, universe: Resolved) -> Census:
        return Census(self._cached, universe.variables, self._engine.facts.several)

    def _draw_drops(self, universe: Resolved) -> tuple[int, ...]:
        def units(within: Sequence[Box], low: int, high: int) -> Ints:
            return self._engine.units(within, low=low, high=high)

        census = self._census(universe)
        boxes = strata(universe, census, self.dataset)
        return drop(boxes, census, units, k=self.policy.drop.k, secret=self._secret)

    def _read(self, base: Base, request: Table, universe: Resolved) -> Answer:
        """A table from the base, which anybody may see: no rule on universes is needed, and nobody is dropped."""
        counts = base.counts(request, universe, self.dataset)
        reasons = judge_table(request, self.dataset, self.policy.tables, counts)
        return Answer({"count": base.column(counts, request, universe)}, reasons)

    def _answer(self, request: Table, universe: Resolved) -> Answer:
        facts = self._engine.facts
        evidence = gather(
            request,
            self.dataset,
            self.policy,
            self._engine.tally,
            within=universe.boxes,
            without=self._drops(universe) if self.policy.drop.k >= 2 else (),
            several=facts.several,
        )
        scales = Scales(facts.weight_decimals, facts.decimals.get(request.of or "", 0))
        return protect(request, self.dataset, self.policy, evidence, draws=self._draws, scales=scales)


@contextmanager
def open_desks(folder: Folder, policy: Policy, *, allow_open: bool = False) -> Iterator[dict[str, Desk]]:
    """The desks of all data sets of a site under a policy; anything missing or out of step is a Mistake."""
    if not policy.protects and not allow_open:
        raise Mistake(
            f"The policy {policy.name!r} protects nothing.", suggestions=["For teaching only: add --allow-open."]
        )
    with ExitStack() as opened:
        desks = {}
        for name in folder.names():
            desks[name] = _open_desk(folder, name, policy)
            opened.callback(desks[name].close)
        yield desks


def _open_desk(folder: Folder, name: str, policy: Policy) -> Desk:
    """A data set with its store, checked to be of the present catalog and secret."""
    dataset, secret = folder.dataset(name), folder.secret()
    if not folder.store(name).exists():
        raise Mistake(f"The data of {name!r} are not ingested.", suggestions=[f"Run: confide ingest FILE SITE {name}"])
    engine = DuckDBEngine(folder.store(name))
    if engine.facts.catalog != catalog_mark(dataset):
        engine.close()
        raise Mistake(
            f"dataset.toml of {name!r} changed how records are coded since the data were ingested.",
            suggestions=[f"Run: confide ingest FILE SITE {name}"],
        )
    if engine.facts.keys != secret.version:
        engine.close()
        raise Mistake(f"The data of {name!r} were ingested under another secret. Restore that secret, or ingest again.")
    try:
        base = read_base(folder, name, engine.facts) if policy.counts.mechanism == "safe" else None
    except Mistake:
        engine.close()
        raise
    return Desk(dataset, engine, policy, secret, base=base)
