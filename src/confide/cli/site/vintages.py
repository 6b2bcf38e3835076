"""The versions of a site's data, and telling its server that the folder changed."""

import os
import signal
import time
from typing import Annotated

import typer

from confide.answering.service import NOT_RELOADED, RELOADED, list_vintages
from confide.cli.arguments import DatasetName, SiteFolder
from confide.errors import Fault, Mistake
from confide.records.ingest import prune as prune_vintages
from confide.site import ledger
from confide.site.folder import Folder
from confide.site.serving import serving_process

__all__ = ["reload", "vintages"]

PATIENCE = 60.0
"""Seconds that a server has to load a site anew: it opens files and reads no records."""


def vintages(
    site: SiteFolder,
    dataset: DatasetName,
    prune: Annotated[bool, typer.Option("--prune", help="Take away those that updates.kept does not keep.")] = False,
) -> None:
    """The vintages of a data set, the newest first, and what each is there for.

    Example: confide vintages mysite people --prune
    """
    if prune:
        gone = prune_vintages(site, name=dataset)
        ledger.record_act(Folder(site).ledger, "vintages removed", dataset=dataset, vintages=", ".join(gone))
        typer.echo(f"Removed: {', '.join(gone) or 'none'}.")
    for each in list_vintages(site, dataset):
        typer.echo(f"{each.vintage.name:<12} {each.vintage.loaded}  {each.vintage.data}  {each.words}")


def reload(site: SiteFolder) -> None:
    """Tell the running server to take up new data, policies and site.toml; questions under way end on the old ones.

    If anything is missing or out of step, the server goes on as before and this says why. The signal is SIGHUP.

    Example: confide reload mysite
    """
    folder = Folder(site)
    folder.names()
    process = serving_process(folder.path)
    if process is None:
        raise Mistake("No server is running on this site.", suggestions=[f"Start one: confide serve {site}"])
    before = _last(folder)
    os.kill(process.pid, signal.SIGHUP)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        entries = ledger.last(folder.ledger, _last(folder) - before) if folder.ledger.exists() else []
        told = [entry for entry in entries if entry.is_act and entry.request["act"] in (RELOADED, NOT_RELOADED)]
        if len(told) >= process.workers:  # each tells for itself
            return _tell(told)
        time.sleep(0.05)
    raise Fault(
        f"The server (process {process.pid}) did not say that it loaded the site anew.",
        suggestions=["Look at its log."],
    )


def _last(folder: Folder) -> int:
    entries = ledger.last(folder.ledger, 1) if folder.ledger.exists() else []
    return entries[-1].number if entries else -1


def _tell(told: list[ledger.Entry]) -> None:
    for entry in told:
        if entry.request["act"] == NOT_RELOADED:
            raise Mistake(f"The server goes on as before. {entry.request['why']}")
    typer.echo("The server answers from the newest data under the policies in force.")
