"""Who may ask what: people, their roles, the tokens they show, and whether the public may ask.

A token is 256 random bits, so its plain SHA-256 is stored: there is nothing to guess, and a slow password hash would
only slow the site. The token itself is shown once and kept nowhere.
"""

import fcntl
import hashlib
import hmac
import json
import os
import secrets
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from threading import Lock
from typing import Any

from confide.errors import Denied, Fault, Mistake, nearest

__all__ = [
    "ANYONE",
    "VISITOR",
    "Access",
    "AccessFile",
    "Person",
    "PersonRole",
    "Token",
    "add_token",
    "is_loopback",
    "list_tokens",
    "must_be_loopback",
    "remove_token",
    "require",
    "set_public",
]

_PREFIX = "confide_"
_KEYS = ("name", "role", "created", "sha256")


class PersonRole(StrEnum):
    """What a person may do: an analyst asks; a custodian also looks after the site."""

    ANALYST = "analyst"
    CUSTODIAN = "custodian"


@dataclass(frozen=True)
class Person:
    """Who asks, as the ledger names them."""

    name: str
    role: PersonRole


ANYONE = Person("anyone", PersonRole.ANALYST)
VISITOR = "visitor "
"""How the names of people without a token begin on a public site, where machines are told apart."""


@dataclass(frozen=True)
class Token:
    """What is kept of a token: whose it is, since when, and its digest."""

    name: str
    role: PersonRole
    created: date
    digest: str = field(repr=False)


@dataclass(frozen=True)
class Access:
    """The people of a site. Without tokens everybody is an analyst, which a server permits on its own machine only.

    On a `public` site people without a token are analysts too, wherever they are.

    >>> Access().person(None)
    Person(name='anyone', role=<PersonRole.ANALYST: 'analyst'>)
    """

    tokens: tuple[Token, ...] = ()
    public: bool = False

    @classmethod
    def load(cls, path: str | Path) -> "Access":
        """The people named in an `access.toml`; a missing file names nobody."""
        return _load(Path(path))

    @property
    def local(self) -> bool:
        """Whether everybody may ask, but on the site's own machine only."""
        return not self.tokens and not self.public

    def person(self, token: str | None) -> Person:
        """Who shows this token. One that the site does not know is denied on a public site too."""
        if not self.tokens or (self.public and not token):
            return ANYONE
        known = self.token(token or "")
        if known is None:
            what = "This site does not know the token." if token else "This site answers only people with a token."
            raise Denied(what, suggestions=["Send the header 'Authorization: Bearer confide_...' with your token."])
        return Person(known.name, known.role)

    def token(self, token: str) -> Token | None:
        """What is kept of a token. Every stored digest is compared, in constant time."""
        shown = _digest(token)
        matches = [known for known in self.tokens if hmac.compare_digest(known.digest, shown)]
        return matches[0] if matches else None

    def of_digest(self, digest: str) -> Token | None:
        """What is kept of the token with this digest."""
        return next((known for known in self.tokens if hmac.compare_digest(known.digest, digest)), None)


class AccessFile:
    """The people of a running site: `access.toml` as it is now.

    Promise: a token opens nothing from the moment its removal is stored; a file that cannot be read, or that lost what
    kept strangers out, lets nobody in.
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
                    self._access, self._text = self._checked(_parse(text, self._path)), text
            except Mistake as mistake:
                raise Fault(f"Nobody is let in: {mistake}") from None
            return self._access

    def _checked(self, access: Access) -> Access:
        if access.local and not self._access.local:
            raise Fault(
                f"Nobody is let in: {str(self._path)!r} names nobody any more.", suggestions=["Restore it, or restart."]
            )
        return access


def require(person: Person, role: PersonRole) -> None:
    """Deny what belongs to another role. A custodian may do all that an analyst may."""
    if person.role not in (role, PersonRole.CUSTODIAN):
        raise Denied(f"Only a {role} may do this, and {person.name!r} is an {person.role}.", http_status=403)


def must_be_loopback(access: Access, host: str) -> None:
    """Refuse to serve a site to other machines that has neither tokens nor is declared public.

    >>> must_be_loopback(Access(), "127.0.0.1")
    """
    if access.local and not is_loopback(host):
        raise Mistake(
            f"This site has no tokens, so everybody who reaches {host!r} could ask it.",
            suggestions=[
                "Add one with 'confide token add SITE NAME', serve on 127.0.0.1, or, if everybody may ask, declare "
                "it with 'confide token public SITE'."
            ],
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself.

    >>> is_loopback("[::1]"), is_loopback("10.0.0.1")
    (True, False)
    """
    try:
        return host.lower() == "localhost" or ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def list_tokens(path: str | Path) -> tuple[Token, ...]:
    """The tokens in an `access.toml`, in the order they were added."""
    return _load(Path(path)).tokens


def _load(path: Path) -> Access:
    return _parse(_read(path), path)


def _read(path: Path) -> bytes:
    """The bytes of the file; a missing file is an empty one."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise Mistake(f"{str(path)!r} cannot be read as TOML: {_why(error)}.") from None


def _parse(text: bytes, path: Path) -> Access:
    try:
        raw = tomllib.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Mistake(f"{str(path)!r} cannot be read as TOML: {_why(error)}.") from None
    tables, public = raw.pop("token", []), raw.pop("public", False)
    if raw or not isinstance(tables, list):
        raise Mistake(f"{str(path)!r} may hold only 'public' and [[token]] sections.")
    if not isinstance(public, bool):
        raise Mistake(f"'public' in {str(path)!r} must be true or false.")
    tokens = tuple(_token(table, where=f"[[token]] {place} of {str(path)!r}") for place, table in enumerate(tables, 1))
    for key in ("name", "digest"):
        if len({getattr(token, key) for token in tokens}) < len(tokens):
            raise Mistake(f"Two tokens in {str(path)!r} have the same {key}.", suggestions=["Remove one of them."])
    return Access(tokens, public)


def add_token(path: str | Path, *, name: str, role: PersonRole) -> str:
    """A new token for a person, given once: only its digest is stored."""
    secret = _PREFIX + secrets.token_urlsafe(32)
    added = Token(_name(name), PersonRole(role), datetime.now(UTC).date(), _digest(secret))
    with _alone(Path(path)):
        access = _load(Path(path))
        if any(token.name == name for token in access.tokens):
            raise Mistake(f"{name!r} already has a token.", suggestions=["Remove it first, or choose another name."])
        _store(Path(path), replace(access, tokens=(*access.tokens, added)))
    return secret


def remove_token(path: str | Path, *, name: str) -> None:
    """Take a person's token away. The last one stays where a site without tokens would answer everybody."""
    with _alone(Path(path)):
        access = _load(Path(path))
        kept = tuple(token for token in access.tokens if token.name != name)
        if kept == access.tokens:
            known = [token.name for token in access.tokens]
            raise Mistake(f"Nobody called {name!r} has a token.", suggestions=nearest(name, known))
        if not kept and not access.public:
            raise Mistake(
                f"{name!r} has the only token, and a site without tokens answers everybody on this machine.",
                suggestions=[f"Add another token first, or delete {str(path)!r} if that is what you want."],
            )
        _store(Path(path), replace(access, tokens=kept))


def set_public(path: str | Path, *, public: bool) -> None:
    """Declare that people without a token may ask as analysts, or that they may not."""
    with _alone(Path(path)):
        _store(Path(path), replace(_load(Path(path)), public=public))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _why(error: BaseException) -> str:
    if isinstance(error, OSError):
        return str(error.strerror)
    return str(error) if isinstance(error, tomllib.TOMLDecodeError) else "it is not text, or nested too deeply"


def _name(name: Any, where: str = "a token") -> str:
    if not isinstance(name, str) or not 1 <= len(name) <= 60 or not name.isprintable() or name != name.strip():
        raise Mistake(f"The name of {where} must be 1 to 60 printable characters, without spaces around them.")
    if name == ANYONE.name or name.startswith(VISITOR):
        raise Mistake(f"The name {name!r} means people without a token.", suggestions=["Choose another name."])
    return name


def _token(table: Any, *, where: str) -> Token:
    if not isinstance(table, dict):
        raise Mistake(f"{where} must be a section.")
    for key in table:
        if key not in _KEYS:
            raise Mistake(f"Unknown key {key!r} in {where}.", suggestions=nearest(key, _KEYS))
    role, created, digest = table.get("role"), table.get("created"), table.get("sha256")
    if role not in tuple(PersonRole):
        raise Mistake(f"The role in {where} must be one of {', '.join(PersonRole)}.")
    if type(created) is not date:
        raise Mistake(f"'created' in {where} must be a date such as 2025-01-31.")
    if not isinstance(digest, str) or len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise Mistake(f"'sha256' in {where} must be 64 hexadecimal digits.")
    return Token(_name(table.get("name"), where), PersonRole(role), created, digest)


def _text(access: Access) -> str:
    """The people as TOML. A printable string's JSON, not escaped to ASCII, is a TOML string."""
    sections = (
        f"[[token]]\nname = {json.dumps(token.name, ensure_ascii=False)}\nrole = {json.dumps(token.role)}\n"
        f"created = {token.created.isoformat()}\nsha256 = {json.dumps(token.digest)}\n"
        for token in access.tokens
    )
    public = ["public = true  # people without a token may ask\n"] if access.public else []
    return "\n".join(["# Written by Confide: digests of tokens, never tokens.", *public, *sections])


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
