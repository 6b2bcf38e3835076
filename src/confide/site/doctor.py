"""Whether a site can be served safely: each thing looked at is well, or says what to do."""

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from confide.engines.columns.store import ColumnsStore
from confide.engines.stores import answering_engine, open_engine, store_files
from confide.errors import Fault, Mistake
from confide.memory import whole_memory
from confide.model.catalog.dataset import EngineName
from confide.site import ledger
from confide.site.access import load_access
from confide.site.folder import Folder
from confide.site.looks.appearance import read_appearance
from confide.site.origins import has_changed, read_origin
from confide.site.state import open_state, state_database
from confide.site.state.database import server_facts
from confide.site.state.papers import differing_machines, unlike_the_sites

__all__ = ["Examined", "examine"]

LEAST_FREE = 1 << 30
"""Bytes that should be free on the disk of a site: without room nothing is recorded, so nothing is answered."""

BEHIND = timedelta(minutes=5)
"""A clock that is so far behind the last entry of the ledger, or from that of another machine, is wrong, now or then."""

LIBRARIES = ("confide", "duckdb", "numpy", "pyarrow")


@dataclass(frozen=True)
class Examined:
    """One thing that was looked at, what was found, and what to do; nothing if it is well."""

    what: str
    found: str
    mend: str = ""


def examine(folder: Folder) -> Iterator[Examined]:
    """Everything about a site that a custodian should mend before serving it. Works beside a running server."""
    folder.names()
    for what, look in _LOOKS.items():
        try:
            yield look(what, folder)
        except (Mistake, Fault) as error:
            yield Examined(what, error.message, " ".join(error.suggestions) or "Mend what is said.")


def _permissions(what: str, folder: Folder) -> Examined:
    """Who may enter the folder and read a file. What others cannot enter, they cannot read."""
    if not folder.path.stat().st_mode & 0o077:
        return Examined(what, "only the owner may enter the folder")
    private = [file for file in folder.path.rglob("*") if file.is_file() and file.suffix != ".toml"]
    open_to_others = [file for file in private if stat.S_IMODE(file.stat().st_mode) & 0o077]
    if open_to_others:
        found = f"others may read {open_to_others[0]} and {len(open_to_others) - 1} more files"
        return Examined(what, found, f"chmod -R go= {folder.path}")
    return Examined(what, "others may enter the folder, but read nothing private")


def _owner(what: str, folder: Folder) -> Examined:
    others = [file for file in folder.path.rglob("*") if file.stat().st_uid != os.geteuid()]
    if others:
        return Examined(what, f"{others[0]} belongs to somebody else", "Run the site as the owner of its files.")
    return Examined(what, "every file belongs to who runs this")


def _secret(what: str, folder: Folder) -> Examined:
    return Examined(what, f"there, and private; its public name is {folder.secret().version}")


def _data(what: str, folder: Folder) -> Examined:
    for name in folder.names():
        folder.policy(name)
        for file in store_files(folder.store(name), folder.dataset(name).engine):
            if not file.exists():
                return Examined(what, f"{name!r} has no {file.name}", f"confide ingest FILE {folder.path} {name}")
        # a fault says what the store, the database or the cluster lacks
        open_engine(folder.store(name), folder.dataset(name)).close()
    return _sources(Examined(what, f"{', '.join(folder.names())}: described, under a policy, and loaded"), folder)


def _sources(well: Examined, folder: Folder) -> Examined:
    """Whether tables that change are as they were read. Who answers need not be somebody who may read them."""
    unseen = []
    for name in folder.names():
        if (origin := read_origin(folder, name)) is None:
            continue
        again = f"confide ingest {origin.database} {folder.path} {name}{' --table ' * bool(origin.table)}{origin.table}"
        try:
            if has_changed(folder, name):
                found = f"the table {origin.title} has changed since {name!r} was read from it"
                return replace(well, found=found, mend=again)
        except (Mistake, Fault):
            unseen.append(name)
    told = f"; the table of {', '.join(unseen)} was not looked at: it cannot be read from here" if unseen else ""
    return replace(well, found=well.found + told)


def _memory(what: str, folder: Folder) -> Examined:
    """What the columns that are answered from take, once all of them have been read; and how long that takes, which is done."""
    mapped = {name: file for name in folder.names() if (file := _columns_file(folder, name))}
    needed, there = sum(file.stat().st_size for file in mapped.values()), whole_memory()
    if not mapped:
        return Examined(what, "DuckDB takes up to half of it")
    found = f"columns of {', '.join(mapped)} take {_megabytes(needed)}"
    if there is not None:
        found += f" of {_megabytes(there)}"
        if needed > there // 2:
            return Examined(what, found, 'Set engine = "duckdb" in dataset.toml, or give the machine more.')
    begun = time.monotonic()
    for file in mapped.values():
        ColumnsStore(file).read_all()
    return Examined(what, f"{found}; all were read and checked in {time.monotonic() - begun:.1f} s")


def _columns_file(folder: Folder, name: str) -> Path | None:
    store = folder.store(name)
    if answering_engine(store, folder.dataset(name).engine) is not EngineName.COLUMNS:
        return None
    *_, file = store_files(store, EngineName.COLUMNS)
    return file if file.exists() else None


def _megabytes(size: int) -> str:
    return f"{max(1, size >> 20):,} MB"


def _access(what: str, folder: Folder) -> Examined:
    access = load_access(folder.access)
    tokens = len(access.tokens)
    return Examined(what, f"{access.words}; {tokens} {'token' if tokens == 1 else 'tokens'}")


def _appearance(what: str, folder: Folder) -> Examined:
    if not (folder.path / "site.toml").exists():
        return Examined(what, "there is no site.toml: pages look as Confide's")
    shown = read_appearance(folder.path)
    files = f" with {', '.join(shown.files)}" if shown.files else ""
    return Examined(what, f"site.toml can be used: {shown.name!r}{files}")


def _ledger(what: str, folder: Folder) -> Examined:
    """Only its end: the whole is for `confide ledger verify`."""
    ledger.take_in(folder.ledger)
    if not folder.ledger.exists() and not ledger.anchored(folder.ledger):
        return Examined(what, "nothing has been recorded yet")
    if not ledger.anchored(folder.ledger):
        return Examined(what, "it has no anchor", f"Open the site once: confide serve {folder.path}")
    entries = sum(entry.number + 1 for entry in ledger.last(folder.ledger, 1))
    words = "1 entry" if entries == 1 else f"{entries} entries"
    return Examined(what, f"{words}, and the end is where the anchor says")


def _state(what: str, folder: Folder) -> Examined:
    """A server that loses what it has committed loses answers that were given."""
    database = state_database(folder.path)
    if database is None:
        return Examined(what, "in the folder, for one machine")
    facts = server_facts(database)
    if facts.careless:
        mend = f"Set {facts.careless} = on in postgresql.conf: what was recorded must outlive a loss of power."
        return Examined(what, f"in PostgreSQL {facts.version}, whose {facts.careless} is off", mend)
    others = [f"other than here: {each}" for each in differing_machines(database, folder.path)]
    with closing(open_state(folder.path)) as state:
        unlike = unlike_the_sites(database, state.machine, folder.path)
    if unlike or others:
        mend = "Copy what is right to all machines, then: confide reload SITE"
        told = [*others, *([f"nothing is answered here: {unlike}"] if unlike else [])]
        return Examined(what, f"in PostgreSQL {facts.version}; {'; '.join(told)}", mend)
    return Examined(what, f"in PostgreSQL {facts.version}, for several machines, all with the same papers")


def _clock(what: str, folder: Folder) -> Examined:
    now, database = datetime.now(UTC), state_database(folder.path)
    if database is not None and abs(server_facts(database).now - now) > BEHIND:
        mend = "Set the clocks: every machine counts its own days."
        return Examined(what, f"{now:%Y-%m-%d %H:%M} UTC, not what the clock of the state database says", mend)
    newest = ledger.last(folder.ledger, 1) if folder.ledger.exists() else []
    if newest and datetime.fromisoformat(newest[-1].time) > now + BEHIND:
        return Examined(what, f"{now:%Y-%m-%d %H:%M} UTC, before the last entry of the ledger", "Set the clock.")
    return Examined(what, f"{now:%Y-%m-%d %H:%M} UTC, not before the last entry of the ledger")


def _disk(what: str, folder: Folder) -> Examined:
    free = shutil.disk_usage(folder.path).free
    if free < LEAST_FREE:
        return Examined(what, f"{free >> 20} MB free", "Make room: what cannot be recorded is not answered.")
    return Examined(what, f"{free >> 30} GB free")


def _versions(what: str, folder: Folder) -> Examined:
    return Examined(what, ", ".join(f"{name} {version(name)}" for name in LIBRARIES))


_LOOKS: dict[str, Callable[[str, Folder], Examined]] = {
    "permissions": _permissions,
    "owner": _owner,
    "secret": _secret,
    "data sets": _data,
    "memory": _memory,
    "access": _access,
    "appearance": _appearance,
    "state": _state,
    "ledger": _ledger,
    "clock": _clock,
    "disk": _disk,
    "versions": _versions,
}
