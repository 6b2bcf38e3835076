"""The table that a vintage was read from, kept with it, so that a change there is noticed.

people/vintages/1/source.json
"""

import json
from dataclasses import asdict, replace
from pathlib import Path

from confide.data.private import only_mine
from confide.errors import Fault
from confide.site.folder import Folder, write_whole
from confide.site.secret import Secret
from confide.sources.delta import delta_origin
from confide.sources.origin import Origin, is_database

__all__ = ["FILE", "has_changed", "read_origin", "sealed", "write_origin"]

FILE = "source.json"


def sealed(origin: Origin, secret: Secret) -> Origin:
    """An origin as it may be kept: what tells a change is made of the true records, and tells nothing without the secret.

    >>> sealed(Origin("postgresql://db", "people", "3 17"), Secret(b"x" * 32)).state[:12]
    '148f0a3416fd'
    """
    return replace(origin, state=secret.digest("source", origin.state.encode()).hex())


def write_origin(inside: Path, origin: Origin) -> None:
    """Keep in the folder of a vintage where it is from."""
    with only_mine():
        write_whole(inside / FILE, json.dumps(asdict(origin), indent=1) + "\n")


def read_origin(folder: Folder, name: str) -> Origin | None:
    """The table that the newest vintage of a data set was read from, if it was one that changes."""
    file = folder.records(name) / FILE
    try:
        return Origin(**json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        raise Fault(f"{file} cannot be read.", suggestions=["Ingest the data again."]) from None


def has_changed(folder: Folder, name: str) -> bool:
    """Whether the table that a data set was read from is another now: a server looks at all of it."""
    kept = read_origin(folder, name)
    return kept is not None and sealed(_now(kept), folder.secret()) != kept


def _now(kept: Origin) -> Origin:
    if not is_database(kept.database):
        return delta_origin(Path(kept.database))
    from confide.sources.database.reading import table_origin  # needs the extra 'postgres'

    return table_origin(kept.database, kept.table)
