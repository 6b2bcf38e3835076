"""DuckDB that reads and writes one file and nothing else.

Promise: no statement, ours or one that somebody smuggles in, reads or writes another file, reaches the network, loads an extension,
or changes any of this; what does not fit into memory is put beside the file, into a folder that goes when the file is closed.
"""

import os
from pathlib import Path

import duckdb

from confide.memory import whole_memory

__all__ = ["WORKER", "open_sealed"]

_SHARE = 2
"""The part of the machine's memory that one file may have is one in so many."""

WORKER = "CONFIDE_WORKER"
"""What tells a process of several that serve a site which it is, as in 1/2 for the second of two: the memory is for all of them."""

_TUNED = ["perfect_ht_threshold"]
"""What our own statements change, each for itself: how a table is counted, never what is counted."""


def open_sealed(path: Path, *, read_only: bool = False, memory: int | None = None) -> duckdb.DuckDBPyConnection:
    """A DuckDB file, opened so that nothing but it can be reached; it takes so many bytes of memory, if said, at most."""
    path = path.resolve()  # one file opened twice must be opened alike
    worker, _, workers = os.environ.get(WORKER, "0/1").partition("/")
    share = _memory() // _SHARE // int(workers)
    settings: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": "false",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "allow_community_extensions": "false",
        "allow_persistent_secrets": "false",
        "python_enable_replacements": "false",
        "memory_limit": f"{min(memory or share, share) // 2**20}MiB",
        "temp_directory": f"{path}.tmp" if worker == "0" else f"{path}.{worker}.tmp",
        "allowed_configs": _TUNED,
        "lock_configuration": "true",
    }
    return duckdb.connect(str(path), read_only=read_only, config=settings)


def _memory() -> int:
    """The bytes of memory that the machine has, or the container it is."""
    return whole_memory() or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
