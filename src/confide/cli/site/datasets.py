"""Making a site from data files and looking after what it holds."""

from pathlib import Path
from typing import Annotated

import typer

from confide.answering.service import check as check_site
from confide.answering.service import make_base
from confide.attacks.workload.glance import glance
from confide.cli.arguments import AllowOpen, DataFile, DatasetName, SiteFolder, TableName
from confide.cli.terminal import working
from confide.model.policy import PRESETS
from confide.records import ingest as ingesting
from confide.records.keeping import read_report
from confide.site.cutpoints.draft import draft_cutpoints
from confide.site.folder import Folder
from confide.site.ledger import record_act
from confide.sources.origin import is_database

__all__ = ["check", "cutpoints", "ingest", "init", "safe"]


def init(
    file: DataFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="The site's folder; made if it is not there.")],
    name: Annotated[str | None, typer.Option(help="The data set's name; the file's name if not given.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(list(PRESETS)[:-1])} or {list(PRESETS)[-1]}; standard if not given, or what the site has."
        ),
    ] = None,
    table: TableName = None,
    vintage: Annotated[str, typer.Option(help="What this first version of the data is called.")] = "1",
    dictionary: Annotated[
        Path | None,
        typer.Option(help="A codebook with labels: CSV, XLSX, JSON, DDI (XML), or an SPSS, Stata or SAS file."),
    ] = None,
    households: Annotated[
        Path | None,
        typer.Option(
            help="A file of the households that people live in, or of the people whose jobs or visits the records are; or the "
            "data again, if all is in them."
        ),
    ] = None,
) -> None:
    """Turn a data file into a site: drafts dataset.toml and policy.toml, makes a secret, ingests the data.

    It looks at every column first and says what it took each for; a page with the distributions, for the custodian only, stands
    beside the draft.

    On a site that is there the data set is added. It follows the site's policy, or has its own if the preset is another.

    With --households these are a level of their own to ask about, NAME.households (NAME.people above jobs or visits), drafted
    in a folder within that of NAME.

    Example: confide init survey.csv -o mysite --name people
    """
    name = name or _called(file, table).split(".")[-1 if is_database(file) else 0]
    lines: list[str] = []
    with working(f"Reading {_called(file, table)}"):
        folder = ingesting.add(
            file,
            output,
            name=name,
            preset=preset,
            table=table,
            vintage=vintage,
            dictionary=dictionary,
            households=households,
            tell=lines.append,
        )
    record_act(folder.ledger, "data ingested", dataset=name)
    for line in lines:
        typer.echo(line)
    typer.echo(f"The profile is in {folder.profile(name)}: true figures, for the custodian only.")
    typer.echo(f"The data set {name!r} is ready in {folder.path}.")
    _say_protected(folder, name)
    rules = folder.path / "policy.toml" if folder.follows(name) else folder.own(name)
    typer.echo(f"Next: read {folder.catalog(name)}, which is public, and {rules};")
    typer.echo(f"      or mend the first in a browser: confide describe {output} {name};")
    typer.echo(f"      keep {folder.path / 'secret'} safe; then run: confide check {output}")


def ingest(
    file: DataFile,
    site: SiteFolder,
    dataset: DatasetName,
    table: TableName = None,
    vintage: Annotated[
        str | None, typer.Option(help="What this version is called; the next number if not given.")
    ] = None,
    households: Annotated[Path | None, typer.Option(help="The file of the households that people live in.")] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what the update would show, and whether the policy lets it; load nothing."),
    ] = False,
) -> None:
    """Load a new vintage of a data set, after its data or its dataset.toml changed; on any error the old data stay.

    It says how many units are new, gone and changed. Too few of them are refused, or wait (updates.least, updates.few). Who
    leaves and would be told of stays, and somebody alike leaves instead (updates.stand_ins). A running server takes it up
    with confide reload.

    Example: confide ingest survey.csv mysite people --vintage 2026
    """
    with working(f"Reading {_called(file, table)}"):
        loading = ingesting.preview if dry_run else ingesting.ingest
        done = loading(file, site, name=dataset, table=table, vintage=vintage, households=households)
    if not dry_run:
        record_act(done.folder.ledger, "data ingested", dataset=dataset, vintage=done.vintage)
    for line in done.lines():
        typer.echo(line)
    if dry_run:
        typer.echo(f"They would be loaded as vintage {done.vintage}. Nothing was written.")
        return
    typer.echo(f"The data of {dataset!r} are loaded, as vintage {done.vintage}.")
    _say_protected(done.folder, dataset)


def _called(file: str, table: str | None) -> str:
    """What data are called: their file, or their table."""
    return (table or "database") if is_database(file) else Path(file).name


def _say_protected(folder: Folder, name: str) -> None:
    report = read_report(folder, name)
    for line in report.short() if report else ():
        typer.echo(line)


def safe(
    site: SiteFolder,
    dataset: DatasetName,
    by: Annotated[str, typer.Option(help="The variables of the base, with commas; coarser levels come with them.")],
    controlled: Annotated[int, typer.Option(min=1, help="Tables by up to so many variables stay near the truth.")] = 3,
    time_limit: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds to search; without it, until done.")
    ] = None,
) -> None:
    """Make the protected microdata from which counts come under counts.mechanism = "safe".

    Example: confide safe mysite people --by sex,age_group,region
    """
    names = [name.strip() for name in by.split(",") if name.strip()]
    with working("Searching"):
        base = make_base(site, dataset, by=names, controlled=controlled, time_limit=time_limit)
    record_act(Folder(site).ledger, "base made", dataset=dataset)
    typer.echo(repr(base))
    for note in base.notes:
        typer.echo(note)


def check(site: SiteFolder, allow_open: AllowOpen = False) -> None:
    """Say what is missing, risky or unanswerable in a site, and what an honest analyst gets, in plain words.

    The last notes are of 60 questions that an honest analyst might ask of each data set, as by confide workload. Nothing is recorded.

    Example: confide check mysite
    """
    with working("Looking at the site"):
        findings = [*check_site(site, allow_open=allow_open), *glance(site)]
    for finding in findings:
        typer.echo(f"{finding.kind:<12} {finding.text}")
    if not findings:
        typer.echo("Nothing is missing.")


def cutpoints(
    file: DataFile,
    column: Annotated[str, typer.Argument(help="A numeric column.", metavar="COLUMN")],
    method: Annotated[str, typer.Option(help="fixed, minimum, increasing or partitioned.")] = "minimum",
    minimum: Annotated[int, typer.Option(min=1, help="Least records between two cutpoints.")] = 50,
    table: TableName = None,
) -> None:
    """Draft the cutpoints of a numeric variable, to paste into dataset.toml.

    Example: confide cutpoints survey.csv income --method partitioned --minimum 100
    """
    typer.echo("\n".join(draft_cutpoints(file, column, method=method, minimum=minimum, table=table)))
