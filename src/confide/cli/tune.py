"""`confide tune`: the policy of a data set that answers most within the red team's limit."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from confide.attacks.tuning import tuning
from confide.attacks.tuning.showing import HEAD, page_of, policy_text, rows, sentences
from confide.attacks.tuning.trial import PolicyTrial
from confide.cli.arguments import DatasetName, SiteFolder
from confide.cli.terminal import write
from confide.errors import Mistake

__all__ = ["tune"]

TOO_MUCH = 4
"""The exit status when no policy is within the limit."""


def tune(
    site: SiteFolder,
    dataset: DatasetName,
    tries: Annotated[
        list[str] | None,
        typer.Option("--try", metavar="FIELD=VALUES", help="Values to try for a field, with commas. May be repeated."),
    ] = None,
    attacks: Annotated[str, typer.Option(help="Attacks by name or number, with commas.")] = tuning.STRONGEST,
    targets: Annotated[int, typer.Option(min=1, help="Most targets of an attack.")] = 100,
    questions: Annotated[int, typer.Option(min=1, help="Most questions of an attack.")] = 400,
    workload: Annotated[int, typer.Option(min=1, max=100_000, help="How many honest questions.")] = 100,
    minutes: Annotated[float, typer.Option(min=0, help="Measure nothing more after so long.")] = 60.0,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the attacks and of the honest questions.")] = 1,
    json: Annotated[Path | None, typer.Option(help="Write the figures here; a run that was cut off goes on.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with the map here.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the recommended policy as TOML.")] = None,
) -> None:
    """Find the policy that answers most within the red team's limit: vary its fields, attack and ask under each variant.

    One field is changed at a time, then the two best changes together. Without --try a few fields that the policy uses are
    made smaller and larger. Each variant is measured on a copy of the site, its records protected anew: the lift of the
    worst attack (red_team.limit is the most that is allowed), the share of honest questions that are answered, and their
    median error in sampling errors. Needs the true records. True figures: for the custodian.

    Exit status: 0 a policy is recommended, 4 none is within the limit, 1 the time ran out, 2 your mistake.

    Example: confide tune mysite people --try tables.mean_cell=2,4,8 --json tune.json -o draft.toml
    """
    with _TuningShown() as progress:
        found = tuning.tune(
            site, dataset, tries=tries or (), attacks=attacks, targets=targets, questions=questions, workload=workload,
            minutes=minutes, seed=seed, json=json, progress=progress,
        )  # fmt: skip
    _tell(found)
    if report is not None:
        write(page_of(found).html(), report)
    if output is not None:
        if found.policy is None:
            raise Mistake("There is no policy to write.", suggestions=["Give it more time: --minutes."])
        write(policy_text(found, command=shlex.join(["confide", *sys.argv[1:]])), output)
    raise typer.Exit(_status(found))


def _status(found: tuning.Tuning) -> int:
    if found.left or found.recommended is None:
        return 1
    return 0 if found.recommended.within(found.limit) else TOO_MUCH


def _tell(found: tuning.Tuning) -> None:
    table = Table(box=None, pad_edge=False, title=f"{found.conditions.dataset} under {found.conditions.policy}, varied")
    for name in HEAD:
        table.add_column(
            name, justify="left" if name in ("policy", "worst attack", "remarks") else "right", overflow="fold"
        )
    for line in rows(found):
        table.add_row(*line, style="bold" if "recommended" in line[-1] else None)
    Console(width=None if Console().is_terminal else 140, markup=False, highlight=False).print(table)
    for sentence in sentences(found):
        typer.echo(sentence)


class _TuningShown(tuning.TuneProgress):
    """Progress on stderr: to a person as a bar with the time that is left, to a file as a line a variant."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        left = (TextColumn("left:"), TimeRemainingColumn(elapsed_when_finished=True))
        self._bar = Bar(*columns, *left, console=self._console, speed_estimate_period=3600.0)
        self._questions = 0
        self._task = self._bar.add_task("Making up questions", total=None)

    def __enter__(self) -> "_TuningShown":
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._bar.stop()

    def variants(self, number: int) -> None:
        self._bar.update(self._task, total=number, description="Measuring")

    def asked(self, questions: int) -> None:
        self._questions += questions
        self._bar.update(self._task, description=f"Measuring: {self._questions:,} questions of attacks")

    def measured(self, trial: PolicyTrial) -> None:
        self._bar.advance(self._task)
        told = f"lift {100 * trial.risk:.1f} points, {100 * trial.share:.0f} % answered"
        self._console.print(f"{trial.words}: {told}", highlight=False, markup=False, soft_wrap=True)
