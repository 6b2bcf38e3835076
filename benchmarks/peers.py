"""Figures of other programs that stand beside ours: with command, version and machine, or saying that these were not kept.

    python benchmarks/peers.py

What can be installed from PyPI is measured in the run that quotes it (measure.py: scipy, splink). The rest was measured once, before
versions and machines were written down; until somebody runs the command again and fills both in, a ratio to such a figure is an order
of magnitude and no more. The commands are those to run again with R.
"""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["PEERS", "PeerFigure", "machine", "of", "on_one_core"]

LOST = "not recorded"


@dataclass(frozen=True)
class PeerFigure:
    """One figure of a peer: seconds of CPU, or cells. The command has the data as `x`, as the benchmark that quotes it makes them."""

    peer: str
    what: str
    size: str
    figure: float
    unit: str
    command: str
    version: str = LOST
    machine: str = LOST

    @property
    def traced(self) -> bool:
        """Whether it is known which version ran where."""
        return LOST not in (self.version, self.machine)


MDAV = "system.time(sdcMicro::mdav(x, aggr = 5))"
SUPPRESSION = "system.time(sdcMicro::localSuppression(x, k = 3))"
PEERS = (
    PeerFigure("sdcMicro", "mdav", "10,000 x 5", 0.29, "s", MDAV),
    PeerFigure("sdcMicro", "mdav", "50,000 x 5", 9.4, "s", MDAV),
    PeerFigure("sdcMicro", "mdav", "100,000 x 5", 54.0, "s", MDAV),
    PeerFigure("sdcMicro", "rank-swapping", "100,000 x 5", 45.0, "s", "system.time(sdcMicro::rankSwap(x, P = 15))"),
    PeerFigure("sdcMicro", "pram", "100,000 x 5", 0.85, "s", "system.time(sdcMicro::pram(x))"),
    PeerFigure("sdcMicro", "shuffling", "100,000 x 5", 2.5, "s", "system.time(sdcMicro::shuffle(x, form = ...))"),
    PeerFigure("sdcMicro", "local suppression", "20,000 x 8", 67.0, "s", SUPPRESSION),
    PeerFigure("sdcMicro", "local suppression", "100,000 x 9", 500.0, "s, stopped", SUPPRESSION),
    PeerFigure("GaussSuppression", "suppressed", "735 cells", 34, "cells", "GaussSuppression::SuppressSmallCounts(x)"),
    PeerFigure(
        "GaussSuppression", "suppressed", "3,087 cells", 242, "cells", "GaussSuppression::SuppressSmallCounts(x)"
    ),
    PeerFigure(
        "GaussSuppression", "suppressed", "17,787 cells", 1950, "cells", "GaussSuppression::SuppressSmallCounts(x)"
    ),
    PeerFigure("sdcTable", "suppressed", "3,087 cells", 365, "cells", 'sdcTable::protectTable(x, method = "HITAS")'),
)


def of(peer: str, what: str) -> dict[str, float]:
    """The figures of a peer for one thing, by size."""
    return {each.size: each.figure for each in PEERS if (each.peer, each.what) == (peer, what)}


def machine() -> str:
    """What this run is measured on: processor, cores, system, and the versions of what it uses."""
    names = [line.partition(":")[2].strip() for line in _processor() if line.startswith("model name")]
    parts = [names[0] if names else platform.processor() or platform.machine(), f"{os.cpu_count()} cores"]
    return ", ".join(
        [*parts, f"Python {platform.python_version()}", *(_version(p) for p in ("numpy", "scipy", "numba"))]
    )


def _processor() -> list[str]:
    file = Path("/proc/cpuinfo")
    return file.read_text().splitlines() if file.exists() else []


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"


def on_one_core() -> None:
    """Keep this process on one core, so that threads of ours have no more of the machine than the peer's one."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def main() -> None:
    for each in PEERS:
        print(f"{each.peer:>16}  {each.what:18} {each.size:>12} {each.figure:>8g} {each.unit:10}", end=" ")
        print(f"version {each.version}, machine {each.machine}; {each.command}")
    print(f"This machine: {machine()}")


if __name__ == "__main__":
    main()
