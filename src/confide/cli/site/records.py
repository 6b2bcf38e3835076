"""`confide records`: what protecting the records of a data set did, and doing it anew."""

from typing import Annotated

import typer

from confide.cli.arguments import DatasetName, SiteFolder
from confide.cli.terminal import working
from confide.errors import Mistake
from confide.records.ingest import protect_again
from confide.records.keeping import read_report
from confide.site.folder import Folder
from confide.site.ledger import record_act

__all__ = ["records"]


def records(
    site: SiteFolder,
    dataset: DatasetName,
    renew: Annotated[
        bool, typer.Option("--renew", help="Protect the records anew, after [records] of the policy changed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Show how the records of a data set were protected: who was exposed, who was touched, and what nobody can find out.

    The figures are of true records, and for the custodian alone. Answers come from the protected records; the true ones
    (truth.parquet) are needed by --renew, confide attack, confide workload and confide tune, and may be kept elsewhere.

    Example: confide records mysite people
    """
    folder = Folder(site)
    if renew:
        with working("Protecting the records"):
            protect_again(site, name=dataset)
        record_act(folder.ledger, "records protected anew", dataset=dataset)
    elif dataset not in folder.names():
        raise Mistake(f"The site has no data set {dataset!r}.")
    report = read_report(folder, dataset)
    if report is None:
        typer.echo(f"The records of {dataset!r} are as they came: [records] of its policy changes none.")
        return
    typer.echo(report.write() if as_json else "\n".join(report.lines()))
