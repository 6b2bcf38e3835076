"""Why a request is allowed or refused: every rule is named, none twice, and what is said agrees with the judge."""

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

import confide
from asking import Desk
from confide.answering.service import RULES, Checked, Verdict, trial
from confide.errors import Mistake
from confide.model.policy import PRESETS, Policy
from confide.spelling.url import read_url

SOURCE = Path(confide.__file__).parent


def test_every_rule_that_can_refuse_is_in_the_registry_and_no_other() -> None:
    code = "".join(file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py"))
    named = set(re.findall(r'Reason\(\s*"([a-z_]+\.[a-z_]+)"', code))
    # who asks, what was asked before, what was loaded before, what a custodian reads first, and what peers refuse
    elsewhere = {name for name in named if name.startswith(("quota.", "audit.", "updates.", "review.", "coprivacy."))}
    assert {rule.name for rule in RULES} == named - elsewhere


def explained(desk: Desk, address: str) -> tuple[dict[str, Checked], list[str]]:
    considered = desk.road.consider(desk.road.admit(read_url(address)))
    assert len({checked.rule for checked in considered.checked}) == len(considered.checked)
    return {checked.rule: checked for checked in considered.checked}, [reason.rule for reason in considered.reasons]


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
def test_what_failed_is_what_the_judge_says_and_the_rest_passed_or_was_not_asked(town, address, preset) -> None:
    desk = town.preset(preset).desk()
    found, rules = explained(desk, address)
    assert {name for name, checked in found.items() if checked.verdict is Verdict.FAILED} == set(rules)
    assert all((checked.said != "") == (checked.verdict is not Verdict.PASSED) for checked in found.values())
    stages = {rule.name: rule.judges for rule in RULES}
    refused = min((stage for name in rules for stage in stages[name]), default=None)
    for name, checked in found.items():
        if not next(rule for rule in RULES if rule.name == name).applies(desk.policy):
            assert checked.verdict is Verdict.NOT_ASKED and "switches it off" in checked.said
        elif not rules:
            assert checked.verdict is Verdict.PASSED
        elif refused is not None and min(stages[name]) > max(stages[rules[0]]):
            assert checked.verdict is Verdict.NOT_ASKED and "before" in checked.said


def test_a_rule_that_the_policy_switches_off_says_so(town) -> None:
    found, _ = explained(town.preset("tablebuilder").desk(), "people/table?rows=sex")
    off = {name for name, checked in found.items() if "switches it off" in checked.said}
    assert off >= {"universe.gamma", "universe.marginals", "universe.complement", "tables.class_disclosure"}


def test_what_a_rule_wants_follows_the_policy(town) -> None:
    found, _ = explained(town.under(universe={"gamma": 77}).desk(), "people/table?rows=sex")
    assert found["universe.gamma"].wants == "Every part of the universe has at least 77 units."


def test_an_explanation_is_made_of_the_reasons_and_the_policy_alone(town, people_of) -> None:
    """Two populations for which the judge says the same have the same explanation: nothing else of the data is in it."""
    desks = [town.of(people_of(size=1200, seed=seed)).desk() for seed in (1, 2)]
    for address in ("people/table?rows=sex&columns=ill", "people/regression?formula=income~age%2Bsex"):
        (one, rules), (other, others) = (explained(desk, address) for desk in desks)
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
        "red_team", "records", "audit", "updates", "review",
    }  # fmt: skip
