"""The scorecard of the red team: what each attack achieved, under the policy in force and under those before it."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import FastAPI, Request, Response

from confide.attacks.history import Scorecard, scorecards
from confide.attacks.result import Result
from confide.attacks.showing import lifts_chart
from confide.model.policy import Policy
from confide.site.access import Person
from confide.web.charts import Picture, picture
from confide.web.pages.custodian.context import CustodianContext

__all__ = ["add_red_team"]

POLICIES = 4
"""So many policies are compared, those attacked last."""


@dataclass(frozen=True)
class _Line:
    """One attack, with its last result under each policy that is shown."""

    code: str
    name: str
    words: str
    results: tuple[Result | None, ...]


@dataclass(frozen=True)
class _AttackSheet:
    """One data set: the policies it was attacked under, the last first, and what came of it; and the policy in force."""

    dataset: str
    policy: Policy
    cards: tuple[Scorecard, ...]
    lines: tuple[_Line, ...]
    chart: Picture | None


def add_red_team(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/red-team."""
    service = context.service

    @app.get("/custodian/red-team", include_in_schema=False)
    def red_team(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        service.attacked.take_in()
        found = scorecards(service.papers)
        sheets = [
            _sheet(request, custodian, name, service.policy_of(name), found[name])
            for name in service.datasets
            if name in found
        ]
        missing = [name for name in service.datasets if name not in found]
        return context.render(request, "red_team.html", sheets=sheets, missing=missing)


def _sheet(request: Request, custodian: Person, name: str, policy: Policy, cards: list[Scorecard]) -> _AttackSheet:
    shown, limit = tuple(cards[:POLICIES]), policy.red_team.limit
    tried = shown[0].tried
    chart = picture(request, {**lifts_chart(tried, limit=limit), "title": None, "width": "container"}, custodian)
    return _AttackSheet(name, policy, shown, _lines(shown), chart if tried else None)


def _lines(cards: tuple[Scorecard, ...]) -> tuple[_Line, ...]:
    known = [{result.attack: result for result in card.results if result.applies} for card in cards]
    first = {name: result for results in reversed(known) for name, result in results.items()}
    return tuple(
        _Line(result.code, name, result.words, tuple(results.get(name) for results in known))
        for name, result in first.items()
    )
