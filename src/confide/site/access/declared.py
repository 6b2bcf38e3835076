"""What a custodian declares: who may reach the site, by which names, and which web servers in front are believed."""

import hmac
import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from ipaddress import ip_address, ip_network

from confide.errors import Denied, Mistake
from confide.site.access.machines import is_loopback
from confide.site.access.openid import Identity, Provider
from confide.site.access.people import ANYONE, Person, PersonRole, Token, TokenTerms, digest_of
from confide.site.access.projects import Project

__all__ = ["Access", "Reach", "must_be_servable"]

_HOST = re.compile(r"([a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]{2,45}\])\.?(?::(\d{1,5}))?")
_PORT = re.compile(r":\d+$")
_USUAL_PORTS = ("80", "443")
"""What a Host header may name and browsers leave out."""

_LONGEST_NAME = 253


class Reach(StrEnum):
    """Who may reach the site: people on its own machine, people with a token, or everybody."""

    LOCAL = "local"
    TOKENS = "tokens"
    PUBLIC = "public"

    @property
    def words(self) -> str:
        """Who that is."""
        return {
            Reach.LOCAL: "whoever is on this machine, and nobody else",
            Reach.TOKENS: "people with a token",
            Reach.PUBLIC: "everybody, with a token or without",
        }[self]


@dataclass(frozen=True)
class Access:
    """Who may reach a site and who its people are.

    `names` are those by which other machines call the site, each with its port unless that is 80 or 443; `proxies` the addresses
    or networks of web servers in front that are believed when they say for whom they ask. A `local` site has neither.

    >>> Access().person(None)
    Person(name='anyone', role=<PersonRole.ANALYST: 'analyst'>, datasets=None, quota=0, project='', hidden=())
    """

    reach: Reach = Reach.LOCAL
    tokens: tuple[Token, ...] = ()
    names: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    projects: tuple[Project, ...] = ()
    login: Provider | None = None
    """Where people without a token may log in, if anywhere."""

    def __post_init__(self) -> None:
        for name in self.names:
            if not name or _host(name) != name:
                raise Mistake(
                    f"{name[:60]!r} cannot name a site.",
                    suggestions=["Write it as in stats.example.org or host:8000, in small letters."],
                )
        for proxy in self.proxies:
            _must_be_network(proxy)
        if self.reach is Reach.LOCAL and (self.names or self.proxies):
            raise Mistake(
                "A local site answers its own machine only: it has no other name, and no web server in front."
            )
        if self.proxies and not self.names:
            raise Mistake(
                "People reach a web server in front by a name, which must be declared too.",
                suggestions=["Add --name stats.example.org."],
            )

    @property
    def words(self) -> str:
        """The declaration in one sentence."""
        by = f", as {' or '.join(self.names)}" if self.names else ""
        through = f", through the web server at {' or '.join(self.proxies)}" if self.proxies else ""
        login = f"; logins by {self.login.issuer}" if self.login else ""
        return f"{self.reach}: {self.reach.words}{by}{through}{login}"

    @property
    def custodians(self) -> tuple[Token, ...]:
        """The tokens of those who look after the site and may still do so."""
        today = _today()
        return tuple(t for t in self.tokens if t.role is PersonRole.CUSTODIAN and not t.is_over(today))

    @property
    def has_custodians(self) -> bool:
        """Whether somebody may look after the site: with a token, or by a login."""
        by_login = self.login is not None and any(rule.role is PersonRole.CUSTODIAN for rule in self.login.admits)
        return by_login or bool(self.custodians)

    def person(self, token: str | None) -> Person:
        """Who shows this token. One that the site does not know is denied wherever it is shown."""
        if self.reach is not Reach.TOKENS and not token:
            return replace(ANYONE, hidden=self._reserved)
        known = self.token(token or "")
        if known is None:
            what = (
                "This site does not know the token, or it has expired."
                if token
                else "This site answers only people with a token."
            )
            raise Denied(what, suggestions=["Send the header 'Authorization: Bearer confide_...' with your token."])
        return self.person_of(known)

    def token(self, token: str) -> Token | None:
        """What is kept of a token that is not over. Every stored digest is compared, in constant time."""
        return self.of_digest(digest_of(token))

    def of_digest(self, digest: str) -> Token | None:
        """What is kept of the token with this digest, if it is not over."""
        matches = [known for known in self.tokens if hmac.compare_digest(known.digest, digest)]
        found = matches[0] if matches else None
        return found if found and not found.is_over(_today()) and self._stands(found.name, found.terms) else None

    def person_of(self, token: Token) -> Person:
        """Whose token it is, and what it lets them ask."""
        return self._person(token.name, token.role, token.terms)

    def person_logged_in(self, identity: Identity) -> Person | None:
        """Who somebody is whom the provider knows, and what they may ask; None if the site does not admit them."""
        if self.login is None or self.login.issuer != identity.issuer:
            return None
        fitting = (
            rule for rule in self.login.admits if rule.fits(identity) and self._stands(identity.name, rule.terms)
        )
        found = next(fitting, None)
        return self._person(identity.name, found.role, found.terms) if found else None

    def _person(self, name: str, role: PersonRole, terms: TokenTerms) -> Person:
        project = self.project(terms.project)
        person = Person(name, role, terms.datasets or None, terms.quota, hidden=self._reserved)
        if project is None:
            return person
        own = tuple(name for name in project.datasets if not terms.datasets or name in terms.datasets)
        return replace(person, datasets=own, project=project.name)

    def project(self, name: str) -> Project | None:
        """The project of that name."""
        return next((project for project in self.projects if project.name == name), None)

    def _stands(self, name: str, terms: TokenTerms) -> bool:
        """Whether terms open anything to somebody: they are still in the project."""
        project = self.project(terms.project)
        return name in project.people if project else not terms.project

    @property
    def _reserved(self) -> tuple[str, ...]:
        """The data sets that belong to projects."""
        return tuple(sorted({name for project in self.projects for name in project.datasets}))

    def believes(self, address: str) -> bool:
        """Whether an address is that of a declared web server in front."""
        try:
            return any(ip_address(address) in ip_network(proxy) for proxy in self.proxies)
        except ValueError:
            return False

    def name_of(self, host: str, *, client: str) -> str | None:
        """By which of its names a Host header calls this site; None if it is no name of it, '' if it is no name at all.

        The loopback names are for who is on the machine itself.

        >>> Access().name_of("LocalHost:8000", client="127.0.0.1"), Access().name_of("evil.example", client="127.0.0.1")
        ('localhost:8000', None)
        """
        called = _host(host)
        if not called:
            return ""
        if called in self.names:
            return called
        return called if is_loopback(_PORT.sub("", called)) and is_loopback(client) else None


def must_be_servable(access: Access, host: str) -> None:
    """Refuse to serve other machines a local site, or one that has no name by which they could call it.

    >>> must_be_servable(Access(), "127.0.0.1")
    """
    if is_loopback(host):
        return
    if access.reach is Reach.LOCAL:
        raise Mistake(
            f"This site is local: it answers its own machine only, not {host!r}.",
            suggestions=[
                "Serve on 127.0.0.1, or declare who may reach it: 'confide access SITE tokens --name HOST:PORT' for people "
                "with a token, 'public' instead of 'tokens' for everybody."
            ],
        )
    if not access.names:
        raise Mistake(
            f"This site has no name by which other machines could call it at {host!r}.",
            suggestions=[f"Declare it: confide access SITE {access.reach} --name HOST:PORT"],
        )


def _today() -> date:
    return datetime.now(UTC).date()


def _host(text: str) -> str:
    """A Host header in one spelling: small letters, no final point, no usual port; nothing if it is none."""
    found = _HOST.fullmatch(text.lower()) if text.isascii() and len(text) <= _LONGEST_NAME + 6 else None
    if found is None:
        return ""
    return found[1] if found[2] is None or found[2] in _USUAL_PORTS else f"{found[1]}:{int(found[2])}"


def _must_be_network(proxy: str) -> None:
    try:
        ip_network(proxy)
    except ValueError:
        raise Mistake(
            f"{proxy[:60]!r} is no address of a web server in front.",
            suggestions=["Write it as in 127.0.0.1 or 10.0.0.0/24."],
        ) from None
