"""OpenID Connect, the site's side: where a person is sent to log in, and who it is that the provider sends back.

Authorization code flow with PKCE. What the provider says is believed only if it signed it, for this site, for this login, now.
"""

import base64
import hashlib
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from confide.errors import Denied
from confide.site.access import Identity, Provider

__all__ = ["Endpoints", "Relay", "discover"]

TIMEOUT = 10.0
"""Seconds for which a provider may think."""

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures that only the provider can make; not those with a shared secret, and not none."""

_LEEWAY = 60
"""Seconds by which two clocks may differ."""

_KEPT = 3600.0
"""Seconds for which the addresses of a provider are believed."""


@dataclass(frozen=True)
class Endpoints:
    """Where a provider does what."""

    authorization: str
    token: str
    keys: str
    userinfo: str
    by_form: bool
    """Whether it takes the site's secret in the form only."""


def discover(issuer: str) -> Endpoints:
    """The addresses of a provider, as it tells them itself; Denied if it does not answer, or answers for another."""
    told = _asked("GET", issuer.rstrip("/") + "/.well-known/openid-configuration")
    if told.get("issuer") != issuer:
        raise _away("The provider of logins calls itself by another address than the one declared.")
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
    found = [_address(told.get(name), issuer) for name in names]
    userinfo = _address(told["userinfo_endpoint"], issuer) if "userinfo_endpoint" in told else ""
    ways = told.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return Endpoints(found[0], found[1], found[2], userinfo, "client_secret_basic" not in ways)


class Relay:
    """Sends people to a provider and asks it who came back.

    `secret` gives what the site shows the provider to be known, '' if nothing.
    """

    def __init__(self, secret: Callable[[], str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._secret, self._clock = secret, clock
        self._known: tuple[str, float, Endpoints] | None = None

    def address(self, provider: Provider, *, back: str, state: str, nonce: str, verifier: str) -> str:
        """Where a person logs in, to be sent back to an address of this site."""
        asked = {
            "response_type": "code",
            "client_id": provider.client,
            "redirect_uri": back,
            "scope": " ".join(dict.fromkeys(("openid", *provider.scopes))),
            "state": state,
            "nonce": nonce,
            "code_challenge": _text(hashlib.sha256(verifier.encode()).digest()),
            "code_challenge_method": "S256",
        }
        where = self._endpoints(provider).authorization
        return f"{where}{'&' if urlsplit(where).query else '?'}{urlencode(asked)}"

    def identify(self, provider: Provider, *, code: str, back: str, nonce: str, verifier: str) -> Identity | None:
        """Who has logged in, by the code that the provider gave them; None if they have no name that the site could use."""
        known = self._endpoints(provider)
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": verifier}
        given = self._exchange(provider, known, form)
        claims = _believed(given.get("id_token"), provider, nonce, known.keys)
        if known.userinfo and not provider.claims <= claims.keys():
            more = _asked("GET", known.userinfo, headers={"Authorization": f"Bearer {given.get('access_token')}"})
            if more.get("sub") != claims["sub"]:
                raise _not_believed()
            claims = {**more, **claims}
        return provider.identity(claims)

    def _endpoints(self, provider: Provider) -> Endpoints:
        now = self._clock()
        if self._known is None or self._known[0] != provider.issuer or now > self._known[1]:
            self._known = (provider.issuer, now + _KEPT, discover(provider.issuer))
        return self._known[2]

    def _exchange(self, provider: Provider, known: Endpoints, form: dict[str, str]) -> dict[str, Any]:
        """What the provider gives for a code. A site without a secret says only its name."""
        secret = self._secret()
        if secret and not known.by_form:
            shown = f"{quote(provider.client, safe='')}:{quote(secret, safe='')}"
            headers = {"Authorization": "Basic " + base64.b64encode(shown.encode()).decode()}
            return _asked("POST", known.token, data=form, headers=headers)
        shown_in_form = {"client_id": provider.client} | ({"client_secret": secret} if secret else {})
        return _asked("POST", known.token, data=form | shown_in_form)


def _believed(token: Any, provider: Provider, nonce: str, keys: str) -> dict[str, Any]:
    """What an ID token says, if the provider signed it for this site and this login, and it is not over."""
    key_set = _key_set(_asked("GET", keys))
    try:
        claims = jwt.decode(str(token), key_set, algorithms=_ALGORITHMS).claims
        registry = jwt.JWTClaimsRegistry(
            leeway=_LEEWAY,
            iss={"essential": True, "value": provider.issuer},
            aud={"essential": True, "value": provider.client},
            sub={"essential": True},
            exp={"essential": True},
            nonce={"essential": True, "value": nonce},
            azp={"essential": isinstance(claims.get("aud"), list) and len(claims["aud"]) > 1, "value": provider.client},
        )
        registry.validate(claims)
    except (JoseError, ValueError, TypeError, KeyError):
        raise _not_believed() from None
    return dict(claims)


def _key_set(told: Mapping[str, Any]) -> KeySet:
    try:
        return KeySet.import_key_set(dict(told))  # type: ignore[arg-type]  # another shape is caught below
    except (JoseError, ValueError, TypeError, KeyError):
        raise _away("The provider of logins has no keys that can be read.") from None


def _asked(method: str, address: str, **more: Any) -> dict[str, Any]:
    """What a provider answers; never where it redirects to, so that no secret goes where it was not meant to."""
    with _reached():
        answer = httpx.request(method, address, timeout=TIMEOUT, follow_redirects=False, **more)
        if answer.status_code in (400, 401, 403):
            code = answer.json().get("error")
            if code == "invalid_grant":
                raise Denied("This login is over, or was used already.", suggestions=["Log in again."])
            raise _away("The provider of logins does not know this site, or refuses what it asks.")
        told = answer.raise_for_status().json()
        if not isinstance(told, dict):
            raise ValueError
    return told


@contextmanager
def _reached() -> Any:
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, AttributeError):
        raise _away("The provider of logins cannot be reached, or does not speak OpenID Connect.") from None


def _address(told: Any, issuer: str) -> str:
    """An address of the provider, as safe as the provider's own."""
    if not isinstance(told, str) or urlsplit(told).scheme not in ("https", urlsplit(issuer).scheme):
        raise _away("The provider of logins does not tell all of its addresses.")
    return told


def _text(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _not_believed() -> Denied:
    return Denied("What the provider of logins says was not meant for this login.", suggestions=["Log in again."])


def _away(what: str) -> Denied:
    """Nobody can be known, because of the provider and not of who asks."""
    return Denied(what, http_status=502, suggestions=["Try again later, or log in with a token."])
