"""`confide token`: who may ask."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from confide.cli.arguments import SiteFolder
from confide.site.access import PersonRole, Reach, TokenTerms, add_token, load_access, remove_token
from confide.site.folder import Folder, must_be_datasets
from confide.site.ledger import record_act

__all__ = ["app"]

app = typer.Typer(
    help="Who may ask: tokens, stored hashed in access.toml.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("add")
def token_add(
    site: SiteFolder,
    name: Annotated[str, typer.Argument(help="Who it is for.")],
    role: Annotated[
        PersonRole, typer.Option(help="analyst, custodian, or monitor, which reads /metrics only.")
    ] = PersonRole.ANALYST,
    expires: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Its last day (UTC); none if not given.")
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="A data set it is for; may be repeated; all if not given.")
    ] = None,
    quota: Annotated[
        int, typer.Option(min=0, help="Questions a day, of all data sets together; 0: as the policies say.")
    ] = 0,
    project: Annotated[str, typer.Option(help="The project in which it asks; the person must be in it.")] = "",
    label: Annotated[str, typer.Option(help="Tells it from other tokens of the same person, as in laptop.")] = "",
) -> None:
    """Make a token; it is shown once and stored hashed. A running server knows it at once.

    A person may have several, each with a label of its own.

    Example: confide token add mysite ana --expires 2030-12-31 --dataset people --quota 50
    """
    must_be_datasets(Folder(site), dataset or ())
    terms = TokenTerms(label, expires.date() if expires else None, tuple(dataset or ()), quota, project)
    token = add_token(Folder(site).access, name=name, role=role, terms=terms)
    record_act(Folder(site).ledger, "token made", name=name, role=role, **terms.told)
    typer.echo(token)
    if (access := load_access(Folder(site).access)).reach is not Reach.TOKENS:
        typer.echo(f"Nobody needs one to ask: the site is {access.reach}, for {access.reach.words}.", err=True)


@app.command("remove")
def token_remove(
    site: SiteFolder,
    name: Annotated[str, typer.Argument(help="Whose token.")],
    label: Annotated[
        str | None, typer.Option(help="Only the one with this label; all of the person if not given.")
    ] = None,
) -> None:
    """Take the tokens of a person back; a running server lets nobody in with them any more.

    Example: confide token remove mysite ana
    """
    Folder(site).names()
    remove_token(Folder(site).access, name=name, label=label)
    record_act(Folder(site).ledger, "token removed", name=name, **({"label": label} if label else {}))
    typer.echo(f"The token of {name!r} is removed.")


@app.command("list")
def token_list(site: SiteFolder) -> None:
    """Who has a token.

    Example: confide token list mysite
    """
    Folder(site).names()
    access = load_access(Folder(site).access)
    for token in access.tokens:
        over = "expired " if token.is_over(datetime.now(UTC).date()) else ""
        line = f"{token.name:<30} {token.role:<10} {token.created} {token.terms.label:<12} {over}{token.terms.words}"
        typer.echo(line.rstrip())
    if not access.tokens:
        typer.echo("There are no tokens.")
    typer.echo(f"Who may reach the site: {access.words}.", err=True)
