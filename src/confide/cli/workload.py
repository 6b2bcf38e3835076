"""`confide workload`: what an honest analyst gets of a site."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from confide.attacks.workload.generator import Generator
from confide.attacks.workload.measuring import measure_remote, measure_site
from confide.attacks.workload.report import page_of, parts_of, remarks_of, text_of
from confide.attacks.workload.summary import Usefulness
from confide.cli.arguments import AllowOpen, DatasetName, SitePlace, Token
from confide.cli.terminal import write
from confide.client import open as open_site
from confide.errors import Mistake
from confide.model.policy import PRESETS, Policy
from confide.site.folder import Papers
from confide.site.policy_drafts import read_tried

__all__ = ["workload"]


def workload(
    site: SitePlace,
    dataset: DatasetName,
    questions: Annotated[int, typer.Option(min=1, max=100_000, help="How many questions, at most.")] = 300,
    statistics: Annotated[
        int | None,
        typer.Option(
            min=0, max=100_000, help="How many more, for percentages, ratios, errors and the like: a fifth as many."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the questions.")] = 1,
    ledger: Annotated[
        bool, typer.Option("--ledger", help="Ask the last questions of the site's ledger instead.")
    ] = False,
    policy: Annotated[
        str | None, typer.Option(help="Measure under this policy: a preset or a draft policy.toml.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="For a site elsewhere: its data, or a copy of its folder, to measure errors.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--json", help="Write what was measured as JSON.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with pictures.")] = None,
    token: Token = None,
    allow_open: AllowOpen = False,
) -> None:
    """Ask what an honest analyst would ask: how much is answered, and how far from the truth are the answers?

    Tables of 1 to 3 variables at mostly coarse levels, totals and means, models of 3 to 8 predictors and correlations, over
    universes of 0 to 3 conditions; and in questions of their own percentages, ratios, index numbers, standard errors, models
    of several classes and models with errors by the design. Errors are in units of the sampling error: below 1, protection
    errs less than the sample does. A site of this machine is measured as a copy: its ledger and quota stay as they are. A
    site elsewhere records the questions, and tells no errors without --truth. True figures: for the custodian.

    Exit status: 0 measured, whatever the outcome; 2 your mistake, 1 our fault.

    Example: confide workload mysite people --questions 300 --report usefulness.html
    """
    more = questions // 5 if statistics is None else statistics
    generator = Generator(questions=questions, statistics=more, seed=seed)
    with _showing() as progress:
        if site.startswith(("http://", "https://")):
            _must_be_local({"--ledger": ledger, "--policy": policy})
            with open_site(site, token=token) as opened:
                found = measure_remote(opened, dataset, truth=truth, generator=generator, progress=progress)
        else:
            _must_be_remote({"--truth": truth})
            chosen = _policy(policy, Path(site), dataset, allow_open=allow_open)
            found = measure_site(
                Path(site), dataset, policy=chosen, generator=generator, ledger=ledger, progress=progress
            )
    _print(found)
    if output is not None:
        write(json.dumps(found.as_dict(), ensure_ascii=False, indent=1) + "\n", output)
    if report is not None:
        write(page_of(found).html(), report)


def _must_be_local(given: dict[str, object]) -> None:
    for name in (name for name, value in given.items() if value):
        raise Mistake(
            f"{name} needs a site on this machine: one elsewhere has its own policy and keeps its ledger.",
            suggestions=[f"Leave {name} out, or name the site's folder."],
        )


def _must_be_remote(given: dict[str, object]) -> None:
    for name in (name for name, value in given.items() if value):
        raise Mistake(f"{name} is for a site elsewhere; a site on this machine has its own truth. Leave it out.")


def _policy(given: str | None, site: Path, dataset: str, *, allow_open: bool) -> Policy:
    """The policy of the data set, a preset, or a draft."""
    if given is None:
        found = Papers(site).policy(dataset)
    elif given in PRESETS:
        found = PRESETS[given]
    else:
        found = _draft(Path(given), site, dataset)
    if not found.protects and not allow_open:
        raise Mistake(
            f"The policy {found.name!r} protects nothing.", suggestions=["For teaching only: add --allow-open."]
        )
    return found


def _draft(file: Path, site: Path, dataset: str) -> Policy:
    try:
        return read_tried(Papers(site), file, name=dataset)
    except (OSError, UnicodeDecodeError):
        raise Mistake(
            f"{str(file)!r} is no preset and cannot be read as a file.",
            suggestions=["Presets: " + ", ".join(PRESETS) + "."],
        ) from None


@contextmanager
def _showing() -> Iterator[Callable[[int, int], None]]:
    """Progress on stderr, and only to a person."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Making up questions", total=None)
        yield lambda asked, of: bar.update(task, description="Asking", completed=asked, total=of)


def _print(found: Usefulness) -> None:
    console = Console()
    if not console.is_terminal:
        typer.echo(text_of(found), nl=False)
        return
    for part in parts_of(found):
        table = Table(title=part.title, title_justify="left", box=None, pad_edge=False)
        for place, name in enumerate(part.head):
            table.add_column(name, justify="right" if place else "left")
        for row in part.rows:
            table.add_row(*row)
        console.print(table, "", markup=False)
    for sentence in (*remarks_of(found), found.sentence()):
        console.print(sentence, markup=False, highlight=False)
