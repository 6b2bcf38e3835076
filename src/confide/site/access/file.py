"""`access.toml`: read whole or not at all, and written by one at a time.

Promise: a file that is missing, empty, torn or unreadable lets nobody in. A site has one from the moment it is made.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from confide.errors import Fault, Mistake, nearest
from confide.site.access.declared import Access, Reach
from confide.site.access.openid import Provider
from confide.site.access.people import UNLIMITED, PersonRole, Token, TokenTerms, new_token
from confide.site.access.projects import Project
from confide.site.access.text import read_access, write_access
from confide.site.locking import in_turn

__all__ = [
    "AccessFile",
    "add_project",
    "add_token",
    "declare",
    "declare_login",
    "list_tokens",
    "load_access",
    "remove_project",
    "remove_token",
]


_AT_ONCE = 1 << 16
"""Bytes that are read at a time."""


class AccessFile:
    """The people of a running site: `access.toml` as it is now.

    Promise: a token opens nothing from the moment its removal is stored; a file that cannot be read lets nobody in.
    """

    def __init__(self, path: str | Path) -> None:
        self._path, self._lock = Path(path), Lock()
        self._text = _read(self._path)
        self._access = _parse(self._text, self._path)

    def now(self) -> Access:
        """The people as the file names them.

        Its text is compared, not its time or size: two writings within one tick of the clock have the same time, and a token in the
        place of another the same size. Reading it takes some millionths of a second.
        """
        with self._lock:
            try:
                text = _read(self._path)
                if text != self._text:
                    self._access, self._text = _parse(text, self._path), text
            except Mistake as mistake:
                closed = Fault(f"Nobody is let in: {mistake}")
                closed.http_status = 503
                raise closed from None
            return self._access


def load_access(path: str | Path) -> Access:
    """What an `access.toml` declares."""
    return _parse(_read(Path(path)), Path(path))


def list_tokens(path: str | Path) -> tuple[Token, ...]:
    """The tokens in an `access.toml`, in the order they were added."""
    return load_access(path).tokens


def declare(path: str | Path, reach: Reach, *, names: Sequence[str] = (), proxies: Sequence[str] = ()) -> Access:
    """Declare who may reach the site, by which names and through which web servers; tokens, projects and logins stay.

    Where the file is missing this makes a new one, without tokens.
    """
    with _alone(Path(path)):
        kept = load_access(path) if Path(path).exists() else Access()
        declared = replace(kept, reach=Reach(reach), names=tuple(names), proxies=tuple(proxies))
        _store(Path(path), declared)
    return declared


def declare_login(path: str | Path, provider: Provider | None) -> None:
    """Declare where people may log in, or nowhere. Sessions of people who are not admitted any more are over at once."""
    with _changing(Path(path)) as change:
        for rule in provider.admits if provider else ():
            if rule.terms.project and change.access.project(rule.terms.project) is None:
                raise _no_project(change.access, rule.terms.project)
        change.store(replace(change.access, login=provider))


def add_token(path: str | Path, *, name: str, role: PersonRole, terms: TokenTerms = UNLIMITED) -> str:
    """A new token for a person, given once: only its digest is stored. A second one of the same person needs a label."""
    secret, added = new_token(name, role, terms)
    with _changing(Path(path)) as change:
        access = change.access
        if any((token.name, token.terms.label) == (name, terms.label) for token in access.tokens):
            what = f"{name!r} already has a token" + (f" with the label {terms.label!r}." if terms.label else ".")
            raise Mistake(what, suggestions=["Give the new one a label, remove the old one, or choose another name."])
        if terms.project and access.project(terms.project) is None:
            raise _no_project(access, terms.project)
        change.store(replace(access, tokens=(*access.tokens, added)))
    return secret


def remove_token(path: str | Path, *, name: str, label: str | None = None) -> None:
    """Take a person's tokens away, or the one with this label."""
    with _changing(Path(path)) as change:
        access = change.access
        gone = [each for each in access.tokens if each.name == name and label in (None, each.terms.label)]
        if not gone:
            known = [token.name for token in access.tokens]
            what = f"Nobody called {name!r} has a token" + ("." if label is None else f" with the label {label!r}.")
            raise Mistake(what, suggestions=nearest(name, known))
        change.store(replace(access, tokens=tuple(token for token in access.tokens if token not in gone)))


def add_project(path: str | Path, project: Project) -> None:
    """Add a project. Tokens that name it open its data sets to its people."""
    with _changing(Path(path)) as change:
        if change.access.project(project.name) is not None:
            raise Mistake(
                f"There is a project {project.name!r} already.",
                suggestions=["Remove it first, or choose another name."],
            )
        change.store(replace(change.access, projects=(*change.access.projects, project)))


def remove_project(path: str | Path, *, name: str) -> None:
    """Take a project away; its tokens open nothing until there is one of that name again."""
    with _changing(Path(path)) as change:
        if change.access.project(name) is None:
            raise _no_project(change.access, name)
        kept = tuple(project for project in change.access.projects if project.name != name)
        change.store(replace(change.access, projects=kept))


def _no_project(access: Access, name: str) -> Mistake:
    known = [project.name for project in access.projects]
    hint = nearest(name, known) or ["Make it first: confide project add SITE NAME --purpose ... --dataset ..."]
    return Mistake(f"There is no project called {name[:60]!r}.", suggestions=hint)


def _read(path: Path) -> bytes:
    """What is in the file, in less than half of the calls that `read_bytes` takes: at each another thread may take the interpreter."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            return b"".join(iter(lambda: os.read(descriptor, _AT_ONCE), b""))
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise Mistake(f"{str(path)!r} is missing.", suggestions=[_mend(path)]) from None
    except OSError as error:
        raise Mistake(f"{str(path)!r} cannot be read: {error.strerror}.", suggestions=[_mend(path)]) from None


def _parse(text: bytes, path: Path) -> Access:
    try:
        return read_access(text.decode("utf-8"), what=repr(str(path)), mend=_mend(path))
    except UnicodeDecodeError:
        raise Mistake(f"{str(path)!r} cannot be read: it is not text.", suggestions=[_mend(path)]) from None


def _mend(path: Path) -> str:
    return (
        f"Restore it from backup; or delete it, declare anew who may reach the site with "
        f"'confide access {path.parent} tokens', and make new tokens."
    )


@dataclass(frozen=True)
class _Change:
    """The file as one writer found it, alone."""

    path: Path
    access: Access

    def store(self, access: Access) -> None:
        _store(self.path, access)


@contextmanager
def _changing(path: Path) -> Iterator[_Change]:
    with _alone(path):
        yield _Change(path, load_access(path))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One writer at a time, so that a token just removed is not written back by another command."""
    try:
        with in_turn(path.parent):
            yield
    except OSError as error:
        raise Mistake(f"{str(path)!r} cannot be written: {error.strerror}.") from None


def _store(path: Path, access: Access) -> None:
    """Replace the file whole; a temporary file is made with mode 0600."""
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(fd, "w", encoding="utf-8") as file:
            file.write(write_access(access))
            file.flush()
            os.fsync(fd)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
