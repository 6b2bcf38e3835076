"""The papers of a site that several machines serve: who may come in, policies, and the versions of data, as digests.

Papers stay files under the custodian's hand. The state knows the digests of the site's: those of the machine that changed them last.
"""

import hashlib
import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from confide.errors import Fault
from confide.site.state.database import connect_state, has_table, server_faults

if TYPE_CHECKING:
    from confide.site.state import State

__all__ = ["SharedPapers", "differing_machines", "papers_of", "unlike_the_sites"]

LOOK = 1.0
"""Seconds after which it is looked again whether another machine has changed something."""

ACCESS = "access.toml"
"""Read anew for every request; the others count as they were when the site was loaded."""

_PAPERS = {
    ACCESS: ("access.toml",),
    "policies": ("policy.toml", "projects/*.toml", "*/policy.toml"),
    "data": ("*/dataset.toml", "*/vintages.json"),
}

_ALIVE = "NOT pg_try_advisory_xact_lock(hashtextextended(machine || ' 0', 0))"
_TELL = "INSERT INTO machines VALUES (?1, ?2, ?3) ON CONFLICT (machine) DO UPDATE SET digests = excluded.digests"
_TELL_THE_SITES = f"{_TELL}, version = excluded.version"
_DECLARE = (
    "INSERT INTO site_papers VALUES (1, ?1, ?2, ?3) "
    "ON CONFLICT (one) DO UPDATE SET version = excluded.version, digests = excluded.digests, machine = excluded.machine"
)
_CHANGE = "UPDATE site_papers SET version = ?1, digests = ?2, machine = ?3 WHERE version = ?4 RETURNING version"

Digests = dict[str, str]


@dataclass(frozen=True)
class _SitePapers:
    """What the site's papers are, what this version of them is called, and on which machine they were changed."""

    version: str
    digests: Digests
    machine: str


class SharedPapers:
    """Whether a process has the papers of its site. Safe to share among threads.

    Promise: who had the site's papers and changes them makes the site's; who has others answers nothing, from `LOOK` seconds after the
    change at the latest until it has the same.
    """

    def __init__(self, state: "State", folder: Path) -> None:
        self._state, self._folder, self._lock = state, folder, Lock()
        self._loaded, self._looked, self._unlike = papers_of(folder), 0.0, ""
        state.table("site_papers", "one INTEGER PRIMARY KEY, version TEXT, digests TEXT, machine TEXT")
        state.table("machines", "machine TEXT PRIMARY KEY, version TEXT, digests TEXT")
        had = state.run("SELECT version, digests FROM machines WHERE machine = ?1", state.machine)
        self._version: str = had[0][0] if had else ""
        self._told: Digests = json.loads(had[0][1]) if had else {}

    def take_up(self) -> None:
        """Go by what is in the folder now."""
        with self._lock:
            self._look()  # what has become the site's meanwhile, and is here, is what the new is a change of
            self._loaded = papers_of(self._folder)
            self._look()

    @property
    def loaded(self) -> str:
        """What policies and data are answered by here, in a few letters."""
        with self._lock:
            found = [digest for what, digest in self._loaded.items() if what != ACCESS]
        return hashlib.sha256(" ".join(found).encode()).hexdigest()[:16]

    def declare(self) -> None:
        """Make what is in the folder now the papers of the site, whoever changed them."""
        with self._lock:
            self._loaded = papers_of(self._folder)
            self._state.run(_DECLARE, token_hex(8), json.dumps(self._loaded), self._state.machine)
            self._look()

    def must_be_the_sites(self) -> None:
        """A Fault if this process has other papers than the site."""
        with self._lock:
            if monotonic() > self._looked + LOOK:
                self._look()
            unlike = self._unlike
        if unlike:
            fault = Fault(f"Nothing is answered here: {unlike}.", suggestions=[_MEND])
            fault.http_status = 503
            raise fault

    def _look(self) -> None:
        mine = self._loaded | {ACCESS: _digest(self._folder, _PAPERS[ACCESS])}
        known = self._known(mine)
        while known.digests != mine and known.version == self._had(mine, known):
            self._state.run(_CHANGE, token_hex(8), json.dumps(mine), self._state.machine, known.version)
            known = self._known(mine)
        there = known.digests == mine
        new = known.version if there else self._version
        if (new, mine) != (self._version, self._told):
            tell = _TELL_THE_SITES if there else _TELL  # another worker may have had a later version
            self._state.run(tell, self._state.machine, new, json.dumps(mine))
        self._version, self._told = new, mine
        self._unlike, self._looked = _unlike(mine, known), monotonic()

    def _had(self, mine: Digests, known: _SitePapers) -> str:
        """The version that there was here before: of a file that is read anew it counts what any process of the machine has had."""
        if _differing(mine, known.digests) != ACCESS:
            return self._version
        found = self._state.run("SELECT version FROM machines WHERE machine = ?1", self._state.machine)
        return str(found[0][0]) if found else ""

    def _known(self, mine: Digests) -> _SitePapers:
        """The site's papers; those of the first who looks, if there are none yet."""
        first = "INSERT INTO site_papers VALUES (1, ?1, ?2, ?3) ON CONFLICT (one) DO NOTHING"
        while not (found := self._state.run("SELECT version, digests, machine FROM site_papers")):
            self._state.run(first, token_hex(8), json.dumps(mine), self._state.machine)
        return _site_papers(found[0])


_MEND = (
    "Copy what is right to all machines, then: confide reload SITE. "
    "If what is here is right, stop this server: confide ledger share SITE"
)


def papers_of(folder: Path) -> Digests:
    """Digests of who may come in, of policies and of the versions of data, as they are in a folder now."""
    return {what: _digest(folder, patterns) for what, patterns in _PAPERS.items()}


def differing_machines(database: str, folder: Path) -> list[str]:
    """Which machines that serve the site now have something else, and what, in words."""
    mine, others = papers_of(folder), _rows(database, f"SELECT machine, digests FROM machines WHERE {_ALIVE}")
    differing = [(machine, _differing(mine, json.loads(told))) for machine, told in sorted(others)]
    return [f"{what} of {machine}" for machine, what in differing if what]


def unlike_the_sites(database: str, machine: str, folder: Path) -> str:
    """Why nothing is answered on a machine, in words; nothing if it has the papers of its site, or has just changed them."""
    known = [_site_papers(row) for row in _rows(database, "SELECT version, digests, machine FROM site_papers")]
    had = dict(_rows(database, "SELECT machine, version FROM machines"))
    if not known or had.get(machine) == known[0].version:
        return ""
    return _unlike(papers_of(folder), known[0])


def _rows(database: str, statement: str) -> list[tuple[Any, ...]]:
    with server_faults(), closing(connect_state(database)) as connection:
        there = has_table(connection, "site_papers") and has_table(connection, "machines")
        return connection.execute(statement.encode()).fetchall() if there else []


def _site_papers(row: tuple[Any, ...]) -> _SitePapers:
    return _SitePapers(str(row[0]), json.loads(row[1]), str(row[2]))


def _unlike(mine: Digests, known: _SitePapers) -> str:
    what = _differing(mine, known.digests)
    return f"{what} of this machine is not the site's, which was changed on {known.machine}" if what else ""


def _differing(mine: Digests, others: Digests) -> str:
    return " and ".join(what for what, digest in others.items() if mine.get(what) != digest)


def _digest(folder: Path, patterns: tuple[str, ...]) -> str:
    found = hashlib.sha256()
    for file in sorted(file for pattern in patterns for file in folder.glob(pattern)):
        found.update(f"{file.relative_to(folder)}\n".encode() + file.read_bytes() + b"\0")
    return found.hexdigest()
