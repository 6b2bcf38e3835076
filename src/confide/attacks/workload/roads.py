"""Answers off the record: the road of an answer without ledger, quota and suggestions, protected or as things truly are."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.attacks.truth.truth import Truth
from confide.attacks.workload.asking import Reply
from confide.engines.duckdb.store import read_store_facts, write_store
from confide.engines.stores import open_local
from confide.errors import Mistake
from confide.model.policy import PRESETS, ModelRules, Policy, TableRules
from confide.model.request import Request
from confide.site.secret import Secret

__all__ = ["OffRecord", "TrueAnswers", "true_answers", "true_policy"]

R = TypeVar("R")

REMEMBERED = 1000
"""So many true answers are kept: a model is fitted once to see whether it can be, and its answer is wanted again."""


def true_policy(policy: Policy) -> Policy:
    """The policy `open` without its rules on models, tables and universes, so that the truth can nearly always be had.

    Rare classes are still absorbed into the reference as under the policy that is measured: it is the same model.
    """
    free = PRESETS["open"]
    return replace(
        free,
        name="truth",
        universe=replace(free.universe, variables=8, pieces=8),
        tables=TableRules(
            dimensions=6, cells=1_000_000, sparse_below=0, sparsity=1.0, mean_cell=0.0, class_disclosure=False
        ),
        models=ModelRules(
            predictors=50,
            units=0,
            units_per_column=1,
            dummy=policy.models.dummy,
            interaction=0,
            leverage_units=1,
            influence=1.0,
            r_squared=1.0,
            class_fit=0.0,
        ),
    )


@dataclass(frozen=True)
class OffRecord:
    """Asks a road: nothing is recorded, and a refusal suggests nothing, which is most of what it costs."""

    road: Road

    def ask(self, request: Request[R]) -> Reply[R]:
        try:
            considered = self.road.consider(self.road.admit(request))
        except Mistake as mistake:
            return Reply(mistake=mistake.message)
        if considered.reasons:
            return Reply(rules=tuple(reason.rule for reason in considered.reasons))
        release: Any = self.road.release(considered)
        return Reply(release)


@dataclass(frozen=True, eq=False)
class TrueAnswers:
    """True records, and answers as they would be without protection: for the custodian alone."""

    truth: Truth
    answers: OffRecord

    def ask(self, request: Request[R]) -> R | None:
        """The true answer; None where there is none even so."""
        release: R | None = self._ask(request)
        return release

    def under(self, policy: Policy) -> "TrueAnswers":
        """The same, with rare classes absorbed as under this policy."""
        wanted = true_policy(policy)
        same = wanted == self.answers.road.policy
        return self if same else TrueAnswers(self.truth, OffRecord(self.answers.road.under(wanted)))

    @cached_property
    def _ask(self) -> Callable[[Request[Any]], Any]:
        return lru_cache(maxsize=REMEMBERED)(lambda request: self.answers.ask(request).release)


@contextmanager
def true_answers(truth: Truth, *, store: Path | None = None) -> Iterator[TrueAnswers]:
    """True answers from a store that has the true records, or from one that is gone afterwards; models as by default."""
    with TemporaryDirectory(prefix="confide-") as place:
        if store is None or read_store_facts(store).records:
            store = Path(place) / "records.duckdb"
            write_store(truth.coded, store)
        # The secret draws nothing where nothing is protected.
        road = Road(truth.dataset, open_local(store), Shield(true_policy(Policy()), Secret(bytes(32))))
        try:
            yield TrueAnswers(truth, OffRecord(road))
        finally:
            road.close()
