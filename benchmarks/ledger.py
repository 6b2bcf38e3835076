"""What a ledger of years costs: opening it, its last entries, counting, and a whole check.

    python benchmarks/ledger.py [--entries 1000000]

Seconds are of CPU, in one run. The entries are written at once and not one by one, for the disk is not what is measured; what
an entry costs with its fsync is the last line.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from confide.site.audit import AuditLog, Filter
from confide.site.ledger import Ledger, last, verify
from confide.site.ledger.anchor import write_anchor
from confide.site.ledger.entry import Draft, Head
from confide.site.ledger.files import closed_file

REQUEST = {
    "ask": "table",
    "dataset": "people",
    "rows": ["sex", "age_group"],
    "columns": ["region"],
    "where": [{"employment": ["employed"], "education": ["2", "3"]}],
}


def write(path: Path, entries: int, years: int = 5) -> None:
    """A ledger as five years of questions leave it."""
    start, head, year = datetime(2021, 1, 1, tzinfo=UTC), Head(), 2021
    step = timedelta(days=365 * years) / entries
    file = closed_file(path, year).open("wb")
    for number in range(entries):
        now = start + number * step
        if now.year != year:
            year = now.year
            file.close()
            file = (path if year == start.year + years - 1 else closed_file(path, year)).open("wb")
        fields = {"who": f"person {number % 97}", "dataset": "people", "request": REQUEST, "outcome": "released"}
        fields |= {"rules": [], "receipt": "r" * 40, "answer": "a" * 64, "policy": "standard, version 1", "data": "1"}
        entry, line = Draft(fields).seal(head, now.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
        head = Head(number + 1, entry.hash)
        file.write(line)
    file.close()
    write_anchor(path, head)


def cpu(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def report(path: Path) -> None:
    def look() -> None:
        with Ledger(path) as ledger:
            AuditLog(ledger).find(Filter())
            AuditLog(ledger).summary()

    for words, run in {
        "opening without a checkpoint": lambda: Ledger(path).close(),
        "opening": lambda: Ledger(path).close(),
        "opening, the newest page, the counts": look,
        "the last 20 entries": lambda: last(path, 20),
        "checking everything": lambda: verify(path),
    }.items():
        print(f"{words:<40} {cpu(run):8.3f} s", flush=True)
    with Ledger(path) as ledger:
        begin = time.perf_counter()
        for _ in range(200):
            ledger.append(who="ana", dataset="people", request=REQUEST, outcome="released", policy="p", data="1")
        print(f"{'an entry with its fsync, by the clock':<40} {(time.perf_counter() - begin) / 200:8.5f} s")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--entries", type=int, default=1_000_000)
    entries = arguments.parse_args().entries
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.jsonl"
        print(f"{entries:,} entries, written in {cpu(lambda: write(path, entries)):.0f} s")
        report(path)


if __name__ == "__main__":
    main()
