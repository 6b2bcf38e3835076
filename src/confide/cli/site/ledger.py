"""`confide ledger`: the record of questions and outcomes."""

import json
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from confide.answering.service import not_tried, replay, reproduce
from confide.cli.arguments import AllowOpen, DataSet, SiteFolder
from confide.errors import Fault, Mistake
from confide.formats.release import writers
from confide.site import ledger
from confide.site.documents import KINDS, documents_of
from confide.site.folder import Folder
from confide.site.policies import read_as
from confide.site.policy_drafts import policy_text
from confide.site.state import open_state
from confide.site.state.papers import SharedPapers

__all__ = ["app"]

ACCEPT = "confide ledger accept SITE"

app = typer.Typer(
    help="The record of questions and outcomes, and of what custodians did.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("verify")
def ledger_verify(site: SiteFolder) -> None:
    """Check that nothing recorded was changed, removed, inserted or cut off. Keep the head elsewhere to compare.

    Example: confide ledger verify mysite
    """
    found = ledger.verify(Folder(site).ledger)
    if found.problem:
        what = f"The ledger is damaged: {found.problem} {found.entries} entries before that are sound."
        raise Fault(what, suggestions=[f"Restore it from a backup, or go on without what is lost: {ACCEPT}"])
    typer.echo(f"{found.entries} {'entry' if found.entries == 1 else 'entries'}, all sound. Head: {found.head}")
    if found.torn:
        typer.echo(
            "Half a line follows: recording it was cut off, and nobody saw an answer. The next start sets it aside."
        )
    if not found.anchored:
        typer.echo("There is no anchor yet, so a missing end would not show. The next start makes one.")


@app.command("accept")
def ledger_accept(site: SiteFolder) -> None:
    """Go on with a ledger whose end or whose anchor is lost, as it stands; that this was done is recorded.

    For when there is no better backup. The chain itself must be sound, and no server may run.

    Example: confide ledger accept mysite
    """
    entry = ledger.accept(Folder(site).ledger)
    typer.echo(f"The ledger goes on after {entry.number} entries. That is recorded as entry {entry.number}.")


@app.command("share")
def ledger_share(site: SiteFolder) -> None:
    """Let the database that 'state' in site.toml names have what this folder has recorded and it lacks; that is recorded.

    For when several machines are to serve a site, and when the database was lost: then from the machine with the most
    entries. No server may run on the folder. Its access.toml, policies and data are those of the site from now on: other
    machines answer nothing until they have the same.

    Example: confide ledger share mysite
    """
    entry = ledger.share(Folder(site).ledger)
    with closing(open_state(Path(site))) as state:
        SharedPapers(state, Path(site)).declare()
        for kind in KINDS:
            documents_of(Path(site), kind, state).fill()
    number = entry.request["entries"]
    typer.echo(
        f"The database took over {number} {'entry' if number == 1 else 'entries'}. That is recorded as entry {entry.number}."
    )


@app.command("show")
def ledger_show(site: SiteFolder, last: Annotated[int, typer.Option(min=1, help="How many.")] = 20) -> None:
    """The last questions and their outcomes, and what custodians did.

    Example: confide ledger show mysite --last 50
    """
    for entry in ledger.last(Folder(site).ledger, last):
        rules = f" ({', '.join(entry.rules)})" if entry.rules else ""
        typer.echo(
            f"{entry.number:>6} {entry.time} {entry.who:<12} {entry.outcome}{rules}  {json.dumps(entry.request)}"
        )


@app.command("replay")
def ledger_replay(
    site: SiteFolder,
    policy: Annotated[Path, typer.Option(help="A draft policy.toml.")],
    data: DataSet = None,
    allow_open: AllowOpen = False,
) -> None:
    """What would change if the recorded questions were asked under a draft policy, of the site or of a data set.

    A draft of the site's policy is tried on the data sets that follow it. Numbers stay protected as they are today: what
    the draft says of that is not tried, and named.

    Example: confide ledger replay mysite --policy draft.toml
    """
    try:
        text = policy_text(Folder(site), policy)
    except (OSError, UnicodeDecodeError):
        raise Mistake(f"{policy} cannot be read.") from None
    draft = read_as(Folder(site), text, name=data, file=policy)
    ledger.record_act(Folder(site).ledger, "draft tried", dataset=data or "", policy=f"{draft.title} ({draft.mark})")
    asked = changed = 0
    for replayed in replay(site, draft, dataset=data, allow_open=allow_open):
        asked += 1
        if replayed.changed:
            changed += 1
            typer.echo(f"{replayed.number:>6} {replayed.before} -> {replayed.after}  {json.dumps(replayed.request)}")
    typer.echo(f"{changed} of {asked} outcomes would change under {draft.title}.")
    aside = not_tried(draft, Folder(site).policy(data))
    if aside:
        words = ", ".join(f"[{name}]" for name in aside)
        typer.echo(f"Not tried: {words}. For these: confide workload SITE DATASET --ledger --policy {policy}")


@app.command("reproduce")
def ledger_reproduce(
    site: SiteFolder,
    receipt: Annotated[str, typer.Argument(help="The receipt of an answer.", metavar="RECEIPT")],
) -> None:
    """Work a recorded answer out again, from the data and the policy that it had then, as long as they are kept.

    Exit status: 0 it is the answer that was recorded, 1 it is another, 2 your mistake.

    Example: confide ledger reproduce mysite cfd-0123456789abcdef0123456789abcdef
    """
    found = reproduce(site, receipt)
    ledger.record_act(Folder(site).ledger, "answer reproduced", dataset=found.entry.dataset, of=receipt)
    typer.echo(writers(found.release).text(found.release).rstrip())
    when = f"entry {found.entry.number} of {found.entry.time}, vintage {found.vintage}, {found.entry.policy}"
    if not found.same:
        raise Fault(f"This is not what was recorded ({when}).", suggestions=["Was the store or the secret changed?"])
    typer.echo(f"This is the answer that was recorded: {when}.")
