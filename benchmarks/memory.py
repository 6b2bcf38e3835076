"""How much memory a process has: of its own, and with the pages of files that it reads, which the machine takes back."""

import re
import resource
import threading
from pathlib import Path


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
