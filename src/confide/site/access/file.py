"""`access.toml`: read whole or not at all, and written by one at a time.

Promise: a file that is missing, empty, torn or unreadable lets nobody in. A site has one from the moment it is made.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from confide.errors import Fault, Mistake, nearest
from confide.model.toml import parse_toml
from confide.site.access.declared import Access, Reach
from confide.site.access.people import PersonRole, Token, new_token, read_token

__all__ = ["AccessFile", "add_token", "declare", "list_tokens", "load_access", "remove_token"]

_KEYS = ("reach", "names", "proxies", "token")


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
    """Declare who may reach the site, by which names and through which web servers; the tokens stay.

    Where the file is missing this makes a new one, without tokens.
    """
    with _alone(Path(path)):
        kept = load_access(path).tokens if Path(path).exists() else ()
        declared = Access(Reach(reach), kept, tuple(names), tuple(proxies))
        _store(Path(path), declared)
    return declared


def add_token(path: str | Path, *, name: str, role: PersonRole) -> str:
    """A new token for a person, given once: only its digest is stored."""
    secret, added = new_token(name, role)
    with _alone(Path(path)):
        access = load_access(path)
        if any(token.name == name for token in access.tokens):
            raise Mistake(f"{name!r} already has a token.", suggestions=["Remove it first, or choose another name."])
        _store(Path(path), replace(access, tokens=(*access.tokens, added)))
    return secret


def remove_token(path: str | Path, *, name: str) -> None:
    """Take a person's token away."""
    with _alone(Path(path)):
        access = load_access(path)
        kept = tuple(token for token in access.tokens if token.name != name)
        if kept == access.tokens:
            known = [token.name for token in access.tokens]
            raise Mistake(f"Nobody called {name!r} has a token.", suggestions=nearest(name, known))
        _store(Path(path), replace(access, tokens=kept))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise Mistake(f"{str(path)!r} is missing.", suggestions=[_mend(path)]) from None
    except OSError as error:
        raise Mistake(f"{str(path)!r} cannot be read: {error.strerror}.", suggestions=[_mend(path)]) from None


def _parse(text: bytes, path: Path) -> Access:
    try:
        raw = parse_toml(text.decode("utf-8"), what=repr(str(path)))
    except UnicodeDecodeError:
        raise Mistake(f"{str(path)!r} cannot be read: it is not text.", suggestions=[_mend(path)]) from None
    except Mistake as mistake:
        raise Mistake(mistake.message, suggestions=[_mend(path)]) from None
    unknown = [key for key in raw if key not in _KEYS]
    if unknown or not isinstance(raw.get("token", []), list):
        raise Mistake(f"{str(path)!r} may hold only 'reach', 'names', 'proxies' and [[token]] sections.")
    if raw.get("reach") not in tuple(Reach):
        what = f"{str(path)!r} does not say who may reach the site: 'reach' must be one of {', '.join(Reach)}."
        raise Mistake(what, suggestions=[_mend(path)])
    names, proxies = (_texts(raw.get(key, []), key, path) for key in ("names", "proxies"))
    return Access(Reach(raw["reach"]), _tokens(raw.get("token", []), path), names, proxies)


def _tokens(tables: Sequence[Any], path: Path) -> tuple[Token, ...]:
    where = f"of {str(path)!r}"
    tokens = tuple(read_token(table, where=f"[[token]] {place} {where}") for place, table in enumerate(tables, 1))
    for key in ("name", "digest"):
        if len({getattr(token, key) for token in tokens}) < len(tokens):
            raise Mistake(f"Two tokens in {str(path)!r} have the same {key}.", suggestions=["Remove one of them."])
    return tokens


def _texts(value: Any, key: str, path: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Mistake(f"{key!r} in {str(path)!r} must be a list of texts.")
    return tuple(value)


def _mend(path: Path) -> str:
    return (
        f"Restore it from backup; or delete it, declare anew who may reach the site with "
        f"'confide access {path.parent} tokens', and make new tokens."
    )


def _text(access: Access) -> str:
    """The declaration as TOML. A printable string's JSON, not escaped to ASCII, is a TOML string."""
    head = [
        "# Written by Confide ('confide access', 'confide token'): digests of tokens, never tokens.",
        f"reach = {json.dumps(access.reach)}  # {access.reach.words}",
        *([f"names = {json.dumps(access.names)}"] if access.names else []),
        *([f"proxies = {json.dumps(access.proxies)}"] if access.proxies else []),
    ]
    sections = (
        f"[[token]]\nname = {json.dumps(token.name, ensure_ascii=False)}\nrole = {json.dumps(token.role)}\n"
        f"created = {token.created.isoformat()}\nsha256 = {json.dumps(token.digest)}\n"
        for token in access.tokens
    )
    return "\n".join(["\n".join(head) + "\n", *sections])


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One writer at a time, so that a token just removed is not written back by another command."""
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise Mistake(f"{str(path)!r} cannot be written: {error.strerror}.") from None


def _store(path: Path, access: Access) -> None:
    """Replace the file whole; a temporary file is made with mode 0600."""
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(fd, "w", encoding="utf-8") as file:
            file.write(_text(access))
            file.flush()
            os.fsync(fd)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
