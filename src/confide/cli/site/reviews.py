"""`confide review`: results that wait for a custodian's yes or no."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from confide.answering.service import decision
from confide.cli.arguments import SiteFolder, SitePlace, Token
from confide.client import is_address
from confide.client import open as open_site
from confide.site.documents import documents_of
from confide.site.folder import Folder
from confide.site.ledger import COMMAND_LINE, record_act
from confide.site.reviews import Review, Reviews, ReviewState, told
from confide.site.state import open_state

__all__ = ["app"]

app = typer.Typer(
    help="Results that wait for a custodian's yes or no.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Id = Annotated[str, typer.Argument(help="The number that the list shows.")]
Reason = Annotated[str, typer.Option(help="Why, in one line: the asker reads it, and the ledger keeps it.")]


@app.command("list")
def review_list(site: SitePlace, token: Token = None) -> None:
    """The results under review: of a folder all, of an address your own.

    Example: confide review list mysite
    """
    if is_address(site):
        with open_site(site, token=token) as opened:
            found = opened.reviews()
    else:
        Folder(Path(site)).names()
        with _reviews(Folder(Path(site))) as reviews:
            found = [told(review) for review in reviews.all()]
    for review in found:
        where = f"{review['who']}{' in ' + review['project'] if review['project'] else ''}"
        request = " ".join(f"{key}={value}" for key, value in review["request"].items() if value)
        typer.echo(
            f"{review['id']} {review['asked']} {review['state']:<8} {where}: {request}  {review['reason']}".rstrip()
        )
    if not found:
        typer.echo("Nothing is under review.")


@app.command("yes")
def review_yes(site: SiteFolder, id: Id, reason: Reason) -> None:
    """Let an asker see a result, also while the site is served.

    Example: confide review yes mysite 0123456789ab --reason "Groups are large"
    """
    _decide(Folder(site), id, ReviewState.YES, reason)


@app.command("no")
def review_no(site: SiteFolder, id: Id, reason: Reason) -> None:
    """Withhold a result, also while the site is served.

    Example: confide review no mysite 0123456789ab --reason "Ask for regions"
    """
    _decide(Folder(site), id, ReviewState.NO, reason)


def _decide(folder: Folder, id: str, state: ReviewState, reason: str) -> None:
    folder.names()

    def record(review: Review) -> None:
        record_act(folder.ledger, f"review {state}", dataset=review.dataset, **decision(review))

    with _reviews(folder) as reviews:
        review = reviews.decide(id, state, by=COMMAND_LINE, reason=reason, record=record)
    typer.echo(f"{review.who} is told {state}: {review.reason}")


@contextmanager
def _reviews(folder: Folder) -> Iterator[Reviews]:
    with closing(open_state(folder.path)) as state:
        yield Reviews(documents_of(folder.path, "reviews", state))
