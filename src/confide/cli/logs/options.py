"""Options that the commands on query logs share."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli.options import option
from confide.errors import Mistake, nearest
from confide.querylogs.log import QueryLog
from confide.querylogs.reading import PRESETS, LogColumns, ReadLog, read_log

if TYPE_CHECKING:
    from confide.querylogs.topics import Classifier

__all__ = ["Block", "K", "Log", "LogOptions", "Similarity", "TopicOptions"]

WORDS = ("hyponyms", "names", "hypernyms")

Log = Annotated[
    Path, typer.Argument(help="The log: CSV, TSV, JSON lines (.jsonl), gzipped or not, or Parquet.", metavar="LOG")
]
K = Annotated[int, typer.Option("--k", help="How many users a cluster has at least.")]
Similarity = Annotated[
    str, typer.Option(help="How users are compared: minima (topics shared) or ruzicka (share shared).")
]
Block = Annotated[int, typer.Option(help="Larger logs are cut into blocks of so many users, by main topic.")]


@dataclass(frozen=True)
class LogOptions:
    """Where a log's columns are, and what becomes of broken lines."""

    preset: Annotated[str | None, option("The columns of a known log: aol or ubi.")] = None
    user: Annotated[str | None, option("The column that says who asked. If not given: user.")] = None
    query: Annotated[str | None, option("The column of queries. If not given: query.")] = None
    time: Annotated[str | None, option("The column of times; only the day is kept.")] = None
    click: Annotated[str | None, option("The column of clicked addresses; only the site is kept.")] = None
    encoding: Annotated[str | None, option("How a log that is not UTF-8 is written: latin-1, cp1252, utf-16.")] = None
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave broken lines out, and say how many.")] = False

    def read(self, file: Path) -> QueryLog:
        """The log; what left it is said."""
        if self.preset is not None and self.preset not in PRESETS:
            raise Mistake(
                f"There is no preset {self.preset!r}.",
                suggestions=nearest(self.preset, PRESETS) or [f"There are {', '.join(PRESETS)}."],
            )
        named = {name: getattr(self, name) for name in ("user", "query", "time", "click") if getattr(self, name)}
        columns = replace(PRESETS[self.preset] if self.preset else LogColumns(), **named)
        found = read_log(file, columns, encoding=self.encoding, skip_bad=self.skip_bad)
        for line in _about(found):
            typer.echo(line)
        return found.log


@dataclass(frozen=True)
class TopicOptions:
    """What knows the topics of terms."""

    taxonomy: Annotated[
        Path | None, option("The topics: a file with the columns id, parent, name and, if any, words.")
    ] = None
    words: Annotated[
        str,
        option(
            "By what terms find topics: names, hyponyms (names and WordNet's words below them), "
            "or hypernyms (WordNet's own topics; needs no taxonomy)."
        ),
    ] = "hyponyms"
    best: Annotated[int, option("How many topics a term gets.")] = 5
    levels: Annotated[int, option("Down to which level topics count.")] = 3

    def classifier(self) -> "Classifier":
        """What was chosen."""
        from confide.querylogs.topics import Taxonomy
        from confide.querylogs.wordnet import WordNet, with_hyponyms

        if self.words not in WORDS:
            raise Mistake(f"There are no words {self.words!r}.", suggestions=[f"There are {', '.join(WORDS)}."])
        if self.words == "hypernyms":
            return WordNet.installed()
        if self.taxonomy is None:
            raise Mistake("Name the file of topics (--taxonomy).", suggestions=["Or use WordNet's: --words hypernyms."])
        topics = Taxonomy.read(self.taxonomy)
        return topics if self.words == "names" else with_hyponyms(topics, WordNet.installed())


def _about(read: ReadLog) -> Iterator[str]:
    log = read.log
    yield f"{len(log.users):,} lines of {len(log.names):,} users, {int((log.lines == 1).sum()):,} of whom asked once."
    if log.empty:
        yield f"{log.empty:,} empty queries left, and {log.left:,} users who asked nothing else."
    if read.bad:
        yield f"{read.bad:,} broken lines left."
