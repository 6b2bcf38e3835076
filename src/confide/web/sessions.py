"""Sessions: a login stands for a token, or for whom a provider knows, for a while, so that neither lies in a browser.

The cookie holds an opaque random id. Everything else is kept here, in memory: a restart ends every session.
"""

import hashlib
import secrets
from dataclasses import dataclass, field, replace

from confide.cache import Cache
from confide.site.access import Identity

__all__ = ["LONGEST", "LONGEST_IDLE", "Session", "Sessions"]

LONGEST_IDLE = 30 * 60.0
"""Seconds without a request after which a session is over."""

LONGEST = 12 * 60 * 60.0
"""Seconds after which a session is over, however busy."""


@dataclass(frozen=True)
class Session:
    """What a login began: the digest of the token or the identity shown, the secret of its forms, and when it was used
    (monotonic seconds).
    """

    shown: str | Identity = field(repr=False)
    csrf: str = field(repr=False)
    began: float
    seen: float

    def over(self, now: float) -> bool:
        return now - self.seen > LONGEST_IDLE or now - self.began > LONGEST


class Sessions:
    """The sessions of a running site, in bounded memory; the one not seen for longest makes room.

    Promise: an id is never taken from outside, never used for a second login, and kept hashed. `now` is a clock that
    never goes back.

    >>> sessions = Sessions()
    >>> cookie = sessions.begin("digest of a token", now=0.0)
    >>> sessions.find(cookie, now=60.0).seen, sessions.find(cookie, now=60.0 + LONGEST_IDLE + 1)
    (60.0, None)
    """

    def __init__(self, *, most: int = 1000) -> None:
        self._held: Cache[bytes, Session] = Cache(most, expired=Session.over)

    def begin(self, shown: str | Identity, *, now: float) -> str:
        """The id of a new session of who has shown a token, by its digest, or is known to the provider."""
        cookie = secrets.token_urlsafe(32)
        self._held.put(_key(cookie), Session(shown, secrets.token_urlsafe(32), now, now), now=now)
        return cookie

    def find(self, cookie: str, *, now: float) -> Session | None:
        """The session of this id, used just now; None if there is none or it is over."""
        return self._held.change(_key(cookie), lambda found: found and replace(found, seen=now), now=now)

    def end(self, cookie: str) -> None:
        """Log out; an unknown id is none."""
        self._held.pop(_key(cookie))

    def __len__(self) -> int:
        return len(self._held)


def _key(cookie: str) -> bytes:
    """Ids are kept hashed: what is compared when one is looked up says nothing of the others."""
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).digest()
