"""Running a site for years: whether it is well, copies of it, and a site made from a copy."""

from pathlib import Path
from typing import Annotated

import typer

from confide.cli.arguments import SiteFolder
from confide.cli.terminal import working
from confide.site.backup import back_up
from confide.site.backup import restore as restore_site
from confide.site.doctor import examine
from confide.site.folder import Folder
from confide.site.ledger import record_act

__all__ = ["backup", "doctor", "restore"]


def doctor(site: SiteFolder) -> None:
    """Say whether a site can be served safely, and what to do if not. Works beside a running server.

    Exit status: 0 all is well, 1 something is to be mended, 2 your mistake.

    Example: confide doctor mysite
    """
    found = list(examine(Folder(site)))
    for each in found:
        typer.echo(f"{'MEND' if each.mend else 'OK':<5} {each.what + ':':<13} {each.found}")
        if each.mend:
            typer.echo(f"{'':<6}{'':<13} -> {each.mend}")
    raise typer.Exit(1 if any(each.mend for each in found) else 0)


def backup(
    site: SiteFolder,
    to: Annotated[Path, typer.Argument(help="A folder that is not there yet.", metavar="TO")],
    secret_to: Annotated[
        Path | None, typer.Option("--secret-to", help="Copy the secret, too: to this file, on another medium.")
    ] = None,
) -> None:
    """Copy a site while it is served: a consistent copy, checked, without the secret.

    Example: confide backup mysite /media/usb/mysite
    """
    with working("Copying"):
        found = back_up(site, to, secret_to=secret_to)
    record_act(Folder(site).ledger, "site backed up", entries=found.entries)
    typer.echo(f"{len(found.files)} files and {found.entries} entries of the ledger are in {to}. Head: {found.head}")
    if secret_to is None:
        typer.echo(f"The secret is not among them (its public name is {found.secret}): keep a copy of it apart.")
    else:
        typer.echo(f"The secret is in {secret_to}: keep it apart.")


def restore(
    source: Annotated[Path, typer.Argument(help="What confide backup made.", metavar="FROM")],
    site: Annotated[Path, typer.Argument(help="Where the site shall be; nothing may be there.", metavar="SITE")],
    secret: Annotated[Path | None, typer.Option(help="The copy of the secret.")] = None,
) -> None:
    """Make a site from a copy, where there is none. The copy must be what was made, and the secret its own.

    Example: confide restore /media/usb/mysite mysite --secret /media/other/secret
    """
    with working("Copying"):
        found = restore_site(source, site, secret=secret)
    record_act(Folder(site).ledger, "site restored", made=found.made)
    typer.echo(f"The site of {found.made} is in {site}, with {found.entries} entries in its ledger. Head: {found.head}")
    if secret is None:
        typer.echo(f"Put its secret, whose public name is {found.secret}, into {site / 'secret'} (mode 600).")
