"""The whole red team in its short form: every attack, on people and on firms, with few targets and few questions."""

from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from pathlib import Path

import pytest

from confide.attacks.red_team import RedTeam, open_field
from confide.attacks.registry import attacks
from confide.attacks.report import AttackReport
from confide.attacks.result import Result
from confide.model.policy import PRESETS, RecordRules

SHORT = RedTeam(targets=15, questions=40, minutes=60)


LIMIT = 0.05
"""The lift that an attack may have."""

KNOWN = {("firms", "T11"): 0.15}
"""Where it has more: counts of large groups of 5,000 firms can be had without the noise of the answer, some of them exactly. It guards
against more; see `docs/explanation/limits.md`."""

READING = "passing-cross,class-of-number"
"""The attacks that read somebody's class in records that are not protected."""


def over(result: Result, limit: float = LIMIT) -> bool:
    """Whether an attack has more lift than it may have, by more than three standard errors of what it is compared with."""
    told = max(result.guess, result.others or 0.0, result.success)
    return result.lift > limit + 3 * sqrt(max(told * (1 - told), 0.05) / max(result.targets, 1))


@pytest.fixture(scope="module")
def report(demo_site: Callable[[int, str], Path]) -> Callable[[str], AttackReport]:
    found: dict[str, AttackReport] = {}

    def attacked(name: str) -> AttackReport:
        if name not in found:
            with open_field(demo_site(5_000, name), name) as field:
                found[name] = SHORT.attack(field)
        return found[name]

    return attacked


@pytest.mark.parametrize("name", ["people", "firms"])
def test_no_attack_breaks_down(report: Callable[[str], AttackReport], name: str) -> None:
    results = report(name).results
    assert [result.attack for result in results] == list(attacks())
    assert not [result.stopped for result in results if "broke down" in result.stopped]


def test_every_attack_on_a_site_applies_to_people_or_firms_but_those_that_need_more(
    report: Callable[[str], AttackReport],
) -> None:
    """T6b needs a declared design of the sample, T6c, T8d, R16, R16b and B7 sampling units in it, T23 households, slivers two recodes
    that cut across each other, C1 a protected base, D4 records without names or numbers, T7 a least size of a universe; and T16 more
    people, or too few of those it invents are alone in a cross that passes."""
    applied = {result.code for name in ("people", "firms") for result in report(name).results if result.applies}
    assert {attack.code for attack in attacks().values()} - applied == {
        "T6b",
        "T6c",
        "T7",
        "T8b",
        "T8d",
        "T16",
        "T23",
        "R16",
        "R16b",
        "B7",
        "C1",
        "D4",
    }


def test_attacks_count_their_questions_and_stay_within_them(report: Callable[[str], AttackReport]) -> None:
    for name in ("people", "firms"):
        for result in report(name).results:
            accounts = 5 if result.attack == "many-accounts" else 1
            assert result.questions <= SHORT.questions * accounts, result
            assert result.refusals <= result.questions
            assert 0 <= result.right <= result.claimed <= result.targets


@pytest.mark.parametrize("name", ["people", "firms"])
def test_no_attack_has_more_lift_than_it_may_have(report: Callable[[str], AttackReport], name: str) -> None:
    applied = [r for r in report(name).results if r.applies and r.targets]
    assert not [(r.code, r.lift, r.targets) for r in applied if over(r, KNOWN.get((name, r.code), LIMIT))]


def test_without_protected_records_attacks_have_more_lift_than_they_may_have(
    demo_site: Callable[[int, str], Path],
) -> None:
    """The same rules on the true records."""
    bare = replace(PRESETS["standard"], records=RecordRules())
    with open_field(demo_site(5_000, "people"), "people", policy=bare) as field:
        results = replace(SHORT, only=READING, targets=40, questions=150).attack(field).results
    assert any(over(result) for result in results), [(r.code, r.lift, r.targets) for r in results]
