"""What protecting the records costs when they are ingested: CPU with protection over CPU without, in one run.

    python benchmarks/ingest.py [--rows 20000 100000] [--data people] [--repeat 3]
    python benchmarks/ingest.py --command [--rows 20000 100000] [--data people] [--repeat 3]
    python benchmarks/ingest.py --parquet FILE [--rows 10000000] [--preset standard] [--engine columns] [--within 6]

Twice: from a table in memory, and from a CSV file, as a custodian who runs `confide ingest` does. Reading, coding and writing the
store are in both. Then the seconds of each part. Every figure is the least of `repeat` runs. The limit is 2.

The second form is what a custodian sees: `confide ingest` of a CSV file into a site that describes it, by the clock, from the start
of the process to its end; the median of `repeat` runs of each preset, in turn.

The third form is for large files of people. It ingests a Parquet file once under either preset, or one, each in a process of its
own, and says how long that took and how much memory: that of the process, and apart from it what is mapped from files, which the
machine takes back when it needs room. A file that is not there is made, with so many rows, and stays. `--within` sets a hard limit
of so many gigabytes, which mapped pages count against, too: who needs more is killed, and that is said (Linux, as root).
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.csv
import pyarrow.parquet
from memory import Memory, limited

from confide import demo
from confide.demo.texts import catalog_text
from confide.records import ingest, protect
from confide.records.levels import protecting

LIMIT = 2.0

PARTS = {
    ingest: ("read_source", "encode"),
    protecting: ("write_stores", "write_kept"),
    protect: (
        *("find_exposed", "plan_exchanges", "_exchanged", "_noised", "find_ceilings", "measure_spread", "compare"),
        *("data_mark", "square_shifts", "_spreads"),
    ),
}


def timed(part: Callable[..., Any], name: str, seconds: Counter[str]) -> Callable[..., Any]:
    def run(*given: Any, **named: Any) -> Any:
        began = time.process_time()
        try:
            return part(*given, **named)
        finally:
            seconds[name] += time.process_time() - began

    return run


def taken(source: Any, folder: Path, name: str, preset: str, engine: str = "auto") -> float:
    """Seconds of CPU to ingest data under a preset."""
    began = time.process_time()
    ingest.add(source, folder, name=name, preset=preset, catalog=f'engine = "{engine}"\n{catalog_text(name)}')
    return time.process_time() - began


def compared(source: Any, place: Path, name: str, repeat: int) -> str:
    """Seconds without and with protection, and their ratio; what other processes take from the caches changes from run to run."""
    least = {
        preset: min(taken(source, Path(tempfile.mkdtemp(dir=place)), name, preset) for _ in range(repeat))
        for preset in ("drop-q", "standard")
    }
    plain, protected = least.values()
    return f"{plain:.2f} s, protected {protected:.2f} s, {protected / plain:.2f} (limit {LIMIT:g})"


def command(file: Path, place: Path, name: str) -> float:
    """Seconds by the clock in which `confide ingest` reads a file into a copy of a site that describes it."""
    site = Path(tempfile.mkdtemp(dir=place.parent)) / place.name
    shutil.copytree(place, site)
    began = time.perf_counter()
    words = [sys.executable, "-m", "confide", "ingest", str(file), str(site), name]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def commanded(file: Path, place: Path, name: str, repeat: int) -> str:
    """Seconds by the clock without and with protection, and their ratio."""
    found: dict[str, list[float]] = {"drop-q": [], "standard": []}
    for preset in found:
        first = getattr(demo, name)(1_000)
        made = ingest.add(first, place / preset, name=name, preset=preset, catalog=catalog_text(name)).path / name
        shutil.rmtree(made / "vintages")
        (made / "vintages.json").unlink()  # described, and nothing loaded yet
    for _ in range(repeat):
        for preset, seconds in found.items():
            seconds.append(command(file, place / preset, name))
    plain, protected = (median(seconds) for seconds in found.values())
    return f"{plain:.2f} s, protected {protected:.2f} s, {protected / plain:.2f} (limit {LIMIT:g})"


def parts(source: Any, place: Path, name: str) -> Counter[str]:
    """The seconds of CPU of each part of one protected ingest, the largest first."""
    seconds: Counter[str] = Counter()
    for module, names in PARTS.items():
        for part in names:
            setattr(module, part, timed(getattr(module, part), part.strip("_"), seconds))
    seconds["all"] = taken(source, place, name, "standard")
    return seconds


def ingest_large(file: Path, preset: str, engine: str) -> None:
    """Ingest a file once, and say what that took."""
    rows, memory = pyarrow.parquet.read_metadata(file).num_rows, Memory()
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        taken(demo.people(1_000), Path(folder) / "first", "people", preset)  # what is compiled is compiled before
        began = time.perf_counter()
        seconds = taken(file, Path(folder) / "site", "people", preset, engine)
        wall = time.perf_counter() - began
    print(f"{rows:,} people, {preset}, {engine}: {wall:.0f} s, of CPU {seconds:.0f} s, {memory.told()}", flush=True)


def run_apart(words: list[str], gigabytes: float) -> None:
    """A process of its own, within a limit of memory if one is set."""
    command = [sys.executable, __file__, *words]
    if not gigabytes:
        subprocess.run(command, check=True)
        return
    with limited(gigabytes) as limit:
        done = subprocess.run(command, preexec_fn=limit.join)
        print(
            f"  within {gigabytes:g} GB: {'killed' if done.returncode else 'done'}, {limit.peak:.1f} GB at most",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--data", default="people")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--command", action="store_true")
    parser.add_argument("--parquet", type=Path)
    parser.add_argument("--preset", help="only this one")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--within", type=float, default=0.0, metavar="GB")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.parquet:
        if not asked.parquet.exists():
            from scale import people_file  # it needs servers' libraries

            people_file(asked.rows[-1], asked.parquet)
        if asked.here:
            ingest_large(asked.parquet, asked.preset, asked.engine)
            return
        for preset in [asked.preset] if asked.preset else ["drop-q", "standard"]:
            words = ["--parquet", str(asked.parquet), "--preset", preset, "--engine", asked.engine, "--here"]
            run_apart(words, asked.within)
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # what is compiled is compiled before
        taken(getattr(demo, asked.data)(1_000), place / "first", asked.data, "standard")
        for rows in asked.rows:
            source, file = getattr(demo, asked.data)(rows), place / f"{rows}.csv"
            pyarrow.csv.write_csv(source, file)
            if asked.command:
                sites = Path(tempfile.mkdtemp(dir=place))
                print(
                    f"{rows:,} {asked.data}, by command: {commanded(file, sites, asked.data, asked.repeat)}", flush=True
                )
                continue
            for given, road in ((source, "from memory"), (file, "from a CSV file")):
                print(f"{rows:,} {asked.data}, {road}: {compared(given, place, asked.data, asked.repeat)}", flush=True)
        if asked.command:
            return
        print(f"the parts, {rows:,} {asked.data} {road}:")
        for part, seconds in parts(file, place / "parts", asked.data).most_common():
            print(f"  {part:<16} {seconds:.3f} s")


if __name__ == "__main__":
    main()
