"""The stores of a data set, by the engine that its `dataset.toml` names. Engines are imported when they are used."""

import secrets
import sys
from contextlib import suppress
from pathlib import Path

from confide.engines import Coded, Engine
from confide.engines.duckdb.store import read_store, write_store, write_store_facts
from confide.errors import Fault, Mistake
from confide.memory import whole_memory
from confide.model.catalog.dataset import Dataset, EngineName

__all__ = [
    *("answering_engine", "open_engine", "open_local", "read_records", "remove_retired", "retire_store"),
    *("store_files", "write_stores"),
]

_BESIDE = {EngineName.COLUMNS: ".columns", EngineName.POSTGRES: ".postgres", EngineName.SPARK: ".spark"}

COLUMNS_FROM = 1_000_000
"""From so many records on columns are written unasked: models of fewer take DuckDB half a second (docs/reference/performance.md)."""


def answering_engine(store: Path, engine: EngineName) -> EngineName:
    """The engine that answers from a store: of `auto`, columns if they were written."""
    if engine is not EngineName.AUTO:
        return engine
    return EngineName.COLUMNS if _columns(store).exists() else EngineName.DUCKDB


def _columns(store: Path) -> Path:
    return store.with_suffix(_BESIDE[EngineName.COLUMNS])


def _written_engine(coded: Coded, engine: EngineName) -> EngineName:
    """The engine that records are written for: of `auto`, columns of many records that fit into half of this machine's memory."""
    if engine is not EngineName.AUTO:
        return engine
    there = whole_memory()
    fit = there is not None and coded.records.nbytes <= there // 2
    return EngineName.COLUMNS if fit and coded.records.num_rows >= COLUMNS_FROM else EngineName.DUCKDB


def store_files(store: Path, engine: EngineName) -> list[Path]:
    """The files of coded records: the store, which says what it is of, and what the engine reads beside it."""
    engine = answering_engine(store, engine)
    return [store, *([store.with_suffix(_BESIDE[engine])] if engine in _BESIDE else [])]


def open_engine(store: Path, dataset: Dataset) -> Engine:
    """The engine that answers from a store."""
    engine = answering_engine(store, dataset.engine)
    *_, file = store_files(store, engine)
    match engine:
        case EngineName.DUCKDB | EngineName.AUTO:
            from confide.engines.duckdb.engine import DuckDBEngine

            return DuckDBEngine(file)
        case EngineName.COLUMNS:
            from confide.engines.columns.engine import ColumnsEngine

            return ColumnsEngine(file)
        case EngineName.POSTGRES:
            _must_have_psycopg()
            from confide.engines.postgres.engine import PostgresEngine

            return PostgresEngine(file, dataset.database)
        case EngineName.SPARK:
            _must_have_pyspark()
            from confide.engines.spark.engine import SparkEngine

            return SparkEngine(file, dataset.cluster)


def open_local(store: Path) -> Engine:
    """The engine that answers from the records in the folder, whichever else has them too."""
    from confide.engines.columns.engine import ColumnsEngine
    from confide.engines.duckdb.engine import DuckDBEngine

    columns = _columns(store)
    return ColumnsEngine(columns) if columns.exists() else DuckDBEngine(store)


def read_records(store: Path) -> Coded:
    """The coded records in the folder, as they were written."""
    columns = _columns(store)
    if not columns.exists():
        return read_store(store)
    from confide.engines.columns.store import ColumnsStore

    return ColumnsStore(columns).coded()


def write_stores(coded: Coded, store: Path, dataset: Dataset) -> None:
    """Write the coded records as a store, and as the engine reads them: columns instead, what a server or a cluster has besides.

    Where another engine answers, no tables are kept in the store itself: making them takes longer than all else.
    """
    engine = _written_engine(coded, dataset.engine)
    *_, file = store_files(store, engine)
    match engine:
        case EngineName.DUCKDB:
            write_store(coded, store)
            return
        case EngineName.COLUMNS:
            from confide.engines.columns.store import write_columns

            write_columns(coded, file)
            write_store_facts(coded.facts, store)
            return
        case EngineName.POSTGRES:
            _must_have_psycopg()
            from confide.engines.postgres.store import write_postgres

            write_postgres(coded, file, dataset.database)
        case EngineName.SPARK:
            from confide.engines.spark.store import write_spark

            write_spark(coded, file, dataset.storage)
    write_store(coded, store, pairs_from=sys.maxsize)


def retire_store(store: Path, former: Path) -> None:
    """Put down in the folder `former` what is to be taken out of a database or a shared folder, if records are in one.

    Not at once: a running server goes on with the records it was opened with.
    """
    for engine in filter(lambda each: each.outside, EngineName):
        *_, file = store_files(store, engine)
        if file.exists():
            former.mkdir(mode=0o700, exist_ok=True)
            file.rename(former / f"{secrets.token_hex(8)}{file.suffix}")


def remove_retired(former: Path) -> None:
    """Take away the records that were put down for it. What cannot be done now stays for the next time."""
    for engine in filter(lambda each: each.outside, EngineName):
        for file in former.glob(f"*{_BESIDE[engine]}"):
            with suppress(Fault, Mistake):
                _remove(file, engine)
    with suppress(OSError):
        former.rmdir()  # if nothing is left in it


def _remove(file: Path, engine: EngineName) -> None:
    if engine is EngineName.SPARK:
        from confide.engines.spark.store import remove_spark

        remove_spark(file)
        return
    _must_have_psycopg()
    from confide.engines.postgres.store import remove_postgres

    remove_postgres(file)


def _must_have_psycopg() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError:  # also where psycopg is there and libpq is not
        raise Mistake("The engine 'postgres' needs the extra 'postgres': pip install 'confide[postgres]'.") from None


def _must_have_pyspark() -> None:
    try:
        import confide.engines.spark.connecting  # noqa: F401
    except ImportError:  # also where pyspark is there and what Spark Connect needs is not
        raise Mistake("The engine 'spark' needs the extra 'spark': pip install 'confide[spark]'.") from None
