"""From a data file to a site: draft its description, code the records, write the store."""

import os
from pathlib import Path
from typing import Any

from confide.engines.duckdb import write_store
from confide.errors import Mistake
from confide.site.draft import draft_dataset
from confide.site.encode import encode
from confide.site.folder import Folder, check_name, create_folder
from confide.site.sources import Source, read_source

__all__ = ["add", "ingest"]


def add(
    source: Any,
    site: str | Path,
    *,
    name: str,
    preset: str = "standard",
    table: str | None = None,
    catalog: str | None = None,
) -> Folder:
    """Add a data set to a site, making the site if need be: a drafted `dataset.toml`, a policy, a secret, the store.

    `catalog` is the text of a `dataset.toml` to use instead of a draft.
    """
    check_name(name)
    folder = Folder(Path(site))
    if folder.catalog(name).exists():
        raise Mistake(
            f"The site has a data set {name!r} already.", suggestions=["Use 'confide ingest' to load it anew."]
        )
    read = read_source(source, table=table)
    if read.table.num_rows == 0:
        raise Mistake("The data have no records. There is nothing to describe or to ask about.")
    text = catalog if catalog is not None else draft_dataset(read, name=name)
    folder = create_folder(Path(site), preset=preset)
    file = folder.catalog(name)
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    try:
        _store(folder, name, read)
    except BaseException:
        file.unlink()
        if not any(file.parent.iterdir()):
            file.parent.rmdir()
        raise
    return folder


def ingest(source: Any, site: str | Path, *, name: str, table: str | None = None) -> Folder:
    """Load a data set of a site anew, after its data or its `dataset.toml` changed; on any error the old store stays."""
    folder = Folder(Path(site))
    if name not in folder.names():
        raise Mistake(f"The site has no data set {name!r}.", suggestions=["Add it with 'confide init'."])
    _store(folder, name, read_source(source, table=table))
    return folder


def _store(folder: Folder, name: str, read: Source) -> None:
    coded = encode(folder.dataset(name), read.table, secret=folder.secret())
    write_store(coded, folder.store(name))
    os.chmod(folder.store(name), 0o600)
