"""Every rule in words, and how each one came out: why a request was allowed or refused.

An explanation is made from the reasons of a refusal and the policy, which an analyst has too: it holds no number of the data.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from confide.errors import Reason
from confide.model.policy import Policy
from confide.model.request import Correlation, Regression, Request, Table

__all__ = ["RULES", "Checked", "Rule", "Stage", "Verdict", "explain"]


class Stage(IntEnum):
    """When a rule is looked at. A stage is reached only if no rule of the stages before it said no."""

    SHAPE = 0
    UNIVERSE = 1
    ANSWER = 2


class Verdict(StrEnum):
    """How a rule came out."""

    PASSED = "passed"
    FAILED = "failed"
    OPEN = "not decided"
    OFF = "switched off"


@dataclass(frozen=True)
class Rule:
    """What a rule wants, in words that a policy completes; `off` says when the policy switches it off."""

    name: str
    stage: Stage
    words: str
    asks: tuple[type[Request], ...] = (Table, Regression, Correlation)
    off: Callable[[Policy], bool] = lambda policy: False


@dataclass(frozen=True)
class Checked:
    """One rule about one request; `said` is the sentence of a refusal, as analysts read it."""

    rule: str
    wants: str
    verdict: Verdict
    said: str = ""


_MODELS = (Regression, Correlation)

RULES = (
    Rule("universe.variables", Stage.SHAPE, "At most {universe.variables} variables define the universe."),
    Rule("universe.pieces", Stage.SHAPE, "The universe has at most {universe.pieces} pieces."),
    Rule("tables.dimensions", Stage.SHAPE, "The table has at most {tables.dimensions} variables.", asks=(Table,)),
    Rule("tables.cells", Stage.SHAPE, "The table has at most {tables.cells} cells.", asks=(Table,)),
    Rule("models.predictors", Stage.SHAPE, "There are at most {models.predictors} predictors.", asks=(Regression,)),
    Rule("models.hierarchy", Stage.SHAPE, "Every interaction has its parts in the model too.", asks=(Regression,)),
    Rule(
        "models.saturated",
        Stage.SHAPE,
        "It is not a model of classes alone with all their interactions.",
        asks=(Regression,),
    ),
    Rule(
        "models.suppressed",
        Stage.SHAPE,
        "The sensitive variable is not related to a suppressed one.",
        asks=_MODELS,
        off=lambda policy: not policy.models.sensitive,
    ),
    Rule("tables.exclusion", Stage.SHAPE, "No two variables stand together that exclude each other."),
    Rule(
        "universe.marginals",
        Stage.UNIVERSE,
        "The variables of the universe leave no group of one or two units.",
        off=lambda policy: not policy.universe.marginals,
    ),
    Rule(
        "universe.gamma",
        Stage.UNIVERSE,
        "Every part of the universe has at least {universe.gamma} units.",
        off=lambda policy: not policy.universe.gamma,
    ),
    Rule(
        "universe.gamma_star",
        Stage.UNIVERSE,
        "Pieces of the universe overlap in no unit or in at least {universe.gamma_star}.",
        off=lambda policy: not policy.universe.gamma_star,
    ),
    Rule(
        "universe.complement",
        Stage.UNIVERSE,
        "The universe leaves out nobody or at least {universe.gamma} units.",
        off=lambda policy: not policy.universe.complement or not policy.universe.gamma,
    ),
    Rule(
        "universe.remainder",
        Stage.UNIVERSE,
        "Another choice of codes differs from the universe by no unit or by at least {universe.remainder}.",
        off=lambda policy: not policy.universe.remainder,
    ),
    Rule(
        "tables.sparsity",
        Stage.ANSWER,
        "At most {tables.sparsity:.0%} of the cells that are not empty have fewer than {tables.sparse_below} units.",
        asks=(Table,),
        off=lambda policy: policy.tables.sparsity >= 1 or policy.tables.sparse_below < 2,
    ),
    Rule(
        "tables.mean_cell",
        Stage.ANSWER,
        "On average a cell has at least {tables.mean_cell:g} units.",
        asks=(Table,),
        off=lambda policy: not policy.tables.mean_cell,
    ),
    Rule(
        "tables.class_disclosure",
        Stage.ANSWER,
        "No whole group falls into one class of a confidential variable.",
        asks=(Table,),
        off=lambda policy: not policy.tables.class_disclosure,
    ),
    Rule(
        "models.predictors",
        Stage.ANSWER,
        "At most {models.predictors} variables are correlated at once.",
        asks=(Correlation,),
    ),
    Rule(
        "models.classes",
        Stage.ANSWER,
        "Enough classes, of predictors and response, have at least {models.dummy} units.",
        asks=_MODELS,
    ),
    Rule(
        "models.interaction",
        Stage.ANSWER,
        "Every cell of an interaction has no unit or at least {models.interaction}.",
        asks=(Regression,),
    ),
    Rule("models.implied", Stage.ANSWER, "The tables that it implies could be released.", asks=_MODELS),
    Rule(
        "models.units",
        Stage.ANSWER,
        "There are at least {models.units} units, and {models.units_per_column} for each column.",
        asks=_MODELS,
    ),
    Rule(
        "models.unfit",
        Stage.ANSWER,
        "It can be fitted, and nothing in it rests on few units: none has a large leverage or influence, and neither "
        "the whole nor a class is predicted too well.",
        asks=_MODELS,
    ),
)
"""In the order in which they are looked at; all but the quotas, which depend on who asks and not on what."""


def explain(request: Request, policy: Policy, reasons: Sequence[Reason]) -> list[Checked]:
    """How every rule that concerns a request came out, given the reasons to refuse it (none if it is allowed).

    >>> from confide.model.request import Table
    >>> found = explain(Table("people", ("sex",)), Policy(), [Reason("tables.cells", "Too many cells.")])
    >>> [(checked.rule, checked.verdict.value) for checked in found[2:6]]  # doctest: +NORMALIZE_WHITESPACE
    [('tables.dimensions', 'passed'), ('tables.cells', 'failed'),
     ('tables.exclusion', 'passed'), ('universe.marginals', 'not decided')]
    """
    told = {reason.rule: reason for reason in reasons}
    concerned = [rule for rule in RULES if isinstance(request, rule.asks)]
    reached = min((rule.stage for rule in concerned if rule.name in told), default=Stage.ANSWER)
    return [_checked(rule, policy, told, reached) for rule in concerned]


def _checked(rule: Rule, policy: Policy, told: Mapping[str, Reason], reached: Stage) -> Checked:
    wants = rule.words.format(**vars(policy))
    if rule.name in told:
        return Checked(rule.name, wants, Verdict.FAILED, str(told[rule.name]))
    verdict = Verdict.OPEN if rule.stage > reached or _beside(rule, told) else Verdict.PASSED
    return Checked(rule.name, wants, Verdict.OFF if rule.off(policy) else verdict)


def _beside(rule: Rule, told: Mapping[str, Reason]) -> bool:
    """Whether the judge had stopped before this rule: models are judged rule by rule, to the first that says no."""
    if rule.stage is Stage.ANSWER and Table not in rule.asks:
        return bool(told)
    return rule.name == "tables.exclusion" and "models.suppressed" in told
