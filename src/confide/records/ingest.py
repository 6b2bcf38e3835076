"""From a data file to a site: draft its description, code the records, protect them, write the store."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from confide.data.private import only_mine
from confide.engines import Coded
from confide.engines.duckdb.store import write_store
from confide.errors import Mistake, nearest
from confide.records.keeping import read_truth, write_kept
from confide.records.protect import protect_records
from confide.site.draft import draft_dataset
from confide.site.encode import encode
from confide.site.folder import Folder, check_name, create_folder, write_whole
from confide.site.policies import give_policy
from confide.sources.source import Source, read_source

__all__ = ["MOST_COLUMNS", "add", "ingest", "protect_again"]

MOST_COLUMNS = 500
"""Drafting a description compares every two columns: 6 s of CPU for 400 of them and a thousand records (measured)."""


def add(
    source: Any,
    site: str | Path,
    *,
    name: str,
    preset: str | None = None,
    table: str | None = None,
    catalog: str | None = None,
    policy: str | None = None,
) -> Folder:
    """Add a data set to a site, making the site if need be: a drafted `dataset.toml`, a policy, a secret, the store.

    `catalog` is the text of a `dataset.toml` to use instead of a draft. A new site has the preset as its policy. On a site
    that has another, the preset becomes the data set's own; `policy` is the text of such a policy. Without either the
    data set follows the site's. On any error nothing is left behind.
    """
    check_name(name)
    folder = Folder(Path(site))
    if folder.catalog(name).exists():
        raise Mistake(
            f"The site has a data set {name!r} already.", suggestions=["Use 'confide ingest' to load it anew."]
        )
    read = _read(source, table)
    text = catalog if catalog is not None else draft_dataset(read, name=name)
    file, shared = (
        folder.catalog(name),
        [folder.path, folder.access, folder.path / "policy.toml", folder.path / "secret"],
    )
    with only_mine(), _all_or_nothing(*shared, file.parent, file, folder.own(name)):
        create_folder(folder.path, preset=preset or "standard")
        file.parent.mkdir(mode=0o700, exist_ok=True)
        write_whole(file, text)
        give_policy(folder, name, preset=preset, text=policy)
        _store(folder, name, read)
    return folder


def ingest(source: Any, site: str | Path, *, name: str, table: str | None = None) -> Folder:
    """Load a data set of a site anew, after its data or its `dataset.toml` changed; on any error the old store stays."""
    folder = Folder(Path(site))
    _must_be_there(folder, name)
    _store(folder, name, _read(source, table))
    return folder


def protect_again(site: str | Path, *, name: str) -> Folder:
    """Protect the records of a data set anew from the true ones that were kept, after `[records]` of its policy changed."""
    folder = Folder(Path(site))
    _must_be_there(folder, name)
    _write(folder, name, read_truth(folder, name))
    return folder


def _read(source: Any, table: str | None) -> Source:
    """The data; a Mistake if there are more columns than anybody would describe."""
    read = read_source(source, table=table)
    if read.table.num_columns > MOST_COLUMNS:
        raise Mistake(
            f"The data have {read.table.num_columns} columns, and a data set has at most {MOST_COLUMNS}.",
            suggestions=["Keep those that people may ask about, and the unit and the weight."],
        )
    return read


def _must_be_there(folder: Folder, name: str) -> None:
    names = folder.names()
    if name not in names:
        raise Mistake(
            f"The site has no data set {name!r}.", suggestions=nearest(name, names) or ["Add it with 'confide init'."]
        )


def _store(folder: Folder, name: str, read: Source) -> None:
    _write(folder, name, encode(folder.dataset(name), read.table, secret=folder.secret()))


def _write(folder: Folder, name: str, true: Coded) -> None:
    """The store of protected records, and beside it what is kept of the true ones."""
    protected, report = protect_records(true, folder.dataset(name), folder.policy(name), folder.secret())
    with only_mine():
        write_store(protected, folder.store(name))
        write_kept(folder, name, true, report)


@contextmanager
def _all_or_nothing(*paths: Path) -> Iterator[None]:
    """Take away, on an error, those of the files and folders that were not there before."""
    made = [path for path in paths if not path.exists()]
    try:
        yield
    except BaseException:
        for path in reversed(made):
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        raise
