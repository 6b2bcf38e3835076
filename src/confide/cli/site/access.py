"""`confide access`: who may reach a site."""

from typing import Annotated

import typer

from confide.cli.arguments import SiteFolder
from confide.errors import Mistake
from confide.site.access import Reach, declare, load_access
from confide.site.folder import Folder
from confide.site.ledger import record_act

__all__ = ["access"]


def access(
    site: SiteFolder,
    reach: Annotated[Reach | None, typer.Argument(help="local, tokens or public; shown if not given.")] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            help="A name by which other machines call the site, with its port unless 80 or 443; may be repeated."
        ),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="The address of a web server in front, to be believed who asks and how; may be repeated."),
    ] = None,
) -> None:
    """Declare who may reach the site: its own machine (local), people with a token, or the public.

    What is not given is not so: names and web servers in front are declared together with the rest. Tokens stay. A running server
    knows at once.

    Example: confide access mysite tokens --name stats.example.org --proxy 127.0.0.1
    """
    folder = Folder(site)
    folder.names()
    if reach is None and (name or proxy):
        raise Mistake("Names and web servers are declared with who may reach the site: local, tokens or public.")
    if reach is not None:
        declare(folder.access, reach, names=name or (), proxies=proxy or ())
        record_act(folder.ledger, "access declared", reach=reach)
    typer.echo(f"Who may reach the site: {load_access(folder.access).words}.")
