"""Sessions: a login stands for a token, or for whom a provider knows, for a while, so that neither lies in a browser.

The cookie holds an opaque random id. Everything else is in the state of the running site, which all its processes see. Where one
machine serves the site, a restart ends every session.
"""

import hashlib
import json
import secrets
from dataclasses import dataclass, field

from confide.site.access import Identity
from confide.site.state import State

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


class Sessions:
    """The sessions of a running site, in bounded memory; the one not seen for longest makes room. Safe to share among threads.

    Promise: an id is never taken from outside, never used for a second login, and kept hashed. `now` is a clock that
    never goes back, the same in all processes of the site.

    >>> from confide.site.state import FileState
    >>> sessions = Sessions(FileState())
    >>> cookie = sessions.begin("digest of a token", now=0.0)
    >>> sessions.find(cookie, now=60.0).seen, sessions.find(cookie, now=60.0 + LONGEST_IDLE + 1)
    (60.0, None)
    """

    def __init__(self, state: State, *, most: int = 1000) -> None:
        self._state, self._most = state, most
        columns = "key TEXT PRIMARY KEY, shown TEXT, csrf TEXT, began DOUBLE PRECISION, seen DOUBLE PRECISION"
        state.table("sessions", columns)

    def begin(self, shown: str | Identity, *, now: float) -> str:
        """The id of a new session of who has shown a token, by its digest, or is known to the provider."""
        cookie, run = secrets.token_urlsafe(32), self._state.run
        run("DELETE FROM sessions WHERE seen < ?1 OR began < ?2", now - LONGEST_IDLE, now - LONGEST)
        csrf = secrets.token_urlsafe(32)
        run("INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, ?5)", _key(cookie), _written(shown), csrf, now, now)
        kept = "SELECT key FROM sessions WHERE key <> ?1 ORDER BY seen DESC, began DESC, key LIMIT ?2"
        run(f"DELETE FROM sessions WHERE key <> ?1 AND key NOT IN ({kept})", _key(cookie), self._most - 1)
        return cookie

    def find(self, cookie: str, *, now: float) -> Session | None:
        """The session of this id, used just now; None if there is none or it is over."""
        if not cookie:
            return None
        found = self._state.run(
            "UPDATE sessions SET seen = ?1 WHERE key = ?2 AND seen >= ?3 AND began >= ?4 RETURNING shown, csrf, began",
            now, _key(cookie), now - LONGEST_IDLE, now - LONGEST,
        )  # fmt: skip
        return Session(_read(found[0][0]), found[0][1], float(found[0][2]), now) if found else None

    def end(self, cookie: str) -> None:
        """Log out; an unknown id is none."""
        self._state.run("DELETE FROM sessions WHERE key = ?1", _key(cookie))

    def __len__(self) -> int:
        [(found,)] = self._state.run("SELECT count(*) FROM sessions")
        return int(found)


def _written(shown: str | Identity) -> str:
    return json.dumps(shown if isinstance(shown, str) else [shown.issuer, shown.name, sorted(shown.says)])


def _read(shown: str) -> str | Identity:
    found = json.loads(shown)
    return found if isinstance(found, str) else Identity(found[0], found[1], frozenset(map(tuple, found[2])))


def _key(cookie: str) -> str:
    """Ids are kept hashed: what is compared when one is looked up says nothing of the others."""
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()
