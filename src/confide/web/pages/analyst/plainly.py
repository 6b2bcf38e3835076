"""Policies, roles and kinds of variables in the words of a reader who knows none of them."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from confide.answering.service import RULES, Service, Stage, scope
from confide.model.admission.derived import with_definitions
from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.model.policy import Policy
from confide.model.request import Request

__all__ = [
    "ROLES",
    "about_address",
    "in_words",
    "kind_of",
    "protected_how",
    "rules_of",
    "title_of",
    "unit_of",
    "uses_of",
]

ROLES = {
    Role.KEY: "Could help to recognise someone, so fine detail is guarded.",
    Role.CONFIDENTIAL: "Confidential: nobody may learn it about anyone.",
    Role.OTHER: "Neither identifying nor confidential by itself.",
}


def protected_how(policy: Policy) -> str:
    """A policy in one sentence."""
    said, records = [], policy.records
    if records.exchanges:
        said.append("some units exchange a key with others alike")
    if records.noise or records.noise_exposed:
        said.append(f"confidential numbers carry noise, {records.noise:.0%} as a rule")
    if policy.drop.k >= 2:
        said.append("a few units are left out")
    if policy.counts.mechanism == "safe":
        said.append("counts come from protected microdata")
    if policy.counts.mechanism == "cell-key":
        said.append(f"counts are changed at random by at most {policy.counts.distance}")
    if policy.totals.mechanism == "ma":
        said.append(f"totals by at most {2 * policy.totals.beta:.0%}")
    if policy.totals.mechanism == "thompson":
        said.append("totals are changed at random")
    if policy.universe.gamma:
        said.append(f"groups under {policy.universe.gamma} are refused")
    text = "; ".join(said) if policy.protects else "nothing: this site is for teaching"
    return text[0].upper() + text[1:] + "."


def about_address(service: Service, name: str) -> str:
    """Where it is said how answers about a data set are protected."""
    return "/about" if service.follows(name) else f"/about?{urlencode({'dataset': name})}"


def rules_of(policy: Policy) -> list[tuple[str, list[tuple[str, str]]]]:
    """The rules that a policy has switched on, with their names, by what they look at."""
    headings: dict[str, list[tuple[str, str]]] = {
        "What may be asked for": [],
        "Whom it may be about": [],
        "What may be released": [],
    }
    for rule in RULES:
        if rule.applies(policy):
            place = {Stage.SHAPE: 0, Stage.UNIVERSE: 1}.get(min(rule.judges), 2)
            list(headings.values())[place].append((rule.wants(policy), rule.name))
    return list(headings.items())


def unit_of(dataset: Dataset) -> str:
    """Whom a record is about."""
    unit = dataset.variables.get(dataset.unit or "")
    return unit.label if unit is not None else dataset.unit or "each record"


def kind_of(variable: Variable) -> str:
    """What values a variable has."""
    classes = f"{len(variable.codes)} classes" if variable.codes else ""
    if not variable.numeric:
        return classes
    if variable.of is not None:
        return f"{classes} of a number"
    return f"number, {classes}" if classes else "number"


def title_of(rows: Sequence[str], columns: Sequence[str], dataset: Dataset) -> str:
    """A table in words: its rows by its columns."""
    sides = [[dataset.variables[name].label for name in side] for side in (rows, columns) if side]
    return " by ".join(" and ".join(side) for side in sides)


def in_words(request: Request[Any], dataset: Dataset) -> str:
    """What a question asks for, and of whom."""
    dataset = with_definitions(dataset.declared, request.define)
    return f"{request.words(dataset)}. {scope(request.where, dataset)}."


def uses_of(variable: Variable) -> list[tuple[str, bool, str]]:
    """What a variable can be used for: words, whether it can, and why not."""
    cut = "it has no classes: no cutpoints are declared"
    return [
        ("Rows and columns of a table", variable.classifies, cut),
        ("Conditions of a universe", variable.classifies and variable.universe,
         "the custodian keeps it out of universes" if variable.classifies else cut),
        ("Totals and means", variable.measurable, "it is not a number" if not variable.numeric else "it is a recode"),
        ("Models, as response or predictor", True, ""),
    ]  # fmt: skip
