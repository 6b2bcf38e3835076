"""`confide attack`: the red team at one's own site, or at another with what it was made of."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table

from confide.attacks import red_team
from confide.attacks.history import keep_report
from confide.attacks.registry import attacks
from confide.attacks.report import AttackReport
from confide.attacks.result import Result
from confide.attacks.runner import LocalField
from confide.attacks.showing import HEAD, report_page, rows, sentences
from confide.cli.arguments import AllowOpen, Token
from confide.cli.terminal import write
from confide.errors import Mistake
from confide.site.folder import Papers

__all__ = ["attack"]

TOO_MUCH = 4
"""The exit status when an attack is above the limit."""


def attack(
    site: Annotated[str, typer.Argument(help="The site's folder, or its address (http://...).", metavar="SITE")] = "",
    dataset: Annotated[str, typer.Argument(help="The data set.", metavar="DATASET")] = "",
    only: Annotated[str, typer.Option(help="Attacks by name or number, with commas: changed-cells,T4.")] = "",
    targets: Annotated[int, typer.Option(min=1, help="Most targets of an attack.")] = 200,
    questions: Annotated[
        int | None, typer.Option(min=1, help="Most questions of an attack; a day's quota if not given.")
    ] = None,
    minutes: Annotated[float, typer.Option(min=0, help="Ask nothing more after so long.")] = 15.0,
    seed: Annotated[int, typer.Option(min=0, help="The seed of all that the intruder draws.")] = 1,
    keys: Annotated[str, typer.Option(help="What is known of a target, with commas; else each attack chooses.")] = "",
    secret: Annotated[str, typer.Option(help="The variable that is wanted; else each attack chooses.")] = "",
    policy: Annotated[
        str | None, typer.Option(help="Attack the site under another policy: a file, or the name of a preset.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="For a site elsewhere: its data, or a copy of its folder, to score.")
    ] = None,
    fail_above: Annotated[
        float | None, typer.Option(min=0, max=1, help="The limit of lift; red_team.limit of the policy if not given.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the results here; a run that was cut off goes on.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with charts here.")] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the attacks, and what each intruder knows.")] = False,
    token: Token = None,
    allow_open: AllowOpen = False,
) -> None:
    """Attack a site before others do: what would an intruder learn, beyond guessing and beyond statistics?

    A site of this machine is attacked as a copy, so that its ledger and quotas stay as they are; the results are kept
    with it and shown on the custodian's pages. The intruder knows the codebook, the policy and the code of Confide, and
    a few keys of each target. Lift is the share of targets about whom the intruder is right, less what the best guess,
    or the same attack on the site without the targets, gets right.

    Exit status: 0 every attack is within the limit, 4 one is above it, 1 one could not be carried out, 2 your mistake.

    Example: confide attack mysite people --only changed-cells,boxes --targets 200 --json out.json
    """
    if listing:
        _list()
        return
    if not site or not dataset:
        raise Mistake("Name a site and a data set.", suggestions=["As in: confide attack mysite people"])
    team = red_team.RedTeam(
        only=only, targets=targets, questions=questions, minutes=minutes, seed=seed,
        keys=tuple(filter(None, (key.strip() for key in keys.split(",")))), secret=secret, json=json,
    )  # fmt: skip
    chosen = None if policy is None else red_team.named_policy(policy, site=site, dataset=dataset)
    opened = red_team.open_field(site, dataset, policy=chosen, truth=truth, token=token, allow_open=allow_open)
    with opened as field, _AttacksShown() as progress:
        found = team.attack(field, progress=progress)
    if isinstance(field, LocalField) and chosen is None:
        keep_report(Papers(field.site), found)
    limit = field.policy.red_team.limit if fail_above is None else fail_above
    quota = field.policy.quota.per_day
    _tell(found, limit=limit, quota=quota)
    if report is not None:
        write(report_page(found, limit=limit, quota=quota).html(), report)
        typer.echo(f"The page is {report}.", err=True)
    raise typer.Exit(_status(found, limit))


def _status(found: AttackReport, limit: float) -> int:
    if found.above(limit):
        return TOO_MUCH
    return 1 if any(result.stopped and result.applies for result in found.results) else 0


class _AttacksShown(red_team.AttackProgress):
    """Progress on stderr, to a person as bars, to a file as a line an attack."""

    def __init__(self) -> None:
        words = TextColumn("{task.description}")
        self._console = Console(stderr=True)
        self._bar = Bar(words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=self._console)
        self._questions = 0
        self._task = self._bar.add_task("Attacking", total=None, start=False)

    def __enter__(self) -> "_AttacksShown":
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._bar.stop()

    def began(self, attacks: int) -> None:
        self._bar.update(self._task, total=attacks)
        self._bar.start_task(self._task)

    def asked(self, questions: int) -> None:
        self._questions += questions
        self._bar.update(self._task, description=f"Attacking: {self._questions:,} questions")

    def ended(self, result: Result) -> None:
        self._bar.advance(self._task)
        lift = f"{100 * result.lift:+.1f} points" if result.applies and result.targets else "nothing to try"
        self._console.print(f"{result.code:<4} {result.attack:<24} {lift}", highlight=False)


def _tell(found: AttackReport, *, limit: float, quota: int) -> None:
    heads = ("", "attack", "targets", "claimed", "right of these", "right in all", "by guess", "without target", "lift",
             "questions", "refused")  # fmt: skip
    assert len(heads) == len(HEAD)
    table = Table(
        box=None, pad_edge=False, title=f"{found.conditions.dataset} under {found.conditions.policy}: percent"
    )
    for head, name in zip(heads, HEAD, strict=True):
        table.add_column(head, justify="left" if name in ("code", "attack") else "right", overflow="fold")
    above = {result.attack for result in found.above(limit)}
    for line in rows(found.results):
        table.add_row(*line, style="bold" if line[1] in above else None)
    Console(width=None if Console().is_terminal else 140).print(table)
    for sentence in sentences(found, limit=limit, quota=quota):
        typer.echo(sentence)


def _list() -> None:
    for found in attacks().values():
        typer.echo(f"{found.code:<4} {found.name:<24} {found.words}\n     knows: {found.knows}")
