"""Attacks on what surrounds the numbers: versions, reasons of refusals, words, time and accounts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from confide.arrays import Ints
from confide.attacks.channels.before_after import BeforeAfter, Leavers
from confide.attacks.channels.error_classes import ErrorClasses
from confide.attacks.channels.many_accounts import ManyAccounts
from confide.attacks.channels.metadata import Metadata
from confide.attacks.channels.timing import Timing, differs
from confide.attacks.counts.universes.secret_in_universe import SecretInUniverse
from confide.attacks.runner import LocalField, Settings, carry_out
from confide.attacks.truth.copies import EVERYBODY, CopiedUnits
from confide.attacks.truth.truth import Truth
from confide.client import Site
from confide.errors import Reason, Refused
from confide.model.policy import preset_policy
from confide.model.universe import Universe


def test_newcomers_stand_in_the_cells_that_changed(field) -> None:
    result = carry_out(BeforeAfter(), field("open", rows=5_000), Settings(targets=30, questions=24))
    assert result.success > 0.7
    assert result.lift > 0.4


def test_leavers_stood_in_the_cells_that_changed(field) -> None:
    result = carry_out(Leavers(), field("open", rows=5_000), Settings(targets=30, questions=24))
    assert result.success > 0.7
    assert result.lift > 0.4


def test_reasons_tell_who_is_in_the_data_where_rules_look_at_true_counts(field) -> None:
    former = preset_policy("drop-q")
    policy = replace(former, universe=replace(former.universe, decide_on="true", marginals=False))
    attack = ErrorClasses(keys=("municipality", "age", "occupation"))
    result = carry_out(attack, field(policy, rows=5_000), Settings(targets=40, questions=80))
    assert result.claimed == 40
    assert result.success > 0.7


def test_five_accounts_ask_five_times_as_much(field) -> None:
    site, settings = field("tablebuilder", rows=5_000), Settings(targets=30, questions=25)
    one, five = (carry_out(attack, site, settings) for attack in (SecretInUniverse(), ManyAccounts()))
    assert one.questions <= 25 < five.questions <= 125
    assert five.success > one.success + 0.1


class Leaky(Site):
    """A site around another one, that knows how many units each universe has."""

    def __init__(self, site: Site, truth: Truth, without: Ints | None) -> None:
        self.site, self.truth, self.now = site, truth, 0.0
        self.present = np.ones(len(truth.units), bool) if without is None else ~np.isin(truth.units, without)

    def units(self, where: Universe) -> int:
        return len(np.unique(self.truth.units[self.present & self.truth.within(where)]))

    def names(self) -> list[str]:
        return self.site.names()

    def codebook(self, name: str) -> dict[str, Any]:
        return self.site.codebook(name)

    def close(self) -> None:
        self.site.close()


class Telling(Leaky):
    """Tells the true number of units beside each protected one, in a note."""

    def ask(self, request: Any, *, diagnostics: bool = False) -> Any:
        answer = self.site.ask(request, diagnostics=diagnostics)
        return replace(answer, notes=(*answer.notes, f"Made from {self.units(request.where):,} people."))


class Slow(Leaky):
    """Refuses everything, and by its own clock is slower where there is somebody."""

    jitter = np.random.default_rng(2)
    clock = 0.0

    def ask(self, request: Any, *, diagnostics: bool = False) -> Any:
        Slow.clock += self.jitter.lognormal(1.5 if self.units(request.where) else 0, 0.4)
        raise Refused([Reason("universe.gamma", "Too few.")], policy="standard")


@dataclass(frozen=True)
class LeakyField:
    """A field whose sites leak."""

    field: LocalField
    leak: type[Leaky]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.field, name)

    @contextmanager
    def opened(self, units: CopiedUnits = EVERYBODY, *, suggestions: bool = False) -> Iterator[Site]:
        with self.field.opened(units, suggestions=suggestions) as site:
            yield self.leak(site, self.truth, units.without)


def test_a_true_count_in_a_note_is_found(field) -> None:
    result = carry_out(Metadata(), LeakyField(field("tablebuilder", rows=5_000), Telling), Settings())
    assert result.targets > 10
    assert result.success > 0.9
    assert result.guess < 0.6


def test_no_true_count_is_told_where_none_is(field) -> None:
    result = carry_out(Metadata(), field("tablebuilder", rows=5_000), Settings())
    assert result.targets > 10
    assert result.right == 0


def test_ranks_tell_latencies_apart_only_if_they_differ() -> None:
    """Of 400 tests of equal latencies at a level of 5 %, 8 % are beyond 2.7 standard errors of chance."""
    rng = np.random.default_rng(5)
    reference = rng.lognormal(0, 0.5, 300)
    assert differs(rng.lognormal(1, 0.5, 12), reference, level=0.001)
    false = [differs(rng.lognormal(0, 0.5, 12), rng.lognormal(0, 0.5, 300), level=0.05) for _ in range(400)]
    assert 0.02 < np.mean(false) < 0.08


def test_who_makes_a_site_slower_is_in_the_data(field) -> None:
    """By the clock of the site, no machine's: half of the targets are there, and nearly all of these are found."""
    attack = Timing(keys=("municipality", "age", "occupation"), most=20, clock=lambda: Slow.clock)
    result = carry_out(attack, LeakyField(field("drop-q", rows=5_000), Slow), Settings(targets=20, questions=480))
    assert result.claimed >= 8
    assert result.precision > 0.7


def test_who_joins_with_the_targets_makes_an_update_and_a_baseline(field) -> None:
    """As many others as targets join, or as many as an update must have; without the targets the others are still there."""
    policy = preset_policy("open")
    for least, joined in ((0, 20), (15, 20), (300, 300), (10**6, None)):
        site = Watched(field(replace(policy, updates=replace(policy.updates, least=least)), rows=5_000))
        result = carry_out(BeforeAfter(), site, Settings(targets=10, questions=6))
        assert result.applies and result.others is not None
        half = 10 + (len(np.unique(site.truth.units)) - 10) // 2
        assert site.left_out == [0, joined or half, 10], least
        assert site.joined == [joined or half, 0, joined or half]


class Watched:
    """A field that says how many units each of the sites that were opened was without."""

    def __init__(self, field: LocalField) -> None:
        self._field, self.left_out, self.joined = field, list[int](), list[int]()
        self.name, self.policy, self.truth = field.name, field.policy, field.truth

    def opened(self, units: CopiedUnits = EVERYBODY, **more: Any) -> Any:
        left, came = (0 if some is None else len(np.unique(some)) for some in (units.without, units.joined))
        self.left_out.append(left)
        self.joined.append(came)
        return self._field.opened(units, **more)
