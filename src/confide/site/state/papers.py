"""What each machine of a site was last seen to have in its folder, as digests: whether all have the same."""

import hashlib
import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from confide.site.state.database import connect_state, has_table, server_faults

if TYPE_CHECKING:
    from confide.site.state import State

__all__ = ["differing_machines", "note_papers", "papers_of"]

_PAPERS = {
    "access.toml": ("access.toml",),
    "policies": ("policy.toml", "projects/*.toml", "*/policy.toml"),
    "data": ("*/dataset.toml", "*/vintages.json"),
}


def papers_of(folder: Path) -> dict[str, str]:
    """Digests of who may come in, of policies and of the versions of data, as they are in a folder now."""
    return {what: _digest(folder, patterns) for what, patterns in _PAPERS.items()}


def note_papers(state: "State", folder: Path) -> None:
    """Tell the other machines what this one has."""
    state.table("papers", "machine TEXT PRIMARY KEY, digests TEXT")
    state.run(
        "INSERT INTO papers VALUES (?1, ?2) ON CONFLICT (machine) DO UPDATE SET digests = excluded.digests",
        state.machine,
        json.dumps(papers_of(folder)),
    )


def differing_machines(database: str, folder: Path) -> list[str]:
    """Which machines that serve the site now have something else, and what, in words."""
    alive = "NOT pg_try_advisory_xact_lock(hashtextextended(machine || ' 0', 0))"
    with server_faults(), closing(connect_state(database)) as connection:
        if not has_table(connection, "papers"):
            return []
        rows = connection.execute(
            f"SELECT machine, digests FROM papers WHERE {alive} ORDER BY machine".encode()
        ).fetchall()
    mine = papers_of(folder)
    others = [
        (machine, [what for what, digest in json.loads(told).items() if mine.get(what) != digest])
        for machine, told in rows
    ]
    return [f"{' and '.join(what)} of {machine}" for machine, what in others if what]


def _digest(folder: Path, patterns: tuple[str, ...]) -> str:
    found = hashlib.sha256()
    for file in sorted(file for pattern in patterns for file in folder.glob(pattern)):
        found.update(f"{file.relative_to(folder)}\n".encode() + file.read_bytes() + b"\0")
    return found.hexdigest()
