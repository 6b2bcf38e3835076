"""Small documents that a running site writes: in a folder of its own, or in the state that several machines share."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from confide.data.private import only_mine
from confide.data.replacing import replacing
from confide.errors import Fault
from confide.site.locking import in_turn
from confide.site.state import State

__all__ = ["Documents", "FolderDocuments", "SharedDocuments", "documents_of"]

_ENDING = ".json"


class Documents(Protocol):
    """Documents of one kind, by name. Other processes may write meanwhile."""

    def names(self) -> list[str]:
        """What there is."""

    def read(self, name: str) -> bytes | None:
        """One of them; None if there is none of that name."""

    def write(self, name: str, new: bytes, *, old: bytes | None) -> None:
        """Put one in the place of what was read, or nothing, `alone`; it lasts from when this returns."""

    def alone(self) -> AbstractContextManager[None]:
        """Within this nobody else writes, in this process and others."""


class FolderDocuments:
    """The documents of a site of one machine: one private file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        return [file.stem for file in self._folder.glob(f"*{_ENDING}")]

    def read(self, name: str) -> bytes | None:
        try:
            return self._file(name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Fault(f"{self._file(name)} cannot be read ({error.strerror}).") from None

    def write(self, name: str, new: bytes, *, old: bytes | None) -> None:
        with only_mine(), replacing(self._file(name)) as partial:
            partial.write_bytes(new)

    @contextmanager
    def alone(self) -> Iterator[None]:
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with in_turn(self._folder):
                yield
        except OSError as error:
            raise Fault(f"{self._folder} could not be written ({error.strerror}).") from None

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}{_ENDING}"


class SharedDocuments:
    """The documents of a site of several machines: in the state, with a copy in the folder of who wrote them.

    Promise: of two who write in the place of the same, one has a Fault; a database that is lost can be filled again from the folders.
    """

    def __init__(self, state: State, folder: Path) -> None:
        self._state, self._kind, self._copy = state, folder.name, FolderDocuments(folder)
        state.table("documents", "kind TEXT, name TEXT, content BYTEA, PRIMARY KEY (kind, name)")

    def names(self) -> list[str]:
        return [name for (name,) in self._state.run("SELECT name FROM documents WHERE kind = ?1", self._kind)]

    def read(self, name: str) -> bytes | None:
        words = "SELECT content FROM documents WHERE kind = ?1 AND name = ?2"
        found = self._state.run(words, self._kind, name)
        return bytes(found[0][0]) if found else None

    def write(self, name: str, new: bytes, *, old: bytes | None) -> None:
        first = "INSERT INTO documents VALUES (?1, ?2, ?3) ON CONFLICT (kind, name) DO NOTHING RETURNING name"
        again = "UPDATE documents SET content = ?3 WHERE kind = ?1 AND name = ?2 AND content = ?4 RETURNING name"
        mine = (self._kind, name, new)
        written = self._state.run(first, *mine) if old is None else self._state.run(again, *mine, old)
        if not written:
            raise Fault(
                f"Somebody else has changed this meanwhile ({self._kind}).", suggestions=["Look, and try again."]
            )
        with suppress(Fault, OSError):
            self._keep(name, new)

    def alone(self) -> AbstractContextManager[None]:
        return self._state.in_turn(self._kind)

    def take_in(self) -> None:
        """Let the folder have what others wrote."""
        for name in self.names():
            content = self.read(name)
            if content is not None and content != self._copy.read(name):
                self._keep(name, content)

    def fill(self) -> None:
        """Let the state have what the folder has and it lacks."""
        words = "INSERT INTO documents VALUES (?1, ?2, ?3) ON CONFLICT (kind, name) DO NOTHING"
        for name in self._copy.names():
            self._state.run(words, self._kind, name, self._copy.read(name))

    def _keep(self, name: str, content: bytes) -> None:
        with self._copy.alone():
            self._copy.write(name, content, old=None)


def documents_of(folder: Path, state: State) -> Documents:
    """The documents that a site keeps under the name of a folder: in it, or in the state if other machines share that."""
    return SharedDocuments(state, folder) if state.machine else FolderDocuments(folder)
