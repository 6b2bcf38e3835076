"""What people keep for themselves: variables of their own and questions, one small private document for each person and project.

Nothing computed from data is kept, only words of the person's own.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from confide.errors import Denied, Fault, Mistake
from confide.model.definition.definition import LONGEST_CODE, must_be_plain
from confide.site.access import ANYONE, VISITOR, Person
from confide.site.documents import Documents

__all__ = ["LARGEST_WORKSPACE", "MOST_KEPT_DEFINITIONS", "MOST_KEPT_QUESTIONS", "Workspace", "Workspaces"]

MOST_KEPT_DEFINITIONS, MOST_KEPT_QUESTIONS = 100, 100
"""So many variables, of all data sets together, and so many questions somebody may keep in a project."""

LARGEST_WORKSPACE = 200_000
"""Bytes that all of it may take."""


@dataclass(frozen=True)
class Workspace:
    """What somebody keeps: definitions as text, by data set and name, and questions as plain values, by name."""

    definitions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    questions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, dataset: str) -> Mapping[str, str]:
        """The definitions for a data set."""
        return self.definitions.get(dataset, {})

    def with_definition(self, dataset: str, name: str, text: str) -> "Workspace":
        """With a definition more, or another of that name."""
        return self._defining(dataset, {**self.of(dataset), name: text})

    def without_definition(self, dataset: str, name: str) -> "Workspace":
        if name not in self.of(dataset):
            raise _missing(f"You keep no variable called {name[:LONGEST_CODE]!r} for {dataset[:LONGEST_CODE]!r}.")
        return self._defining(dataset, {key: text for key, text in self.of(dataset).items() if key != name})

    def _defining(self, dataset: str, definitions: Mapping[str, str]) -> "Workspace":
        every = {**self.definitions, dataset: definitions}
        return replace(self, definitions={name: kept for name, kept in every.items() if kept})

    def with_question(self, name: str, request: Mapping[str, Any]) -> "Workspace":
        """With a question more, or another of that name."""
        must_be_plain(name, "name", LONGEST_CODE)
        return replace(self, questions={**self.questions, name: request})

    def without_question(self, name: str) -> "Workspace":
        if name not in self.questions:
            raise _missing(f"You keep no question called {name[:LONGEST_CODE]!r}.")
        return replace(self, questions={key: kept for key, kept in self.questions.items() if key != name})

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Workspaces:
    """The workspaces of a site. Other processes may write meanwhile."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    @staticmethod
    def has(person: Person) -> bool:
        """Whether somebody can keep something: who shows no token is not told from others."""
        return person.name != ANYONE.name and not person.name.startswith(VISITOR)

    def of(self, person: Person) -> Workspace:
        """What somebody keeps in their project; nothing for who has no token."""
        return _parse(self._documents.read(_mark(person))) if self.has(person) else Workspace()

    def change(self, person: Person, changed: Callable[[Workspace], Workspace]) -> Workspace:
        """Keep something else; a Mistake if it is too much, and then all stays as it was."""
        if not self.has(person):
            raise Denied("Only people with a token keep variables and questions.", suggestions=["Log in first."])
        with self._documents.alone():
            old = self._documents.read(_mark(person))
            new = changed(_parse(old))
            written = json.dumps(new.as_dict(), ensure_ascii=False).encode("utf-8", "surrogatepass")
            _must_fit(new, len(written))
            self._documents.write(_mark(person), written, old=old)
            return new


def _mark(person: Person) -> str:
    """What the document of somebody in a project is called."""
    return hashlib.sha256(f"{person.name}\n{person.project}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _parse(found: bytes | None) -> Workspace:
    try:
        return Workspace() if found is None else Workspace(**json.loads(found.decode("utf-8", "surrogatepass")))
    except (ValueError, TypeError):
        raise Fault("A workspace cannot be read.", suggestions=["Restore it, or remove it."]) from None


def _must_fit(workspace: Workspace, size: int) -> None:
    definitions = sum(map(len, workspace.definitions.values()))
    if definitions > MOST_KEPT_DEFINITIONS:
        raise Mistake(f"You keep {MOST_KEPT_DEFINITIONS} variables, which is all there is room for. Remove one first.")
    if len(workspace.questions) > MOST_KEPT_QUESTIONS:
        raise Mistake(f"You keep {MOST_KEPT_QUESTIONS} questions, which is all there is room for. Remove one first.")
    if size > LARGEST_WORKSPACE:
        raise Mistake(f"A workspace has room for {LARGEST_WORKSPACE:,} bytes. Remove something first.")


def _missing(words: str) -> Mistake:
    mistake = Mistake(words, suggestions=["It may have been removed already."])
    mistake.http_status = 404
    return mistake
