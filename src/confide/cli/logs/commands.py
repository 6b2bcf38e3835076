"""`confide logs`: query logs on the command line. What is printed has true figures: for the custodian."""

from collections.abc import Mapping
from dataclasses import asdict
from json import dumps
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from confide.cli.logs.options import Block, K, Log, LogOptions, Similarity, TopicOptions
from confide.cli.mask import say_released
from confide.cli.options import KeyOptions, with_options
from confide.cli.terminal import working, write
from confide.errors import Mistake
from confide.querylogs.log import QueryLog
from confide.querylogs.preparing import RARE, RareQueries, scrubbed

if TYPE_CHECKING:  # scipy is loaded by the commands that need it
    from confide.data.report import ReportPage
    from confide.querylogs.classification import Classification
    from confide.querylogs.topics import Classifier
    from confide.querylogs.utility import LogUtility

__all__ = ["app"]

app = typer.Typer(
    help="Query logs: clusters of k users with one log each, what that keeps, and what it does not hide.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

KNOWN = (1, 2, 3)
SIZES = (2, 3, 4, 5)


@app.command("anonymise")
@with_options(LogOptions, TopicOptions, KeyOptions)
def anonymise(
    reading: LogOptions,
    topics: TopicOptions,
    drawing: KeyOptions,
    file: Log,
    output: Annotated[Path, typer.Option("-o", "--output", help="The released log: .csv, .parquet or .arrow.")],
    k: K = 3,
    similarity: Similarity = "minima",
    block: Block = 2000,
    rare: Annotated[
        str | None, typer.Option(help="Leave out rare queries, or queries with rare terms: queries, terms.")
    ] = None,
    copies: Annotated[
        bool, typer.Option("--copies", help="A log for each user, the same for all of a cluster.")
    ] = False,
    no_days: Annotated[bool, typer.Option("--no-days", help="Leave out the day too.")] = False,
    clicks: Annotated[bool, typer.Option("--clicks", help="Keep the clicked site of each line.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a released log that was drawn from the same key.")
    ] = False,
) -> None:
    """Cluster users of like interests by k or more, and release one log for each cluster.

    The log of a cluster of s users has their mean number of lines; each gives a share of 1/s. Users get new names, times become
    days, addresses and long numbers are masked. A cluster of k is not anonymity for all purposes: see 'confide logs attack'.

    Example: confide logs anonymise queries.csv --taxonomy topics.csv --k 3 -o public.csv
    """
    from confide.querylogs import LogMicroaggregation, LogRelease, log_utility

    method = LogMicroaggregation(k=k, similarity=similarity, block=block)
    if output.resolve() == file.resolve():
        raise Mistake("The released log would replace the confidential one.", suggestions=["Name another file."])
    classifier, log = topics.classifier(), reading.read(file)
    key = drawing.chosen(file)
    release = LogRelease(log, key=key, copies=copies, days=not no_days, clicks=clicks)
    release.check_place(output, replace=replace)
    with working("Clustering users"):
        found = _classified(_prepared(log, rare), classifier, topics)
        clustered = method.protect(found, key=key)
    if clustered.blocks > 1:
        typer.echo(f"In {clustered.blocks} blocks, which costs about {clustered.lost:.0%} of users' likeness.")
    typer.echo(f"Kept, where 1/k is {1 / k:.2f}: {_shown(log_utility(found, clustered))}.")
    typer.echo("This report is for the custodian only.")
    told: dict[str, int | str] = {"k": k, "similarity": similarity, **({"rare": rare} if rare else {})}
    say_released([release.write(clustered, output, told=told, replace=replace)], output.parent)


@app.command("check")
@with_options(LogOptions, TopicOptions, KeyOptions)
def check(
    reading: LogOptions,
    topics: TopicOptions,
    drawing: KeyOptions,
    file: Log,
    similarity: Similarity = "minima",
    report: Annotated[Path | None, typer.Option(help="Write a page with charts: .html.")] = None,
) -> None:
    """Say what is in a log, how far topics reach, what filters cost, and what clusters of 2 to 5 users keep.

    Beside each k stands what random clusters keep. Topics are judged by the classifier that made the clusters; terms are not.

    Example: confide logs check queries.csv --taxonomy topics.csv --report check.html
    """
    from confide.querylogs import LogMicroaggregation, log_utility, random_clusters

    classifier, log = topics.classifier(), reading.read(file)
    for what in RARE:
        typer.echo(
            f"Leaving out rare {what} (--rare {what}) would keep {RareQueries(what).share_kept(log):.1%} of lines."
        )
    found, key = _classified(_prepared(log, None), classifier, topics), drawing.chosen(file)
    kept: dict[int, tuple[LogUtility, LogUtility]] = {}
    seconds: dict[int, float] = {}
    for k in (k for k in SIZES if k <= len(found.log.names)):
        begun = process_time()
        clustered = LogMicroaggregation(k=k, similarity=similarity).protect(found, key=key)
        seconds[k] = process_time() - begun
        kept[k] = log_utility(found, clustered), log_utility(found, random_clusters(found.log, k, key))
        typer.echo(f"k = {k}: {_shown(kept[k][0])}; random clusters: {_shown(kept[k][1])}.")
    if not kept:
        raise Mistake("The log has fewer than 2 users.")
    if report is not None:
        _report(found, kept, seconds).write(report)
    typer.echo("These are true figures, for the custodian only.")


@app.command("attack")
@with_options(LogOptions, TopicOptions, KeyOptions)
def attack(
    reading: LogOptions,
    topics: TopicOptions,
    drawing: KeyOptions,
    file: Log,
    k: K = 3,
    similarity: Similarity = "minima",
    block: Block = 2000,
    targets: Annotated[int, typer.Option(min=1, help="How many users planted ones are tried on.")] = 50,
    json: Annotated[Path | None, typer.Option(help="Write the results here as well.")] = None,
) -> None:
    """Attack the log that 'logs anonymise' makes with the same options and key, as an intruder would.

    The intruder knows 1, 2 or 3 queries of a target and looks for the cluster; then reads there what else the target asked.
    Another plants users to be clustered with the target.

    Example: confide logs attack queries.csv --taxonomy topics.csv --k 3
    """
    from confide.attacks.query_logs import link_users, planted_users, weaknesses
    from confide.querylogs import LogMicroaggregation, random_clusters

    method = LogMicroaggregation(k=k, similarity=similarity, block=block)
    classifier, log = topics.classifier(), reading.read(file)
    found, key = _classified(_prepared(log, None), classifier, topics), drawing.chosen(file)
    with working("Attacking"):
        clustered = method.protect(found, key=key)
        able = np.diff(found.log.counts.indptr).max()
        links = [
            link_users(found, clustered, key.generator("query log", "attack", known), known=known)
            for known in KNOWN if known <= able
        ]  # fmt: skip
        weak, weak_random = (weaknesses(found, one) for one in (clustered, random_clusters(found.log, k, key)))
        planted = planted_users(found, method, key, targets=targets) if able >= 2 else float("nan")
    for link in links:
        typer.echo(
            f"Knowing {link.known} {'query' if link.known == 1 else 'queries'}, the cluster of {link.found:.0%} of "
            f"{link.targets:,} users is found (with new names alone {link.pseudonyms:.0%}); "
            f"another line there is theirs with {link.theirs:.2f}."
        )
    typer.echo(f"One user gave more than half of the lines of {weak.dominated:.0%} of clusters.")
    typer.echo(
        f"All users have one main topic in {weak.one_topic:.0%} of clusters (random clusters {weak_random.one_topic:.0%})."
    )
    typer.echo(f"{k - 1} planted {'user' if k == 2 else 'users'} knowing 2 queries isolate {planted:.0%} of users.")
    if json is not None:
        results = {"links": [asdict(link) for link in links], "weaknesses": asdict(weak), "planted": planted}
        write(dumps(results), json)


def _prepared(log: QueryLog, rare: str | None) -> QueryLog:
    """The log without what is rare, on request, and what that costs said first; then without what identifies by itself."""
    if rare is not None:
        only = RareQueries(rare)
        typer.echo(f"Leaving out rare {rare} keeps {only.share_kept(log):.1%} of lines.")
        log = only.kept(log)
    log, masked = scrubbed(log)
    typer.echo(f"Addresses, web addresses or long numbers were masked in {masked:,} lines.")
    return log


def _classified(log: QueryLog, classifier: "Classifier", options: TopicOptions) -> "Classification":
    from confide.querylogs import classify

    found = classify(log, classifier, best=options.best, levels=options.levels)
    shares = ", ".join(f"{share:.0%} on level {level}" for level, share in enumerate(found.shares, 1))
    typer.echo(f"Lines with a topic: {shares}; {int((~found.classified).sum()):,} users have none.")
    for warning in found.warnings:
        typer.echo(f"Warning: {warning}", err=True)
    return found


def _shown(kept: "LogUtility") -> str:
    topics = " ".join(f"{share:.2f}" for share in kept.srp)
    return f"topics {topics} by level, terms {kept.terms:.2f}"


def _report(
    found: "Classification", kept: "Mapping[int, tuple[LogUtility, LogUtility]]", seconds: Mapping[int, float]
) -> "ReportPage":
    from confide.data.report import ReportPage
    from confide.querylogs.figures import level_chart, srp_chart, time_chart

    by_topics = {k: clustered.srp for k, (clustered, _) in kept.items()}
    at_random = {k: drawn.srp for k, (_, drawn) in kept.items()}
    charts = (
        level_chart(found.shares),
        srp_chart({"by topics": by_topics, "at random": at_random}),
        time_chart(seconds),
    )
    return ReportPage("A query log before its release", tuple(found.warnings), charts)
