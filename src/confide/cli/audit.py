"""`confide audit`: what the recorded questions isolate, and who asked them."""

import json as json_module
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from confide.answering.service import AuditFinding, QuestionAudit
from confide.answering.service import audit as audit_site
from confide.cli.arguments import AllowOpen, SiteFolder
from confide.cli.terminal import working

__all__ = ["audit"]

TOO_MUCH = 4
"""The exit status when somebody's questions are above the limit."""

_HEADS: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("who", "left"),
    ("data set", "left"),
    ("kind", "left"),
    ("score", "right"),
    ("questions", "right"),
    ("what", "left"),
    ("entries", "left"),
)

SHOWN = 8
"""So many entries are named as evidence; --json has all."""


def audit(
    site: SiteFolder,
    dataset: Annotated[str, typer.Argument(help="The data set; all of them if not given.", metavar="DATASET")] = "",
    who: Annotated[str | None, typer.Option(help="One asker only, by name.")] = None,
    since: Annotated[str, typer.Option(help="Questions from this date on (UTC), as in 2026-01-31.")] = "",
    limit: Annotated[
        float | None,
        typer.Option(min=0, help="Most small sets that may be isolated; audit.limit of the policy if not given."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Write the findings as JSON, with all entries.")] = False,
    allow_open: AllowOpen = False,
) -> None:
    """Find families of recorded questions that together isolate small sets of units, and who asked them.

    Looks at each asker and at everybody together, since accounts may collude. Nothing is recorded, and the site need not be
    stopped. The score of a finding is the number of sets of 1 to 3 units that its questions are expected to tell, by counts
    as rules see them. An honest analyst stays near 0.

    pairs: one table over two universes that differ by few units. cells: overlapping sums that add up to single cells of
    a cross, by least squares. splits: one variable grouped in ways that cut each other. burst, refused, quota: how
    somebody asks; these isolate nothing by themselves.

    Exit status: 0 everybody is within the limit, or there is none; 4 somebody is above it; 2 your mistake.

    Example: confide audit mysite people --since 2026-01-01 --limit 20
    """
    with working("Auditing the questions"):
        found = audit_site(site, dataset, who=who, since=since, allow_open=allow_open)
    above = found.above(limit)
    typer.echo(_json(found)) if json else _tell(found, above)
    if above:
        raise typer.Exit(TOO_MUCH)


def _json(found: QuestionAudit) -> str:
    scores = [{"who": who, "dataset": name, "score": round(s, 1)} for (who, name), s in found.scores.items()]
    findings = [{**asdict(finding), "score": round(finding.score, 1)} for finding in found.findings]
    told = {"asked": found.asked, "scores": scores, "findings": findings, "unread": found.unread, "notes": found.notes}
    return json_module.dumps(told, ensure_ascii=False, indent=2)


def _tell(found: QuestionAudit, above: Sequence[tuple[str, str]]) -> None:
    typer.echo(f"{found.asked} {'question' if found.asked == 1 else 'questions'} recorded.")
    if found.findings:
        _table(found.findings)
    for (who, name), score in sorted(found.scores.items(), key=lambda item: -item[1]):
        typer.echo(
            f"{who}, {name}: {score:.1f} small sets isolated{', above the limit' if (who, name) in above else ''}."
        )
    if found.unread:
        typer.echo(f"Answered questions that no longer fit the codebook and were left out: {found.unread}.")
    for note in found.notes:
        typer.echo(note)


def _table(findings: tuple[AuditFinding, ...]) -> None:
    table = Table(box=None, pad_edge=False)
    for head, side in _HEADS:
        table.add_column(head, justify=side, overflow="fold")
    for one in findings:
        more = f" and {len(one.entries) - SHOWN} more" if len(one.entries) > SHOWN else ""
        evidence = ", ".join(map(str, one.entries[:SHOWN])) + more
        table.add_row(one.who, one.dataset, one.kind, f"{one.score:.1f}", str(one.questions), one.words, evidence)
    Console(width=None if Console().is_terminal else 140, markup=False, highlight=False).print(table)
