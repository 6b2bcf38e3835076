"""What a benchmark that has a peer beside it runs on: the machine in words, and one core for both.

    python benchmarks/peers.py

A peer's figure is measured in the run that quotes it (measure.py: scipy, splink). Times of programs that cannot be installed from
PyPI are not quoted: those that once stood here had neither version nor machine.
"""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["machine", "on_one_core"]


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


if __name__ == "__main__":
    print(machine())
