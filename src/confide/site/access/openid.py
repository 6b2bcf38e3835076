"""Logins by OpenID Connect: the provider that a site believes, and which of its people come in, as what."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from confide.errors import Mistake
from confide.site.access.machines import is_loopback
from confide.site.access.people import UNLIMITED, PersonRole, TokenTerms, check_terms

__all__ = ["Admission", "Identity", "Provider"]

_LONGEST = 200


@dataclass(frozen=True)
class Identity:
    """Somebody as a provider knows them: by a name, with what it says of them that an admission asks for."""

    issuer: str
    name: str
    says: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class Admission:
    """Who comes in: those of whom the provider says this, or all whom it knows if nothing is asked; as what, and for what.

    >>> ana = Identity("https://id.example.org", "ana@example.org", frozenset({("groups", "research")}))
    >>> Admission(claim="groups", value="research").fits(ana), Admission(claim="groups", value="office").fits(ana)
    (True, False)
    """

    role: PersonRole = PersonRole.ANALYST
    claim: str = ""
    value: str = ""
    terms: TokenTerms = UNLIMITED

    def __post_init__(self) -> None:
        if bool(self.claim) != bool(self.value):
            raise Mistake("An admission asks for a claim and its value, or for neither.")
        if self.role is PersonRole.MONITOR:
            raise Mistake("A monitor does not log in: it shows a token.", suggestions=["Run: confide token add."])
        if self.role is PersonRole.CUSTODIAN and not self.claim:
            raise Mistake(
                "Not everybody can be a custodian.", suggestions=["Name the claim and the value of those who are."]
            )
        if self.terms.label or self.terms.expires:
            raise Mistake("A login has no label and no last day: the provider says who may still come.")
        check_terms(self.role, self.terms)

    def fits(self, identity: Identity) -> bool:
        """Whether it is for somebody."""
        return not self.claim or (self.claim, self.value) in identity.says

    @property
    def words(self) -> str:
        """Who comes in as what."""
        who = f"whoever has {self.value!r} among {self.claim!r}" if self.claim else "everybody whom it knows"
        return f"{who}, as {self.role}" + (f", {self.terms.words}" if self.terms.words else "")


@dataclass(frozen=True)
class Provider:
    """Where people log in, as whom the site asks there, by which claim people are named, and who of them comes in.

    The first admission that fits counts; with none nobody comes in. `named_by` must be a claim that belongs to one person for ever and
    that people cannot choose themselves; an e-mail address counts only if the provider has verified it.
    """

    issuer: str
    client: str
    label: str = ""
    named_by: str = "email"
    scopes: tuple[str, ...] = ("email",)
    admits: tuple[Admission, ...] = ()

    def __post_init__(self) -> None:
        parts = urlsplit(self.issuer)
        safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
        if not safe or not parts.hostname or parts.query or parts.fragment or not _is_plain(self.issuer):
            raise Mistake(
                f"{self.issuer[:60]!r} is no address of a provider.",
                suggestions=["Write it as the provider does, as in https://id.example.org/realms/office."],
            )
        for what in (self.client, self.named_by, *self.scopes):
            if not what or not _is_plain(what):
                raise Mistake(
                    "The client, the claim of names and scopes of a login are 1 to 200 printable ASCII letters."
                )
        if len(self.label) > 60 or not (self.label or "x").isprintable():
            raise Mistake("The label of a login must be at most 60 printable characters.")

    @property
    def title(self) -> str:
        """What people know it by."""
        return self.label or str(urlsplit(self.issuer).hostname)

    @property
    def claims(self) -> frozenset[str]:
        """What the site must be told of somebody to know them."""
        return self._asked | {self.named_by} | ({"email_verified"} if self.named_by == "email" else set())

    @property
    def _asked(self) -> frozenset[str]:
        return frozenset(rule.claim for rule in self.admits if rule.claim)

    def identity(self, claims: Mapping[str, Any]) -> Identity | None:
        """Somebody of whom the provider says all this; None if they have no name by which the site could know them."""
        name = claims.get(self.named_by)
        verified = self.named_by != "email" or claims.get("email_verified") is True
        if not isinstance(name, str) or not verified:
            return None
        says = ((claim, value) for claim in self._asked for value in _texts(claims.get(claim)))
        return Identity(self.issuer, name, frozenset(says))


def _texts(value: Any) -> Iterable[str]:
    """What a claim says: a text, or several."""
    several = value if isinstance(value, list) else [value]
    return [each for each in several if isinstance(each, str)]


def _is_plain(text: str) -> bool:
    return len(text) <= _LONGEST and text.isascii() and text.isprintable() and " " not in text
