"""`confide token`: who may ask."""

from typing import Annotated

import typer

from confide.cli.arguments import SiteFolder
from confide.site.access import Access, PersonRole, add_token, remove_token, set_public
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


@app.command("remove")
def token_remove(site: SiteFolder, name: Annotated[str, typer.Argument(help="Whose token.")]) -> None:
    """Take a token back; a running server lets nobody in with it any more.

    Example: confide token remove mysite ana
    """
    Folder(site).names()
    remove_token(Folder(site).access, name=name)
    record_act(Folder(site).ledger, "token removed", name=name)
    typer.echo(f"The token of {name!r} is removed.")


@app.command("public")
def token_public(
    site: SiteFolder, on: Annotated[bool, typer.Option("--on/--off", help="Whether they may.")] = True
) -> None:
    """Let people without a token ask, as analysts, wherever they are; or not any more.

    Example: confide token public mysite
    """
    Folder(site).names()
    set_public(Folder(site).access, public=on)
    record_act(Folder(site).ledger, "site made public" if on else "site closed to the public")
    typer.echo("People without a token may ask." if on else "Only people with a token may ask.")


@app.command("list")
def token_list(site: SiteFolder) -> None:
    """Who has a token.

    Example: confide token list mysite
    """
    Folder(site).names()
    access = Access.load(Folder(site).access)
    for token in access.tokens:
        typer.echo(f"{token.name:<30} {token.role:<10} {token.created}")
    if access.public:
        typer.echo("The site is public: people without a token may ask too.")
    elif not access.tokens:
        typer.echo("There are no tokens: the site answers on this machine only.")
