"""From a data file to a site: draft its description, code the records, protect them, write the store."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confide.data.private import only_mine
from confide.data.scratch import Scratch
from confide.engines import Coded
from confide.engines.duckdb.store import read_store_facts
from confide.engines.stores import remove_retired, retire_store
from confide.errors import Mistake, nearest
from confide.memory import must_fit
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.progress import current_progress
from confide.records.keeping import read_stand_ins, read_truth, write_stand_ins
from confide.records.leaving.loading import prepare_update
from confide.records.leaving.stand_ins import NOBODY, StandIns
from confide.records.levels.protecting import protect_levels, write_levels
from confide.records.updates import Update
from confide.site.coding.encode import encode
from confide.site.drafting.draft import draft
from confide.site.drafting.draft_level import LEVELS, draft_level, level_above
from confide.site.folder import Folder, check_name, create_folder, write_whole
from confide.site.locking import alone
from confide.site.origins import read_origin, sealed, write_origin
from confide.site.policies import give_policy
from confide.site.profiling.zeros import filled_zeros
from confide.site.vintages import (
    Vintage,
    above,
    check_vintage,
    next_name,
    remove_unlisted,
    split_level,
    unlisted,
    write_vintages,
    writing,
)
from confide.sources.delimited import LIKELY
from confide.sources.households import find_key, join_households
from confide.sources.origin import Origin
from confide.sources.source import Source, read_source

__all__ = ["MOST_COLUMNS", "Ingested", "add", "ingest", "preview", "protect_again", "prune"]

MOST_COLUMNS = 500
"""Drafting a description compares every two columns: 6 s of CPU for 400 of them and a thousand records (measured)."""

PROTECTING = 80
"""Bytes of memory that protecting takes for a record, beside what is aside on disk (measured with 1 and 10 million people)."""

ASIDE = 400
"""Bytes of a record that are put aside while records are coded and protected (measured with 10 million people)."""

FORMER = "former"
"""The folder of a data set that names what is to be taken out of a database, when data are next loaded."""


@dataclass(frozen=True)
class Ingested:
    """A vintage that was loaded, or would be: what it is called, what it shows of units, and who waits or stays. For the custodian.

    Without an update there was nothing to compare with: no data, or data under another secret.
    """

    folder: Folder
    vintage: str
    update: Update | None
    waiting: tuple[str, ...] = ()
    """What is said of those who wait, and of those who stay or are left out in the stead of others."""
    notes: tuple[str, ...] = ()
    """What should be known of how the file was read, and where its records contradict the description."""

    def lines(self) -> list[str]:
        """What is to be said of it."""
        return [*self.notes, *(self.update.lines() if self.update else ()), *self.waiting]


def add(
    source: Any,
    site: str | Path,
    *,
    name: str,
    preset: str | None = None,
    table: str | None = None,
    catalog: str | None = None,
    policy: str | None = None,
    vintage: str = "1",
    dictionary: str | Path | None = None,
    households: Any = None,
    tell: Callable[[str], object] | None = None,
) -> Folder:
    """Add a data set to a site, making the site if need be: a drafted `dataset.toml`, a policy, a secret, the store.

    `catalog` is the text of a `dataset.toml` to use instead of a draft; `dictionary` is a codebook whose labels, missing codes
    and universes go into the draft, and `tell` is told what was decided of the columns. A new site has the preset as its
    policy. On a site that has another, the preset becomes the data set's own; `policy` is the text of such a policy. Without
    either the data set follows the site's. `vintage` is what this first version of the data is called. With `households`, a file
    of the households that people live in, these are a level of their own, as people.households; the same file again says that
    it has all there is to say of them. On any error nothing is left behind.
    """
    check_name(name)
    check_vintage(vintage, ())
    folder = Folder(Path(site))
    if folder.catalog(name).exists():
        raise Mistake(
            f"The site has a data set {name!r} already.", suggestions=["Use 'confide ingest' to load it anew."]
        )
    read = _read(source, table, by_column=catalog is not None and households is None)
    key = None
    if households is not None and not _is_same(source, households):
        read, key = _joined(read, households)
    _check_width(read)
    drafted = draft(read, name=name, dictionary=dictionary, household=key and key[0]) if catalog is None else None
    text = catalog or "" if drafted is None else drafted.catalog
    file = folder.catalog(name)
    with only_mine(), _all_or_nothing(*_files_of(folder, name)):
        create_folder(folder.path, preset=preset or "standard")
        file.parent.mkdir(mode=0o700, exist_ok=True)
        write_whole(file, text)
        if households is not None:
            _tell([_write_level(folder, name, read, key and key[1])], tell)
        if drafted is not None:
            write_whole(folder.profile(name), drafted.page)
            write_whole(folder.kept_profile(name), drafted.kept)
            _tell(drafted.lines, tell)
        give_policy(folder, name, preset=preset, text=policy)
        coded, origin = _coded(folder, name, read), _origin(folder, read)
        _tell(_contradictions(folder.dataset(name), coded), tell)
        del read, drafted  # what protecting and writing need is in the codes; the file as read is as large again
        _write(folder, name, coded, vintage=vintage, origin=origin)
    return folder


def _write_level(folder: Folder, name: str, read: Source, key: str | None) -> str:
    """Draft the level of households above people, who are described already; what is to be said of it."""
    records = _with_households(folder, name)
    called = level_above(records)
    level = folder.catalog(above(name, called))
    level.parent.mkdir(mode=0o700)
    write_whole(level, draft_level(read, records, key=key))
    return f"{called.capitalize()} are a level of their own, {above(name, called)!r}, drafted in {level}."


def _files_of(folder: Folder, name: str) -> list[Path]:
    """What adding a data set may make: of the site, of the data set and of the level above it, folders first."""
    site = [folder.path, folder.access, folder.path / "policy.toml", folder.path / "secret"]
    file, levels = folder.catalog(name), [folder.catalog(above(name, level)) for level in LEVELS]
    own = [file.parent, file, folder.profile(name), folder.kept_profile(name), folder.own(name)]
    return [*site, *own, *(each for level in levels for each in (level.parent, level))]


def _tell(lines: Iterable[str], tell: Callable[[str], object] | None) -> None:
    for line in lines:
        if tell is not None:
            tell(line)


def _is_same(source: Any, households: Any) -> bool:
    """Whether a file of households is that of people once more."""
    if isinstance(source, str | Path) and isinstance(households, str | Path):
        return Path(source).resolve() == Path(households).resolve()
    return source is households


def _joined(read: Source, households: Any) -> tuple[Source, tuple[str, str]]:
    """People with the columns of their households, and the columns that name these in either file."""
    others = _read(households, None, by_column=False)
    key = find_key(read, others)
    return join_households(read, others, key=key[0], named=key[1]), key


def _with_households(folder: Folder, name: str) -> Dataset:
    dataset = folder.dataset(name)
    if dataset.household is None:
        raise Mistake(
            "No column was taken for one that names households.",
            suggestions=["Name it hh_id or household_id, or give a file of households with --households."],
        )
    return dataset


def ingest(
    source: Any,
    site: str | Path,
    *,
    name: str,
    table: str | None = None,
    vintage: str | None = None,
    households: Any = None,
) -> Ingested:
    """Load a data set anew, after its data or its `dataset.toml` changed: a new vintage, which takes the place of the old one.

    Promise: until the new vintage is whole the old one is the newest, whatever happens. Changes of few units are refused or
    wait, and older vintages are kept, as the policy says (`updates`). `households` is a file of the households people live in.
    """
    folder = Folder(Path(site))
    _must_be_there(folder, name)
    with alone(folder.home(name), doing=f"loading {name!r}"):
        read = _read_both(folder, name, source, households, table)
        planned, origin = _plan(folder, name, read, vintage), _origin(folder, read)
        del read
        called, pairs = planned.ingested.vintage, planned.pairs
        _write(folder, name, planned.records, vintage=called, pairs=pairs, origin=origin)
    return planned.ingested


def preview(
    source: Any,
    site: str | Path,
    *,
    name: str,
    table: str | None = None,
    vintage: str | None = None,
    households: Any = None,
) -> Ingested:
    """What loading these data would show, and whether the policy would let it; nothing is written."""
    folder = Folder(Path(site))
    _must_be_there(folder, name)
    return _plan(folder, name, _read_both(folder, name, source, households, table), vintage).ingested


def protect_again(site: str | Path, *, name: str) -> Folder:
    """Protect the records of a data set anew from the true ones that were kept, after `[records]` of its policy changed."""
    folder = Folder(Path(site))
    _must_be_there(folder, name)
    with alone(folder.home(name), doing=f"loading {name!r}"):
        known, pairs, origin = folder.vintages(name), read_stand_ins(folder, name), read_origin(folder, name)
        true = read_truth(folder, name, Scratch(folder.home(name)))
        _write(folder, name, true, vintage=known[-1].name if known else "1", pairs=pairs, origin=origin)
    return folder


def prune(site: str | Path, *, name: str) -> list[str]:
    """Take away the older vintages that the policy no longer keeps; gives their names."""
    folder = Folder(Path(site))
    _must_be_there(folder, name)
    with alone(folder.home(name), doing=f"loading {name!r}"):
        known = folder.vintages(name)
        left = _left(known, folder.policy(name))
        if left != known:
            write_vintages(folder.home(name), left)
        _retire_unlisted(folder.home(name))
        remove_unlisted(folder.home(name))
    return [vintage.name for vintage in known if vintage not in left]


def _read(source: Any, table: str | None, *, by_column: bool = True) -> Source:
    return read_source(source, table=table, encoding=LIKELY, by_column=by_column)


def _read_both(folder: Folder, name: str, source: Any, households: Any, table: str | None) -> Source:
    """The file of people, with the columns of that of their households if there is one."""
    if households is None or _is_same(source, households):
        return _read(source, table)
    dataset = folder.dataset(name)
    if dataset.household is None:
        raise Mistake(
            f"dataset.toml of {name!r} does not say who lives with whom, and there is a file of households.",
            suggestions=['Add household = "...": the column that names households.'],
        )
    named = dataset.above.level.key if dataset.above and dataset.above.level else dataset.household
    read, others = _read(source, table, by_column=False), _read(households, None, by_column=False)
    return join_households(read, others, key=dataset.household, named=named)


def _check_width(read: Source) -> None:
    """A Mistake if there are more columns than anybody would describe."""
    if read.table.num_columns > MOST_COLUMNS:
        raise Mistake(
            f"The data have {read.table.num_columns} columns, and a data set has at most {MOST_COLUMNS}.",
            suggestions=[
                "Make the site from a file of those that people may ask about, the unit and the weight. "
                "'confide ingest' then reads what dataset.toml names from the whole file, and leaves out the rest."
            ],
        )


def _must_be_there(folder: Folder, name: str) -> None:
    names = folder.names()
    if name not in names:
        raise Mistake(
            f"The site has no data set {name!r}.", suggestions=nearest(name, names) or ["Add it with 'confide init'."]
        )
    people, level = split_level(name)
    if level:
        raise Mistake(
            f"{name!r} is made of {people!r}.", suggestions=[f"Load {people!r}: both levels are loaded at once."]
        )


@dataclass(frozen=True)
class _Planned:
    """The records that are to be loaded, and what is told of it."""

    records: Coded
    ingested: Ingested
    pairs: StandIns = NOBODY


def _plan(folder: Folder, name: str, read: Source, vintage: str | None) -> _Planned:
    known, secret = folder.vintages(name), folder.secret()
    called = next_name(known) if vintage is None else check_vintage(vintage, known)
    coded = _coded(folder, name, read)
    notes = (*read.notes, *_contradictions(folder.dataset(name), coded))
    if not folder.store(name).exists() or read_store_facts(folder.store(name)).keys != secret.version:
        return _Planned(coded, Ingested(folder, called, None, notes=notes))
    catalogs = (_as_loaded(folder, name), folder.dataset(name))
    pairs, policy = read_stand_ins(folder, name), folder.policy(name)
    found = prepare_update(_before(folder, name), coded, pairs, catalogs=catalogs, policy=policy, secret=secret)
    if vintage is None and known and found.again:
        called = known[-1].name  # the same data again are no other vintage
    told = Ingested(folder, called, found.update, found.words, notes)
    return _Planned(found.records, told, found.pairs)


def _contradictions(dataset: Dataset, coded: Coded) -> Iterator[str]:
    """What is to be said of the records of a file that the description says nobody could be in."""
    return (f"{words}." for words in filled_zeros(dataset, coded))


def _coded(folder: Folder, name: str, read: Source) -> Coded:
    """The true records; what is large of them waits on the disk of the site."""
    with current_progress().stage("Coding the records", 0.0, _shares(folder.policy(name))[0]):
        scratch = Scratch.where_needed(folder.home(name), read.table.num_rows * ASIDE)
        return encode(folder.dataset(name), read.table, secret=folder.secret(), scratch=scratch)


def _origin(folder: Folder, read: Source) -> Origin | None:
    """Where the data were read from, as it may be kept."""
    return sealed(read.origin, folder.secret()) if read.origin else None


def _shares(policy: Policy) -> tuple[float, float]:
    """About which share of the time is behind when records are coded, and when they are protected."""
    return (0.15, 0.8) if policy.records.changes else (0.5, 0.5)


def _before(folder: Folder, name: str) -> Coded:
    """The true records of the vintage before: without them nobody could say what an update shows."""
    try:
        return read_truth(folder, name, Scratch(folder.home(name)))
    except Mistake as mistake:
        hint = "Put them back for as long as it takes."
        raise Mistake(f"What the update shows cannot be told. {mistake.message}", suggestions=[hint]) from None


def _as_loaded(folder: Folder, name: str) -> Dataset:
    """The catalog of the newest vintage as it was when its records were coded."""
    known = folder.vintages(name)
    return folder.read_dataset(name, as_loaded=True)[0] if known else folder.dataset(name)


def _write(
    folder: Folder,
    name: str,
    true: Coded,
    *,
    vintage: str,
    pairs: StandIns = NOBODY,
    origin: Origin | None = None,
) -> None:
    """A vintage with the store of protected records, what is kept of the true ones, and the catalog that coded them.

    The one before goes, unless the policy keeps it; a vintage of the same name is replaced.
    """
    home, policy = folder.home(name), folder.policy(name)
    dataset = folder.dataset(name)
    progress, (coded, ready) = current_progress(), _shares(policy)
    if policy.records.changes:
        records = true.records.num_rows
        must_fit(records * PROTECTING, what=f"Protecting {records:,} records")
    with progress.stage("Protecting the records", coded, ready):
        scratch = Scratch.where_needed(home, true.records.num_rows * ASIDE)
        levels = protect_levels(true, dataset, policy, folder.secret(), scratch)
    known, base = folder.vintages(name), folder.base(name)
    _retire_unlisted(home)  # what a killed process left
    remove_retired(home / FORMER)
    with writing(home) as (number, inside), _retired_on_error(inside, home):
        with progress.stage("Writing the records", ready, 1.0):
            write_levels(levels, inside)
            write_stand_ins(inside, pairs)
        _write_catalog(folder, name, inside)
        if origin:
            write_origin(inside, origin)
        if base.exists():
            shutil.copyfile(base, inside / base.name)  # it is read only if it is of these records
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    others = [each for each in known if each.name != vintage]
    write_vintages(home, _left([*others, Vintage(vintage, number, now, levels[0].records.facts.data)], policy))
    _retire_unlisted(home)
    remove_unlisted(home)
    for file in ("records.duckdb", "truth.parquet", "records.json", "safe.parquet"):
        (home / file).unlink(missing_ok=True)  # where records stood before there were vintages


def _left(known: list[Vintage], policy: Policy) -> list[Vintage]:
    """The vintages that the policy keeps, and the newest."""
    return known[-1 - policy.updates.kept :]


def _retire_unlisted(home: Path) -> None:
    for inside in unlisted(home):
        _retire(inside, home)


def _retire(inside: Path, home: Path) -> None:
    """Put down the records of a vintage, of every level, to be taken out of a database."""
    for folder in (inside, *(each for each in inside.glob("*") if each.is_dir())):
        retire_store(folder / "records.duckdb", home / FORMER)


@contextmanager
def _retired_on_error(inside: Path, home: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        _retire(inside, home)
        remove_retired(home / FORMER)  # at once: nobody can have opened it
        raise


def _write_catalog(folder: Folder, name: str, inside: Path) -> None:
    for file, text in folder.read_dataset(name)[1].items():
        if (inside / file).resolve().is_relative_to(inside.resolve()):
            (inside / file).parent.mkdir(parents=True, exist_ok=True)
            write_whole(inside / file, text)


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
