"""`confide token`: who may ask."""

from typing import Annotated

import typer

from confide.cli.arguments import SiteFolder
from confide.site.access import PersonRole, Reach, add_token, load_access, remove_token
from confide.site.folder import Folder
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
    role: Annotated[PersonRole, typer.Option(help="analyst or custodian.")] = PersonRole.ANALYST,
) -> None:
    """Make a token; it is shown once and stored hashed. A running server knows it at once.

    Example: confide token add mysite ana --role analyst
    """
    Folder(site).names()
    token = add_token(Folder(site).access, name=name, role=role)
    record_act(Folder(site).ledger, "token made", name=name, role=role)
    typer.echo(token)
    if (access := load_access(Folder(site).access)).reach is not Reach.TOKENS:
        typer.echo(f"Nobody needs one to ask: the site is {access.reach}, for {access.reach.words}.", err=True)


@app.command("remove")
def token_remove(site: SiteFolder, name: Annotated[str, typer.Argument(help="Whose token.")]) -> None:
    """Take a token back; a running server lets nobody in with it any more.

    Example: confide token remove mysite ana
    """
    Folder(site).names()
    remove_token(Folder(site).access, name=name)
    record_act(Folder(site).ledger, "token removed", name=name)
    typer.echo(f"The token of {name!r} is removed.")


@app.command("list")
def token_list(site: SiteFolder) -> None:
    """Who has a token.

    Example: confide token list mysite
    """
    Folder(site).names()
    access = load_access(Folder(site).access)
    for token in access.tokens:
        typer.echo(f"{token.name:<30} {token.role:<10} {token.created}")
    if not access.tokens:
        typer.echo("There are no tokens.")
    typer.echo(f"Who may reach the site: {access.words}.", err=True)
