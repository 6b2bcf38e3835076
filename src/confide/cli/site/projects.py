"""`confide project`: people who ask together, for a purpose."""

from pathlib import Path
from typing import Annotated

import typer

from confide.answering.service import project_policy
from confide.cli.arguments import SiteFolder
from confide.errors import Mistake
from confide.site.access import Project, add_project, load_access, remove_project
from confide.site.folder import Folder, must_be_datasets, write_whole
from confide.site.ledger import record_act

__all__ = ["app"]

app = typer.Typer(
    help="People who ask about some data sets together, for a purpose.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(help="The project's name: letters, digits, _ and -.")]


@app.command("add")
def project_add(
    site: SiteFolder,
    name: Name,
    purpose: Annotated[str, typer.Option(help="What it is for, in one line.")],
    dataset: Annotated[list[str], typer.Option(help="A data set it may ask about; may be repeated.")],
    person: Annotated[list[str] | None, typer.Option(help="Who is in it; may be repeated.")] = None,
    quota: Annotated[int, typer.Option(min=0, help="Questions a day of all its people together; 0: no limit.")] = 0,
    review: Annotated[bool, typer.Option("--review", help="Every result waits for a custodian's yes.")] = False,
    policy: Annotated[
        Path | None, typer.Option(help="A policy of its own, on top of the data set's: limits only, no other noise.")
    ] = None,
) -> None:
    """Make a project. Its data sets are then there for its people only, and for tokens that name them.

    Its people ask with tokens of their own: confide token add SITE NAME --project PROJECT

    Example: confide project add mysite cancer --purpose "Survival by region" --dataset people --person ana
    """
    folder = Folder(site)
    must_be_datasets(folder, dataset)
    made = Project(name, purpose, tuple(person or ()), tuple(dataset), quota, review, policy is not None)
    if load_access(folder.access).project(name) is None and policy is not None:
        _keep_policy(folder, made, policy)
    add_project(folder.access, made)
    record_act(folder.ledger, "project made", name=name, purpose=purpose, terms=made.words)
    typer.echo(f"The project {name!r}: {made.words}.")


@app.command("remove")
def project_remove(site: SiteFolder, name: Name) -> None:
    """Take a project away; its tokens open nothing any more.

    Example: confide project remove mysite cancer
    """
    folder = Folder(site)
    folder.names()
    remove_project(folder.access, name=name)
    folder.project(name).unlink(missing_ok=True)
    record_act(folder.ledger, "project removed", name=name)
    typer.echo(f"The project {name!r} is removed.")


@app.command("list")
def project_list(site: SiteFolder) -> None:
    """The projects: who asks what for, and about what.

    Example: confide project list mysite
    """
    Folder(site).names()
    projects = load_access(Folder(site).access).projects
    for project in projects:
        typer.echo(f"{project.name:<20} {project.purpose}\n{'':<20} {project.words}")
    if not projects:
        typer.echo("There are no projects.")


def _keep_policy(folder: Folder, project: Project, file: Path) -> None:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise Mistake(f"{file} cannot be read.") from None
    for dataset in project.datasets:
        project_policy(folder, project.name, folder.policy(dataset), text)
    folder.project(project.name).parent.mkdir(mode=0o700, exist_ok=True)
    write_whole(folder.project(project.name), text)
