"""Small documents that a running site writes: in a folder of its own, or in the state that several machines share."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from confide.data.private import only_mine
from confide.data.replacing import replacing
from confide.errors import Fault
from confide.site.locking import alone, in_turn
from confide.site.state import State

__all__ = ["DRAFTS", "KINDS", "RED_TEAM", "Documents", "FolderDocuments", "SharedDocuments", "documents_of"]

DRAFTS, RED_TEAM = "drafts", "red-team"
KINDS = ("reviews", "workspaces", DRAFTS, RED_TEAM)
"""Each has a folder of its name; but a draft stands beside the policy that it is a draft of."""


class Documents(Protocol):
    """Documents of one kind, by name. Other processes may write meanwhile."""

    def names(self) -> list[str]:
        """What there is."""

    def read(self, name: str) -> bytes | None:
        """One of them; None if there is none of that name."""

    def write(self, name: str, new: bytes, *, old: bytes | None) -> None:
        """Put one in the place of what was read, or nothing, `alone`; it lasts from when this returns. An empty one is none."""

    def alone(self) -> AbstractContextManager[None]:
        """Within this nobody else writes, in this process and others."""

    def take_in(self) -> None:
        """Let the folder have what other machines wrote, and no more what they removed."""

    def fill(self) -> None:
        """Let the other machines have what the folder has and they lack."""


class FolderDocuments:
    """The documents of a site of one machine: one private file each."""

    _patterns: tuple[str, ...] = ("*.json",)
    _ending = ".json"
    _named = re.compile(r"[\w.@-]+")

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        found = (file for pattern in self._patterns for file in self._folder.glob(pattern))
        return [file.relative_to(self._folder).with_suffix("").as_posix() for file in found]

    def read(self, name: str) -> bytes | None:
        try:
            return self._file(name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Fault(f"{self._file(name)} cannot be read ({error.strerror}).") from None

    def write(self, name: str, new: bytes, *, old: bytes | None) -> None:
        file = self._file(name)
        try:
            if not new:
                file.unlink(missing_ok=True)
                return
            with only_mine():
                file.parent.mkdir(exist_ok=True)
                with replacing(file) as partial:
                    partial.write_bytes(new)
        except OSError as error:
            raise Fault(
                f"{file} could not be written ({error.strerror}).", suggestions=["Check that the disk has room."]
            ) from None

    @contextmanager
    def alone(self) -> Iterator[None]:
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with in_turn(self._folder):
                yield
        except OSError as error:
            raise Fault(f"{self._folder} could not be written ({error.strerror}).") from None

    def may_have(self, name: str) -> bool:
        """Whether a document may be called so: then its file is of this folder and of this kind."""
        return bool(self._named.fullmatch(name))

    def take_in(self) -> None:
        """Nothing to do: there is no other machine."""

    def fill(self) -> None:
        """Nothing to do either."""

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}{self._ending}"


class _DraftFiles(FolderDocuments):
    """The drafts of a site of one machine, each beside the policy in force. One is put in force at a time."""

    _patterns, _ending = ("draft.toml", "*/draft.toml"), ".toml"
    _named = re.compile(r"([A-Za-z][\w-]*/)?draft")

    @contextmanager
    def alone(self) -> Iterator[None]:
        with alone(self._folder, doing="putting a policy in force"):
            yield


class SharedDocuments:
    """The documents of a site of several machines: in the state, with a copy in the folder of who wrote them.

    Promise: of two who write in the place of the same, one has a Fault; a database that is lost can be filled again from the folders.
    What was removed stays as an empty one, so that a copy of it in another folder does not bring it back.
    """

    def __init__(self, state: State, kind: str, copy: FolderDocuments) -> None:
        self._state, self._kind, self._copy = state, kind, copy
        state.table("documents", "kind TEXT, name TEXT, content BYTEA, PRIMARY KEY (kind, name)")

    def names(self) -> list[str]:
        words = "SELECT name FROM documents WHERE kind = ?1 AND content <> ''"
        return [name for (name,) in self._state.run(words, self._kind)]

    def read(self, name: str) -> bytes | None:
        words = "SELECT content FROM documents WHERE kind = ?1 AND name = ?2"
        found = self._state.run(words, self._kind, name)
        return (bytes(found[0][0]) or None) if found else None

    def write(self, name: str, new: bytes, *, old: bytes | None) -> None:
        first = (
            "INSERT INTO documents VALUES (?1, ?2, ?3) ON CONFLICT (kind, name) "
            "DO UPDATE SET content = excluded.content WHERE documents.content = '' RETURNING name"
        )
        again = "UPDATE documents SET content = ?3 WHERE kind = ?1 AND name = ?2 AND content = ?4 RETURNING name"
        mine = (self._kind, name, new)
        written = self._state.run(first, *mine) if old is None else self._state.run(again, *mine, old)
        if not written:
            raise Fault(
                f"Somebody else has changed this meanwhile ({self._kind}).", suggestions=["Look, and try again."]
            )
        with suppress(Fault):
            self._copy.write(name, new, old=None)

    def alone(self) -> AbstractContextManager[None]:
        return self._state.in_turn(self._kind)

    def take_in(self) -> None:
        for name, content in self._state.run("SELECT name, content FROM documents WHERE kind = ?1", self._kind):
            if self._copy.may_have(name) and bytes(content) != (self._copy.read(name) or b""):
                self._copy.write(name, bytes(content), old=None)

    def fill(self) -> None:
        words = "INSERT INTO documents VALUES (?1, ?2, ?3) ON CONFLICT (kind, name) DO NOTHING"
        for name in self._copy.names():
            self._state.run(words, self._kind, name, self._copy.read(name))


def documents_of(site: Path, kind: str, state: State) -> Documents:
    """The documents of a kind that a site keeps: in its folder, or in the state if other machines share that."""
    files = _DraftFiles(site) if kind == DRAFTS else FolderDocuments(site / kind)
    return SharedDocuments(state, kind, files) if state.machine else files
