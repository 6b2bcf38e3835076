"""The stores of a data set, by the engine that its `dataset.toml` names. Engines are imported when they are used."""

import sys
from pathlib import Path

from confide.engines import Coded, Engine
from confide.engines.duckdb.store import write_store
from confide.model.catalog.dataset import EngineName

__all__ = ["open_engine", "store_files", "write_stores"]


def store_files(store: Path, engine: EngineName) -> list[Path]:
    """The files of coded records: the store itself, which every data set has, and what the engine reads beside it."""
    return [store, *([store.with_suffix(".columns")] if engine is EngineName.COLUMNS else [])]


def open_engine(store: Path, engine: EngineName) -> Engine:
    """The engine that answers from a store."""
    *_, file = store_files(store, engine)
    if engine is EngineName.COLUMNS:
        from confide.engines.columns.engine import ColumnsEngine

        return ColumnsEngine(file)
    from confide.engines.duckdb.engine import DuckDBEngine

    return DuckDBEngine(file)


def write_stores(coded: Coded, store: Path, engine: EngineName) -> None:
    """Write the coded records as a store, and as the engine reads them.

    Where another engine answers, no tables are kept in the store itself: making them takes longer than all else.
    """
    if engine is EngineName.DUCKDB:
        write_store(coded, store)
        return
    from confide.engines.columns.store import write_columns

    write_store(coded, store, pairs_from=sys.maxsize)
    write_columns(coded, store_files(store, engine)[-1])
