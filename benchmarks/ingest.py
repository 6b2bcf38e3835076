"""What protecting the records costs when they are ingested: CPU with protection over CPU without, in one run.

    python benchmarks/ingest.py [--rows 20000 100000] [--data people]

Reading, coding and writing the store are in both. The limit is 2.
"""

import argparse
import tempfile
import time
from pathlib import Path

from confide import demo
from confide.demo.texts import catalog_text
from confide.records.ingest import add

LIMIT = 2.0


def taken(folder: Path, name: str, rows: int, preset: str) -> float:
    """Seconds of CPU to ingest generated data under a preset."""
    source = getattr(demo, name)(rows)
    began = time.process_time()
    add(source, folder / f"{preset}-{rows}", name=name, preset=preset, catalog=catalog_text(name))
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--data", default="people")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        taken(Path(place), asked.data, 1_000, "standard")  # what is compiled is compiled before
        for rows in asked.rows:
            plain, protected = (taken(Path(place), asked.data, rows, preset) for preset in ("drop-q", "standard"))
            print(
                f"{rows:,} {asked.data}: {plain:.2f} s, protected {protected:.2f} s, {protected / plain:.2f} (limit {LIMIT:g})"
            )


if __name__ == "__main__":
    main()
