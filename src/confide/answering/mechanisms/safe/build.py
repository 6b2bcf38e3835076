"""The SAFE base of a data set: made from its store by the custodian, read when the site opens."""

import hashlib
import json
import os
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from confide.answering.mechanisms.safe.base import Base
from confide.data.release_key import ReleaseKey
from confide.data.replacing import replacing
from confide.engines import Engine, StoreFacts
from confide.engines.stores import open_engine
from confide.errors import Fault, Mistake, nearest
from confide.model.catalog.dataset import Dataset
from confide.model.evidence import Tally
from confide.site.folder import Folder
from confide.site.secret import Secret

if TYPE_CHECKING:
    from confide.tables.annealing.safe.base import SafeBase
    from confide.tables.programs.deadline import Progress

__all__ = ["build_base", "make_base", "read_base", "to_base"]


def make_base(
    site: str | Path,
    name: str,
    *,
    by: Sequence[str],
    controlled: int = 3,
    time_limit: float | None = None,
    progress: "Progress | None" = None,
) -> "SafeBase":
    """Make the SAFE base of a data set of a site, over these variables and their coarser levels; the old one is replaced.

    Promise: the file has protected numbers only. The result knows the truth and is for the custodian.
    """
    folder = Folder(Path(site))
    dataset = folder.dataset(_known(folder, name))
    engine = open_engine(folder.store(name), dataset)
    try:
        found = build_base(
            dataset, engine, folder.secret(), by=by, controlled=controlled, time_limit=time_limit, progress=progress
        )
        _write(found, engine.facts, folder.base(name))
    finally:
        engine.close()
    return found


def build_base(
    dataset: Dataset,
    engine: Engine,
    secret: Secret,
    *,
    by: Sequence[str],
    controlled: int = 3,
    time_limit: float | None = None,
    progress: "Progress | None" = None,
) -> "SafeBase":
    """The base of the records of an engine. All tables by up to so many variables of different hierarchies are controlled."""
    # Here, since only who makes a base should wait for compiled searches to load.
    from confide.tables.annealing.safe.protect import safe

    if engine.facts.several:
        raise Mistake(
            "SAFE counts records, and here one unit may have several: three of them may be one person.",
            suggestions=['Use counts.mechanism = "cell-key".'],
        )
    if not by or controlled < 1:
        raise Mistake("Name at least one variable, and control tables by one or more.")
    levels = [[level.name for level in dataset.chain(dataset.classifier(name).name)] for name in dict.fromkeys(by)]
    names = list(dict.fromkeys(level for chain in levels for level in chain))
    cells = engine.tally(Tally(tuple(names)))
    frame = {name: np.repeat(cells.places[:, at], cells.records) for at, name in enumerate(names)}
    tables = [
        some
        for size in range(1, controlled + 1)
        for some in combinations(names, size)
        if len({dataset.root(name) for name in some}) == size
    ]
    key = ReleaseKey(secret.digest("safe", json.dumps([engine.facts.data, names]).encode()))
    return safe(frame, by=names, controlled=tables, key=key, time_limit=time_limit, progress=progress)


def to_base(found: "SafeBase", *, mark: str) -> Base:
    """What an answer needs of a base, with no truth in it but how far tables deviate on average."""
    left = found.count > 0
    codes = [np.array(codes, dtype=np.int64) for codes in found.codes]
    places = np.column_stack([code[found.places[left, at]] for at, code in enumerate(codes)])
    return Base(found.by, places, found.count[left], _spread(found), mark)


def read_base(folder: Folder, name: str, facts: StoreFacts) -> Base:
    """The base of a data set; a Mistake if there is none, or if it is of other data or another coding."""
    file = folder.base(name)
    remedy = [f"Run: confide safe SITE {name} --by VARIABLES"]
    if not file.exists():
        raise Mistake(f'counts.mechanism is "safe", and {name!r} has no SAFE base.', suggestions=remedy)
    try:
        table = pq.read_table(file)
        about = json.loads(table.schema.metadata[b"confide"])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        raise Mistake(f"{file} cannot be read as a SAFE base.", suggestions=remedy) from None
    if about["of"] != [facts.data, facts.catalog, facts.keys]:
        raise Mistake(f"The SAFE base of {name!r} is of other data than the store.", suggestions=remedy)
    by = tuple(table.column_names[:-1])
    places = np.column_stack([table[column].to_numpy() for column in by]).astype(np.int64)
    return Base(by, places, table["count"].to_numpy(), tuple(about["spread"]), about["mark"])


def _write(found: "SafeBase", facts: StoreFacts, file: Path) -> None:
    """Write the base whole or not at all, for its owner to read."""
    base = to_base(found, mark="")
    columns = {name: base.places[:, at] for at, name in enumerate(base.by)}
    mark = hashlib.sha256(base.places.tobytes() + base.count.tobytes()).hexdigest()[:12]
    about = {"of": [facts.data, facts.catalog, facts.keys], "spread": base.spread, "mark": mark}
    table = pa.table({**columns, "count": base.count}).replace_schema_metadata({b"confide": json.dumps(about).encode()})
    try:
        with replacing(file) as partial:
            pq.write_table(table, partial)
            os.chmod(partial, 0o600)
    except OSError as error:
        raise Fault(f"{file} could not be written ({error.strerror}).") from None


def _spread(found: "SafeBase") -> tuple[float, ...]:
    """The root of the mean squared deviation of all cells that had records, of all tables by 0, 1, 2, ... variables.

    The total alone is one cell, whose deviation would be its truth: it is told the spread of tables by one variable.
    """
    spread: list[float] = []
    for size in range(1, len(found.by) + 1):
        tables = [found.compare(by=some) for some in combinations(found.by, size)]
        away = np.concatenate([table["count"].to_numpy() - table["before"].to_numpy() for table in tables])
        spread.append(float(f"{np.sqrt(np.mean(away.astype(np.float64) ** 2)):.3g}"))
    return (spread[0], *spread)


def _known(folder: Folder, name: str) -> str:
    names = folder.names()
    if name not in names:
        raise Mistake(f"The site has no data set {name!r}.", suggestions=nearest(name, names))
    if not folder.store(name).exists():
        raise Mistake(f"The data of {name!r} are not ingested.", suggestions=[f"Run: confide ingest FILE SITE {name}"])
    return name
