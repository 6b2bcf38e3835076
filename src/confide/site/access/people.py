"""People, their roles, and what is kept of their tokens.

A token is 256 random bits, so its plain SHA-256 is stored: there is nothing to guess, and a slow password hash would
only slow the site. The token itself is shown once and kept nowhere.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any

from confide.errors import Denied, Mistake, nearest

__all__ = ["ANYONE", "VISITOR", "Person", "PersonRole", "Token", "digest_of", "new_token", "read_token", "require"]

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


def require(person: Person, role: PersonRole) -> None:
    """Deny what belongs to another role. A custodian may do all that an analyst may."""
    if person.role not in (role, PersonRole.CUSTODIAN):
        raise Denied(f"Only a {role} may do this, and {person.name!r} is an {person.role}.", http_status=403)


def new_token(name: str, role: PersonRole) -> tuple[str, Token]:
    """A new token for a person, and what is kept of it."""
    secret = _PREFIX + secrets.token_urlsafe(32)
    return secret, Token(_name(name), PersonRole(role), datetime.now(UTC).date(), digest_of(secret))


def digest_of(token: str) -> str:
    """What is kept of a token that somebody shows."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def read_token(table: Any, *, where: str) -> Token:
    """A token as a section of `access.toml` describes it."""
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


def _name(name: Any, where: str = "a token") -> str:
    if not isinstance(name, str) or not 1 <= len(name) <= 60 or not name.isprintable() or name != name.strip():
        raise Mistake(f"The name of {where} must be 1 to 60 printable characters, without spaces around them.")
    if name == ANYONE.name or name.startswith(VISITOR):
        raise Mistake(f"The name {name!r} means people without a token.", suggestions=["Choose another name."])
    return name
