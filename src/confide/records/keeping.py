"""The files beside a store: true records, which no answer needs, the report for the custodian, in which update units came, and who
is left out in the stead of others."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from confide.data.replacing import replacing
from confide.data.scratch import IN_MEMORY, Scratch
from confide.engines import Coded, StoreFacts
from confide.engines.stores import read_records
from confide.errors import Fault, Mistake
from confide.records.leaving.stand_ins import NOBODY, StandIns
from confide.records.report import RecordsReport
from confide.site.folder import Folder

__all__ = ["read_report", "read_stand_ins", "read_truth", "write_kept", "write_stand_ins", "write_truth"]


TRUTH, REPORT, COHORTS, STAND_INS = "truth.parquet", "records.json", "cohorts.parquet", "stand_ins.parquet"

_PAIRS = pa.schema(
    {"leavers": pa.int64(), "stand_ins": pa.int64(), "marks": pa.uint64(), "groups": pa.int64()},
)

SPLIT = "BYTE_STREAM_SPLIT"

HOMES = "home "
"""What the names of columns begin with that say where people live."""


def write_kept(inside: Path, true: Coded, report: RecordsReport | None) -> None:
    """Keep the true records and the report in a folder, for their owner to read; of records that are not protected neither. The
    cohorts of units are kept by themselves, where there are several: an update needs them whoever has the true records."""
    if true.cohort is not None:
        _write_cohorts(inside / COHORTS, true)
    if report is None:
        return
    write_truth(inside, true)
    try:
        with replacing(inside / REPORT) as partial:
            partial.write_text(report.write(), encoding="utf-8")
    except OSError as error:
        raise Fault(f"The report on the records could not be kept ({error.strerror}).") from None


def write_truth(inside: Path, true: Coded) -> None:
    """Keep the true records in a folder, for their owner to read."""
    records, homes = true.records, true.homes if true.homes is not None else pa.table({})
    for name in homes.column_names:
        records = records.append_column(HOMES + name, homes[name])
    about = {b"confide": json.dumps(asdict(true.facts)).encode()}
    try:
        with replacing(inside / TRUTH) as partial:
            # Only classes repeat themselves. Of all else the bytes of one place go together, as the leading ones are nearly the same.
            classes = list(true.facts.classes.values())
            rest = {of.name: SPLIT for of in records.schema if of.name not in classes and pa.types.is_integer(of.type)}
            kept = records.replace_schema_metadata(about)
            how = {"compression": "lz4", "use_dictionary": classes, "column_encoding": rest, "write_statistics": False}
            pq.write_table(kept, partial, **how)
    except OSError as error:
        raise Fault(f"The true records could not be kept ({error.strerror}).") from None


def read_truth(folder: Folder, name: str, scratch: Scratch = IN_MEMORY) -> Coded:
    """The true records of a data set: kept apart if the store has protected ones, else those of the store.

    Columns are read one after the other, and large ones wait in `scratch`.
    """
    return _with_cohorts(_true_records(folder, name, scratch), folder.records(name) / COHORTS)


def _true_records(folder: Folder, name: str, scratch: Scratch) -> Coded:
    file = folder.truth(name)
    if file.exists():
        return _read(file, scratch)
    stored = read_records(folder.store(name))
    if stored.facts.records:
        raise Mistake(
            f"The site holds protected records of {name!r} only; the true ones ({file.name}) are not there.",
            suggestions=[f"Put {file.name} back for as long as you need it, or ingest the data again."],
        )
    return stored


def read_report(folder: Folder, name: str) -> RecordsReport | None:
    """What protecting the records did; None if they are not protected, or nothing was kept."""
    try:
        return RecordsReport.read(folder.report(name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        raise Mistake(f"{folder.report(name)} cannot be read as UTF-8 text.") from None


def write_stand_ins(inside: Path, pairs: StandIns) -> None:
    """Keep in a folder who stands in for whom in its records, if anybody does."""
    if not len(pairs):
        return
    try:
        with replacing(inside / STAND_INS) as partial:
            pq.write_table(pa.table(vars(pairs)), partial, compression="zstd")
    except OSError as error:
        raise Fault(f"Who stands in for whom could not be kept ({error.strerror}).") from None


def read_stand_ins(folder: Folder, name: str) -> StandIns:
    """Who stands in for whom in the true records of a data set."""
    file = folder.records(name) / STAND_INS
    if not file.exists():
        return NOBODY
    try:
        kept = pq.read_table(file, schema=_PAIRS)
    except (OSError, pa.ArrowException, ValueError):
        hint = ["Restore it from a backup: without it an update would tell of those who left."]
        raise Mistake(f"{file} cannot be read as pairs of units.", suggestions=hint) from None
    return StandIns(**{name: kept[name].to_numpy() for name in kept.column_names})


def _write_cohorts(file: Path, true: Coded) -> None:
    """The keys of the units that came after the first data, and the number of their cohort."""
    assert true.cohort is not None
    units, first = np.unique(true.units, return_index=True)
    cohort = true.cohort.to_numpy()[first]
    later = cohort > 0
    try:
        with replacing(file) as partial:
            pq.write_table(pa.table({"unit": units[later], "cohort": cohort[later]}), partial, compression="zstd")
    except OSError as error:
        raise Fault(f"The cohorts of units could not be kept ({error.strerror}).") from None


def _with_cohorts(coded: Coded, file: Path) -> Coded:
    """The records with the cohorts of their units; none if all came with the first data."""
    if not file.exists():
        return coded
    try:
        kept = pq.read_table(file, schema=pa.schema({"unit": pa.int64(), "cohort": pa.int32()}))
    except (OSError, pa.ArrowException, ValueError):
        hint = ["Restore it from a backup: without it newcomers would be protected in another way than before."]
        raise Mistake(f"{file} cannot be read as cohorts of units.", suggestions=hint) from None
    units, cohort = (np.append(kept[name].to_numpy(), 0) for name in ("unit", "cohort"))
    place = np.searchsorted(units[:-1], coded.units)
    there = (units[place] == coded.units) & (place < len(units) - 1)
    return replace(coded, cohort=pa.array(np.where(there, cohort[place], 0).astype(np.int32)))


def _read(file: Path, scratch: Scratch) -> Coded:
    try:
        with pq.ParquetFile(file) as kept:
            facts = StoreFacts(**json.loads(kept.schema_arrow.metadata[b"confide"]))
            columns = {n: scratch.keep(kept.read([n])[n].combine_chunks()) for n in kept.schema_arrow.names}
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        raise Mistake(f"{file} cannot be read as true records.", suggestions=["Ingest the data again."]) from None
    if "household" in columns:  # as files from before there were levels have it
        columns[f"{HOMES}household"] = columns.pop("household")
    homes = {name.removeprefix(HOMES): columns.pop(name) for name in list(columns) if name.startswith(HOMES)}
    return Coded(facts, pa.table(columns), pa.table(homes) if homes else None)
