"""What a site permits: its policy, a draft put in force, and which variables models may relate."""

import json
from pathlib import Path
from typing import Annotated

import typer

from confide.answering import service as answering
from confide.cli.arguments import AllowOpen, DataSet, DatasetName, SiteFolder
from confide.cli.terminal import working
from confide.cli.terminal import write as write_output
from confide.errors import Mistake
from confide.model.policy import describe
from confide.site.folder import Folder
from confide.site.ledger import record_act
from confide.site.policy_drafts import open_drafts
from confide.spelling.where import read_where

__all__ = ["enforce", "frontier", "policy"]


def policy(
    site: Annotated[Path | None, typer.Argument(help="A site's folder; without it, the defaults.")] = None,
    data: DataSet = None,
) -> None:
    """Every field of a policy, with its value and one line of help.

    Example: confide policy mysite --data people
    """
    if site is None and data is not None:
        raise Mistake("A data set is one of a site.", suggestions=["As in: confide policy mysite --data people"])
    for name, value, text in describe(Folder(site).policy(data) if site else None):
        typer.echo(f"{name:<26} {value:<18} {text}")


def enforce(site: SiteFolder, data: DataSet = None) -> None:
    """Put the draft that a custodian wrote in the browser in force; the policy before it is kept in policies/.

    Its version is one more than that of the policy before, unless the draft's is higher already.

    Example: confide enforce mysite --data people
    """
    folder = Folder(site)
    before = {name: folder.policy(name) for name in folder.names()}
    with open_drafts(folder) as drafts:
        draft = drafts.read(name=data)
        after = drafts.enforce(name=data)
    record_act(folder.ledger, "policy put in force", dataset=data or "", policy=f"{after.title} ({after.mark})")
    whose = "The policy" if data is None else f"The policy of {data!r}"
    typer.echo(f"{whose} is now {after.title}. A running server takes it up with: confide reload {site}")
    if draft and draft.policy.version != after.version:
        typer.echo(f"The draft was version {draft.policy.version}; it was raised to {after.version}.")
    for name, old in before.items():
        new = folder.policy(name)
        # Who is exposed depends on the crosses that pass, so on the mean cell too.
        if new.records_mark != old.records_mark:
            typer.echo(
                f"It protects the records of {name!r} in another way. Run: confide records {site} {name} --renew"
            )


def frontier(
    site: SiteFolder,
    dataset: DatasetName,
    sensitive: Annotated[str, typer.Option(help="The numeric variable to protect.")],
    variables: Annotated[str | None, typer.Option(help="The other variables, with commas; all if not given.")] = None,
    risk: Annotated[str, typer.Option(help="released, attained, predicted, or residual (of a target).")] = "released",
    utility: Annotated[str, typer.Option(help="rsq, rsqwt or volume.")] = "rsqwt",
    target: Annotated[
        list[str] | None,
        typer.Option(help="Whose values must not be predicted well, as in 'sex=female'; with residual."),
    ] = None,
    weights: Annotated[
        str,
        typer.Option(help="What freeing variables is worth to you in R² points, as in age=0.2,sex=0.05; with rsqwt."),
    ] = "",
    threshold: Annotated[float | None, typer.Option(help="Choose the most useful with at most this risk.")] = None,
    slope: Annotated[float | None, typer.Option(help="Choose by slope x utility - risk.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the choice into policy.toml.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the map as a Vega-Lite chart.")] = None,
    allow_open: AllowOpen = False,
) -> None:
    """Which variables models may relate to a sensitive one: the best trades of risk for utility. Not protected.

    Example: confide frontier mysite people --sensitive income --variables age,sex,education --threshold 0.2
    """
    if write and threshold is None and slope is None:
        raise Mistake("There is no choice to write.", suggestions=["Add --threshold or --slope."])
    names = None if variables is None else tuple(name.strip() for name in variables.split(",") if name.strip())
    wanted = answering.FrontierQuestion(
        sensitive, names, risk, utility, answering.read_weights(weights), read_where(target)
    )
    with working("Mapping models"):
        mapped = answering.frontier(site, dataset, wanted, threshold=threshold, slope=slope, allow_open=allow_open)
    record_act(Folder(site).ledger, "frontier looked at", dataset=dataset, sensitive=sensitive)
    typer.echo(mapped.text)
    if output is not None:
        write_output(json.dumps(mapped.chart, ensure_ascii=False), output)
    if write and mapped.release is not None:
        folder = Folder(site)
        before = folder.policy(dataset).models.sensitive
        file = "policy.toml" if folder.follows(dataset) else f"{dataset}/policy.toml"
        after = answering.write_choice(site, mapped.release, dataset=dataset)
        record_act(folder.ledger, "policy put in force", dataset=dataset, policy=f"{after.title} ({after.mark})")
        typer.echo(f"Written into {file}, now {after.title}; a running server takes it up with: confide reload {site}")
        if before not in ("", sensitive):
            typer.echo(f"It replaces the choice for {before!r}, which is suppressed with nothing any more.")
