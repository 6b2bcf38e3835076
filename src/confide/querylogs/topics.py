"""Topics of terms: a taxonomy of one's own, searched as full text, or whatever else knows the topics of a word."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from confide.data.hierarchy import Hierarchy
from confide.errors import Mistake
from confide.sources.columns import texts
from confide.sources.source import read_source

__all__ = ["Classifier", "Taxonomy", "TopicPath"]

TopicPath = tuple[str, ...]
"""A topic, after the topics it is part of: the first is on level 1."""


class Classifier(Protocol):
    """What knows the topics of terms. One of your own needs this method and nothing else."""

    def paths(self, terms: Sequence[str], best: int) -> list[list[TopicPath]]:
        """For each term its best topics, at most so many, the best first; none for a term that it does not know."""
        ...


@dataclass(frozen=True, kw_only=True)
class Taxonomy:
    """Topics from a file, with words by which a term finds them: full-text search by word stems (porter), ranked by BM25.

    `parents` gives each topic's parent or None, `names` what it is called, `words` what else is found under it.

    >>> sport = Taxonomy(parents={"s": None, "f": "s"}, names={"s": "Sports", "f": "Football"}, words={})
    >>> sport.paths(["footballs", "tea"], 5)
    [[('s', 'f')], []]
    """

    parents: dict[str, str | None]
    names: dict[str, str]
    words: dict[str, str]

    def __post_init__(self) -> None:
        if not self.parents:
            raise Mistake("The taxonomy is empty.", suggestions=["It needs a topic a line: id, parent, name, words."])
        Hierarchy.of(self.parents, total="")  # a circle or a parent that is not there is a Mistake

    @classmethod
    def read(cls, path: str | Path, *, encoding: str | None = None) -> "Taxonomy":
        """From a file with the columns id, parent, name and, where there are any, words; the parent of a main topic is empty."""
        table = read_source(path, encoding=encoding).table
        missing = [name for name in ("id", "parent", "name") if name not in table.column_names]
        if missing:
            raise Mistake(
                f"The taxonomy {str(path)!r} has no column {missing[0]!r}.",
                suggestions=["Its columns are id, parent, name and, if need be, words."],
            )
        ids, parents, names = (
            texts(name, table[name].combine_chunks()).to_pylist() for name in ("id", "parent", "name")
        )
        words = table["words"].cast(pa.string()).to_pylist() if "words" in table.column_names else [None] * len(ids)
        if None in ids or len(set(ids)) < len(ids):
            raise Mistake(f"In the taxonomy {str(path)!r} every topic needs an id of its own.")
        pairs = zip(ids, words, strict=True)
        return cls(
            parents=dict(zip(ids, parents, strict=True)),
            names={one: name or "" for one, name in zip(ids, names, strict=True)},
            words={one: found for one, found in pairs if found},
        )

    def paths(self, terms: Sequence[str], best: int) -> list[list[TopicPath]]:
        """For each term the topics whose names or words have its stem, the best by BM25 first."""
        documents = [(one, f"{self.names[one]} {self.words.get(one, '')}") for one in self.parents]
        with _Index(documents) as index:
            found = index.search(terms, best)
        return [[self._path(topic) for topic in topics] for topics in found]

    def _path(self, topic: str) -> TopicPath:
        path: list[str] = []
        above: str | None = topic
        while above:
            path.append(above)
            above = self.parents[above]
        return tuple(reversed(path))


class _Index:
    """A full-text index of documents in memory, closed at the end."""

    def __init__(self, documents: Iterable[tuple[str, str]]) -> None:
        self._base = sqlite3.connect(":memory:")
        self._base.execute("CREATE VIRTUAL TABLE topic USING fts5(id UNINDEXED, words, tokenize = 'porter unicode61')")
        self._base.executemany("INSERT INTO topic VALUES (?, ?)", documents)

    def __enter__(self) -> "_Index":
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def search(self, terms: Sequence[str], best: int) -> list[list[str]]:
        """The best documents for each term. Terms of one stem find the same, so each stem is looked for once."""
        found: dict[str, list[str]] = {}
        stems = self._known_stems(terms)
        for place, stem in stems.items():
            if stem not in found:
                found[stem] = self._best(terms[place], best)
        return [found[stems[place]] if place in stems else [] for place in range(len(terms))]

    def _known_stems(self, terms: Sequence[str]) -> dict[int, str]:
        """Of each term that the documents know, by its place, the stem: by the same tokenizer as theirs."""
        base = self._base
        base.execute("CREATE VIRTUAL TABLE term USING fts5(word, tokenize = 'porter unicode61')")
        base.executemany("INSERT INTO term (rowid, word) VALUES (?, ?)", enumerate(terms))
        base.execute("CREATE VIRTUAL TABLE stem USING fts5vocab(term, instance)")
        base.execute("CREATE VIRTUAL TABLE known USING fts5vocab(topic, row)")
        rows = base.execute("SELECT doc, term FROM stem WHERE offset = 0 AND term IN (SELECT term FROM known)")
        return {int(place): stem for place, stem in rows}

    def _best(self, term: str, best: int) -> list[str]:
        # The last part of the order: topics of one rank come in the order of the file, everywhere.
        rows = self._base.execute(
            "SELECT id FROM topic WHERE topic MATCH ? ORDER BY bm25(topic), rowid LIMIT ?", (f'"{term}"', best)
        )
        return [row[0] for row in rows]
