"""A rule: when it applies, how it judges, what it wants in words. Explanations, checks and the reference are made from it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from confide.errors import Reason
from confide.model.policy import Policy

__all__ = ["Checked", "Judge", "Rule", "Stage", "Verdict", "Verdicts"]

Judge = Callable[[Any, Policy], Sequence[Reason]]
"""The reasons to refuse a case, none if it passes. A case is what the rules of a stage look at: the admitted question, the
judged crosses of its class variables, the protected counts of its universe, or what its analysis has protected; never a
true number."""


class Stage(IntEnum):
    """When a rule is asked. A stage is reached only if no rule of the stages before it said no."""

    SHAPE = 0
    CROSS = 1
    CROSS_CELLS = 2
    UNIVERSE = 3
    CELLS = 4
    OUTCOMES = 5
    INTERACTIONS = 6
    ABSORBED = 7
    IMPLIED = 8
    COLUMNS = 9
    FITTED = 10
    UNITS = 11
    INFLUENCE = 12
    NESTED = 13


class Verdict(StrEnum):
    """How a rule came out."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_ASKED = "not asked"


@dataclass(frozen=True)
class Rule:
    """One rule. `words` say what it wants, completed by the policy; `refused` is what it refuses, for the reference.

    `judges` has a judge for each stage at which the rule is asked; `applies` says whether the policy switches it on, and
    `unguarded` what a custodian risks who switches it off. `concerns` is false where the policy has questions of this kind
    judged by another rule.
    """

    name: str
    words: str
    refused: str
    judges: Mapping[Stage, Judge]
    applies: Callable[[Policy], bool] = lambda policy: True
    unguarded: str = ""
    concerns: Callable[[Policy], bool] = lambda policy: True

    def wants(self, policy: Policy) -> str:
        """What the rule wants under a policy."""
        return self.words.format(**vars(policy))


@dataclass(frozen=True)
class Checked:
    """One rule about one request: what it wants, how it came out, and what was said: the sentence of a refusal, or why
    it was not asked. It holds no number of the data."""

    rule: str
    wants: str
    verdict: Verdict
    said: str = ""


@dataclass
class Verdicts:
    """The rules that concern a question, asked stage by stage, and how each came out."""

    rules: Sequence[Rule]
    policy: Policy
    reasons: list[Reason] = field(default_factory=list)
    _asked: set[tuple[str, Stage]] = field(default_factory=set)

    def passes(self, case: Any, stages: Iterable[Stage]) -> bool:
        """Ask the rules of these stages about a case; False as soon as some rule of a stage has said no."""
        for stage in stages:
            for rule in self.rules:
                if stage in rule.judges and rule.applies(self.policy):
                    self.reasons += rule.judges[stage](case, self.policy)
                    self._asked.add((rule.name, stage))
            if self.reasons:
                return False
        return True

    def checked(self) -> Iterator[Checked]:
        """How every rule came out, in the order in which they are asked."""
        failed: dict[str, str] = {}
        for reason in self.reasons:
            failed[reason.rule] = f"{failed[reason.rule]} {reason}" if reason.rule in failed else str(reason)
        for rule in sorted(self.rules, key=lambda rule: min(rule.judges)):
            wants = rule.wants(self.policy)
            if rule.name in failed:
                yield Checked(rule.name, wants, Verdict.FAILED, failed[rule.name])
            elif all((rule.name, stage) in self._asked for stage in rule.judges):
                yield Checked(rule.name, wants, Verdict.PASSED)
            else:
                yield Checked(rule.name, wants, Verdict.NOT_ASKED, self._why_not(rule))

    def _why_not(self, rule: Rule) -> str:
        if not rule.applies(self.policy):
            return "The policy switches it off."
        return "Another rule had said no before." if self.reasons else "The answer is read from protected microdata."
