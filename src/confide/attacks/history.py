"""The runs of the red team that a site keeps, so that policies can be compared by what they stop.

mysite/red-team/people-20260115T093000Z.json
"""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from confide.attacks.report import AttackReport, read_report, write_report
from confide.attacks.result import Result
from confide.errors import Mistake
from confide.site.documents import RED_TEAM, documents_of
from confide.site.folder import Papers
from confide.site.state import open_state

__all__ = ["Scorecard", "keep_report", "kept_reports", "scorecards"]

_STAMP = re.compile(r"[-:]")


@dataclass(frozen=True)
class Scorecard:
    """One data set under one policy: the last result of each attack, and when the last of them was had."""

    dataset: str
    policy: str
    mark: str
    when: str
    results: tuple[Result, ...]

    @property
    def tried(self) -> list[Result]:
        """The attacks that had something to try."""
        return [result for result in self.results if result.applies and result.targets]

    def above(self, limit: float) -> list[Result]:
        """Those whose lift is above a limit."""
        return [result for result in self.tried if result.lift > limit]


def keep_report(papers: Papers, report: AttackReport) -> Path:
    """Keep a run with the site, at all its machines."""
    place = papers.path / RED_TEAM
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise Mistake(f"{place} cannot be made ({error.strerror}).") from None
    file = place / f"{report.conditions.dataset}-{_STAMP.sub('', report.when)}.json"
    write_report(report, file)
    file.chmod(0o600)
    with closing(open_state(papers.path)) as state:
        documents_of(papers.path, RED_TEAM, state).fill()
    return file


def kept_reports(papers: Papers) -> Iterator[AttackReport]:
    """The runs that the site keeps, the oldest first; a file that cannot be read is left out."""
    found = []
    for file in (papers.path / RED_TEAM).glob("*.json"):
        try:
            found.append(read_report(file))
        except Mistake:
            continue
    yield from sorted(found, key=lambda report: report.when)


def scorecards(papers: Papers) -> dict[str, list[Scorecard]]:
    """By data set, the policies it was attacked under, the last first."""
    cards: dict[tuple[str, str], Scorecard] = {}
    for report in kept_reports(papers):
        about = report.conditions
        place = about.dataset, about.mark
        known = {r.attack: r for r in cards[place].results} if place in cards else {}
        results = tuple((known | {r.attack: r for r in report.results}).values())
        cards.pop(place, None)
        cards[place] = Scorecard(about.dataset, about.policy, about.mark, report.when, results)
    found: dict[str, list[Scorecard]] = {}
    for card in reversed(cards.values()):
        found.setdefault(card.dataset, []).append(card)
    return found
