"""People, their roles, and what is kept of their tokens.

A token is 256 random bits, so its plain SHA-256 is stored: there is nothing to guess, and a slow password hash would
only slow the site. The token itself is shown once and kept nowhere.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum

from confide.errors import Denied, Mistake
from confide.site.vintages import parse

__all__ = [
    "ANYONE",
    "UNLIMITED",
    "VISITOR",
    "Asking",
    "Person",
    "PersonRole",
    "Token",
    "TokenTerms",
    "asked_by",
    "check_person",
    "check_terms",
    "digest_of",
    "new_token",
    "require",
]

_PREFIX = "confide_"


class PersonRole(StrEnum):
    """What a person may do: an analyst asks; a custodian also looks after the site; a monitor, mostly a program, reads its counts."""

    ANALYST = "analyst"
    CUSTODIAN = "custodian"
    MONITOR = "monitor"


@dataclass(frozen=True)
class Person:
    """Who asks, as the ledger names them, and what their token lets them ask.

    >>> Person("ana", PersonRole.ANALYST, datasets=("people",)).may_ask("patients@2025")
    False
    """

    name: str
    role: PersonRole
    datasets: tuple[str, ...] | None = None
    """The data sets they may ask about; None if all."""
    quota: int = 0
    """So many questions a day, of all data sets together; 0 if only the policies limit them."""
    project: str = ""
    """The project in which they ask; none if for themselves."""
    hidden: tuple[str, ...] = ()
    """The data sets that belong to projects, for who has no list of their own."""

    def may_ask(self, dataset: str) -> bool:
        """Whether a data set, or a vintage of one, is there for them. A custodian looks after all, a monitor asks nothing."""
        if self.role is not PersonRole.ANALYST:
            return self.role is PersonRole.CUSTODIAN
        name, _ = parse(dataset)
        return name not in self.hidden if self.datasets is None else name in self.datasets

    @property
    def asking(self) -> "Asking":
        """Whose question it is."""
        return Asking(self)


class Asking(str):
    """The name under which somebody's questions are counted and kept; `person` is who it is."""

    person: Person

    def __new__(cls, person: Person) -> "Asking":
        # Names are printable, so that nobody else can be called as somebody in a project.
        asking = super().__new__(cls, f"{person.name}\n{person.project}" if person.project else person.name)
        asking.person = person
        return asking

    def __reduce__(self) -> tuple[object, ...]:
        return Asking, (self.person,)


def asked_by(who: str) -> Person:
    """Who it is whose questions are counted under a name. Whoever is only named has the folder, as a custodian does."""
    return who.person if isinstance(who, Asking) else Person(who, PersonRole.CUSTODIAN)


ANYONE = Person("anyone", PersonRole.ANALYST)
VISITOR = "visitor "
"""How the names of people without a token begin on a public site, where machines are told apart."""


@dataclass(frozen=True)
class TokenTerms:
    """What a token is good for: until the end of a day (UTC), for which data sets, for how many questions a day, in which project.

    `label` tells the tokens of one person apart, as in laptop.
    """

    label: str = ""
    expires: date | None = None
    datasets: tuple[str, ...] = ()
    quota: int = 0
    project: str = ""

    def __post_init__(self) -> None:
        if self.label and not _is_name(self.label):
            raise Mistake("The label of a token must be 1 to 60 printable characters, without spaces around them.")
        if self.quota < 0:
            raise Mistake("The quota of a token must be 0 (none) or more questions a day.")

    @property
    def words(self) -> str:
        """What it is good for, in words; nothing if for everything and for ever."""
        parts = [f"until {self.expires}"] if self.expires else []
        parts += [f"in the project {self.project}"] if self.project else []
        parts += [f"for {', '.join(self.datasets)}"] if self.datasets else []
        parts += [f"{self.quota} questions a day"] if self.quota else []
        return ", ".join(parts)

    @property
    def told(self) -> dict[str, str]:
        """What the ledger is told of it, beside whose it is."""
        return {key: value for key, value in (("label", self.label), ("terms", self.words)) if value}


UNLIMITED = TokenTerms()


@dataclass(frozen=True)
class Token:
    """What is kept of a token: whose it is, since when, its digest, and what it is good for."""

    name: str
    role: PersonRole
    created: date
    digest: str = field(repr=False)
    terms: TokenTerms = UNLIMITED

    def __post_init__(self) -> None:
        check_person(self.name)
        check_terms(self.role, self.terms)

    def is_over(self, today: date) -> bool:
        """Whether its last day has passed."""
        return self.terms.expires is not None and today > self.terms.expires


def require(person: Person, role: PersonRole) -> None:
    """Deny what belongs to another role. A custodian may do all that others may."""
    if person.role not in (role, PersonRole.CUSTODIAN):
        who = f"the role of {person.name!r} is {person.role}"
        raise Denied(f"Only a {role} may do this, and {who}.", http_status=403)


def new_token(name: str, role: PersonRole, terms: TokenTerms = UNLIMITED) -> tuple[str, Token]:
    """A new token for a person, and what is kept of it."""
    today = datetime.now(UTC).date()
    if terms.expires and terms.expires < today:
        raise Mistake(f"The token would have expired on {terms.expires} already.", suggestions=["Give a later day."])
    secret = _PREFIX + secrets.token_urlsafe(32)
    return secret, Token(name, PersonRole(role), today, digest_of(secret), terms)


def digest_of(token: str) -> str:
    """What is kept of a token that somebody shows."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def check_terms(role: PersonRole, terms: TokenTerms) -> None:
    """A Mistake if nobody in this role can have these terms."""
    if role is PersonRole.CUSTODIAN and (terms.datasets or terms.quota or terms.project):
        raise Mistake("A custodian looks after all data sets: neither data sets, nor a quota, nor a project are given.")
    if role is PersonRole.MONITOR and (terms.datasets or terms.quota or terms.project):
        raise Mistake("A monitor asks nothing: neither data sets, nor a quota, nor a project are given.")


def check_person(name: str) -> None:
    """A Mistake if nobody can have this name."""
    if not _is_name(name):
        raise Mistake("The name of a person must be 1 to 60 printable characters, without spaces around them.")
    if name == ANYONE.name or name.startswith(VISITOR):
        raise Mistake(f"The name {name!r} means people without a token.", suggestions=["Choose another name."])


def _is_name(name: str) -> bool:
    return 1 <= len(name) <= 60 and name.isprintable() and name == name.strip()
