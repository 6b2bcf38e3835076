"""What the tests of query logs share: a small taxonomy, users with interests, and WordNet's files in small."""

from pathlib import Path

import numpy as np
import pytest

from confide.querylogs import QueryLog, Taxonomy
from logged import made

TOPICS = {
    "sport": ("Sports", "football tennis goal match"), "music": ("Music", "piano opera song violin"),
    "food": ("Food", "bread cheese soup recipe"),
}  # fmt: skip


@pytest.fixture
def taxonomy() -> Taxonomy:
    """Three main topics, and one below each with the same words."""
    names = {one: name for one, (name, _) in TOPICS.items()} | {
        f"{one}-2": f"{name} two" for one, (name, _) in TOPICS.items()
    }
    words = {f"{one}-2": found for one, (_, found) in TOPICS.items()}
    parents = dict.fromkeys(TOPICS) | {f"{one}-2": one for one in TOPICS}
    return Taxonomy(parents=parents, names=names, words=words)


@pytest.fixture
def log() -> QueryLog:
    """Thirty users, who ask about one topic each, six lines each; twelve of them ask what has no topic."""
    random = np.random.default_rng(3)
    asked: list[tuple[str, str]] = []
    for number in range(30):
        words = list(TOPICS.values())[number % 3][1].split() if number < 18 else ["zzyzx", "quux", f"own{number}"]
        asked += [
            (f"person-{number:04}", f"{word} {number if random.random() < 0.3 else ''}")
            for word in random.choice(words, 6)
        ]
    return made(asked)


@pytest.fixture
def wordnet_files(tmp_path: Path) -> Path:
    """Four meanings in WordNet's own format: animal, dog and cat below it, cat also a musician; the licence first."""
    (tmp_path / "data.noun").write_text(
        "  1 This is a licence.\n"
        "00000001 05 n 01 animal 0 002 ~ 00000002 n 0000 ~ 00000003 n 0000 | a living thing\n"
        "00000002 05 n 02 dog 0 domestic_dog 0 001 @ 00000001 n 0000 | barks | loudly\n"
        "00000003 05 n 01 Cat 0 001 @ 00000001 n 0000 | purrs\n"
        "00000004 18 n 01 cat 0 001 @ 00000005 n 0000 | plays jazz\n"
        "00000005 18 n 01 musician 0 000 | plays\n"
    )
    (tmp_path / "index.noun").write_text(
        "  1 This is a licence.\n"
        "animal n 1 1 ~ 1 0 00000001  \n"
        "cat n 2 1 @ 2 1 00000003 00000004  \n"
        "dog n 1 1 @ 1 1 00000002  \n"
        "domestic_dog n 1 1 @ 1 0 00000002  \n"
        "musician n 1 0 1 0 00000005  \n"
    )
    return tmp_path
