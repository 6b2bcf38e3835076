"""How much memory a process has: of its own, and with the pages of files that it reads, which the machine takes back."""

import os
import re
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")


class Memory:
    """The most memory that this process had for itself, and mapped from files, in megabytes; looked at twenty times a second."""

    def __init__(self) -> None:
        self.own = self.mapped = 0.0
        self._ended = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._ended.wait(0.05):
            now = dict(re.findall(r"(RssAnon|RssFile):\s+(\d+) kB", Path("/proc/self/status").read_text()))
            self.own, self.mapped = (
                max(self.own, int(now["RssAnon"]) / 1024),
                max(self.mapped, int(now["RssFile"]) / 1024),
            )

    @property
    def all(self) -> float:
        """The most at once of both together."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def told(self) -> str:
        self._ended.set()
        return f"memory {self.all / 1024:.1f} GB at most, {self.own / 1024:.1f} of its own, {self.mapped / 1024:.1f} mapped"


class Limit:
    """A control group of Linux, of either version, whose processes have so much memory together, pages of files included."""

    def __init__(self, gigabytes: float) -> None:
        old = (GROUPS / "memory").is_dir()
        self.path = (GROUPS / "memory" if old else GROUPS) / f"confide-{os.getpid()}"
        self._peak = "memory.max_usage_in_bytes" if old else "memory.peak"
        if not old:
            (GROUPS / "cgroup.subtree_control").write_text("+memory")
        self.path.mkdir()
        (self.path / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(int(gigabytes * 2**30)))

    def join(self) -> None:
        """Belong to it from now on: for a process that has just been started."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    @property
    def peak(self) -> float:
        """The most that its processes had together, in gigabytes."""
        return int((self.path / self._peak).read_text()) / 2**30


@contextmanager
def limited(gigabytes: float) -> Iterator[Limit]:
    """A limit that is gone afterwards. Root may make one."""
    limit = Limit(gigabytes)
    try:
        yield limit
    finally:
        limit.path.rmdir()
