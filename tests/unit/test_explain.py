"""Why a request is allowed or refused: every rule is named, none twice, and what is said agrees with the judge."""

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

import confide
from confide.answering.desk import Desk
from confide.answering.rules.described import RULES, Checked, Stage, Verdict, explain
from confide.answering.service import trial
from confide.errors import Mistake
from confide.model.policy import PRESETS, Policy
from confide.model.request import Request
from confide.spelling.url import read_url

SOURCE = Path(confide.__file__).parent


def test_every_rule_that_can_refuse_is_described_and_no_other() -> None:
    code = "".join(file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py"))
    named = set(re.findall(r'Reason\(\s*"([a-z_]+\.[a-z_]+)"', code))
    assert {rule.name for rule in RULES} == {name for name in named if not name.startswith("quota.")}


def explained(desk: Desk, address: str) -> tuple[Request, dict[str, Checked], list[str]]:
    request = desk.admit(read_url(address))
    reasons = desk.consider(request).reasons
    found = explain(request, desk.policy, reasons)
    assert len({checked.rule for checked in found}) == len(found)
    return request, {checked.rule: checked for checked in found}, [reason.rule for reason in reasons]


ADDRESSES = [
    "people/table?rows=sex",
    "people/table?rows=sex&where=town=a1",
    "people/table?rows=town,age,trade&columns=sex",
    "people/table?rows=town,age&columns=sex&where=town=a1;sex=f",
    "people/table?rows=work&columns=trade",
    "people/table?rows=sex&where=sex=x",
    "people/regression?formula=income~age%2Bsex",
    "people/regression?formula=income~sex:town",
    "people/regression?formula=income~sex*town",
    "people/regression?formula=income~work%2Btrade",
    "people/correlation?variables=age,income",
    "people/correlation?variables=sex,town,age",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("preset", PRESETS)
def test_what_failed_is_what_the_judge_says_and_the_rest_passed_or_was_not_reached(town, address, preset) -> None:
    desk = town.preset(preset).desk()
    request, found, rules = explained(desk, address)
    assert {name for name, checked in found.items() if checked.verdict is Verdict.FAILED} == set(rules)
    assert all((checked.said != "") == (checked.verdict is Verdict.FAILED) for checked in found.values())
    if not rules:
        assert {checked.verdict for checked in found.values()} <= {Verdict.PASSED, Verdict.OFF}
    reached = min(
        (rule.stage for rule in RULES if rule.name in rules and isinstance(request, rule.asks)), default=Stage.ANSWER
    )
    for rule in RULES:
        if isinstance(request, rule.asks) and rule.stage > reached and rule.name not in rules:
            assert found[rule.name].verdict in (Verdict.OPEN, Verdict.OFF)


def test_a_rule_that_the_policy_switches_off_says_so(town) -> None:
    _, found, _ = explained(town.preset("tablebuilder").desk(), "people/table?rows=sex")
    off = {name for name, checked in found.items() if checked.verdict is Verdict.OFF}
    assert off >= {"universe.gamma", "universe.marginals", "universe.complement", "tables.class_disclosure"}


def test_what_a_rule_wants_follows_the_policy(town) -> None:
    _, found, _ = explained(town.under(universe={"gamma": 77}).desk(), "people/table?rows=sex")
    assert found["universe.gamma"].wants == "Every part of the universe has at least 77 units."


def test_an_explanation_is_made_of_the_reasons_and_the_policy_alone(town, people_of) -> None:
    """Two populations for which the judge says the same have the same explanation: nothing else of the data is in it."""
    desks = [town.of(people_of(size=1200, seed=seed)).desk() for seed in (1, 2)]
    for address in ("people/table?rows=sex&columns=ill", "people/regression?formula=income~age%2Bsex"):
        (_, one, rules), (_, other, others) = (explained(desk, address) for desk in desks)
        assert rules == others and one == other


# ---- drafts that are tried


def test_a_trial_takes_the_limits_of_the_draft_and_the_numbers_of_the_policy_in_force() -> None:
    force, draft = PRESETS["standard"], replace(PRESETS["open"], universe=replace(PRESETS["open"].universe, gamma=500))
    tried = trial(draft, force)
    assert tried.universe.gamma == 500 and tried.tables == draft.tables and tried.models == draft.models
    assert (tried.drop, tried.counts, tried.totals) == (force.drop, force.counts, force.totals)
    for name in ("decide_on", "noise_distance", "noise_variance"):
        assert getattr(tried.universe, name) == getattr(force.universe, name)
    assert tried.protects


def test_limits_moved_step_by_step_give_the_count_that_rules_see_whatever_the_draft_says_of_noise(town) -> None:
    """The attack: a draft without noise, its gamma moved until the answer turns, would read off a true count."""
    desk, force = town.desk(), town.policy
    request = read_url("people/table?rows=sex&where=town=a1")

    def turns(draft: Policy) -> int:
        def passes(gamma: int) -> bool:
            policy = trial(replace(draft, universe=replace(draft.universe, gamma=gamma)), force)
            return "universe.gamma" not in [reason.rule for reason in desk.under(policy).consider(request).reasons]

        low, high = 0, 2000
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if passes(middle) else (low, middle)
        return low

    quiet = replace(PRESETS["open"], universe=replace(PRESETS["open"].universe, noise_variance=0.0))
    assert turns(quiet) == turns(force)


def test_no_draft_is_tried_where_the_policy_in_force_looks_at_true_counts() -> None:
    with pytest.raises(Mistake, match="true counts"):
        trial(PRESETS["standard"], PRESETS["census-mas"])


def test_every_part_of_a_policy_that_makes_numbers_is_that_in_force() -> None:
    """A new section must be thought about: limits may be tried, what protects may not."""
    assert {f.name for f in fields(Policy)} == {
        "name", "version", "universe", "drop", "counts", "totals", "tables", "models", "output", "quota",
    }  # fmt: skip
